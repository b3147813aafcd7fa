"""Hardness of generated 3-PARTITION instances by family, size, target and moduli.

Run: ``python benchmarks/three_partition.py``, or with ``--families``, ``--groups``, ``--targets``,
``--moduli``, ``--seeds``, ``--solvers`` and ``--limit``. For each family, number of groups m,
target V and solver, one line: the median CPU seconds over the seeds, the fastest and the slowest
run, and how many were decided. The limit is of wall-clock time. A run that it stops counts as
longer than all others: in its place stands ``>`` and the least CPU seconds that a stopped run had.

Solvers: ``highs`` on the assignment model with numbered groups, ``highs-led`` on the one whose
groups are led by their largest item, ``highs-triples`` on the triple model, ``scip`` and
``scip-led`` where pyscipopt is installed. One thread. Every answer is compared with the known one,
which is proved by the certificate before anything runs. Moduli apply to the families that take as
many.
"""

from __future__ import annotations

import argparse
import math
import statistics
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.milp.from_pulp import from_pulp
from jettison.formulations.milp.model_text import mps_text
from jettison.formulations.three_partition.assignment import (
    AnyGroup,
    LedByLargest,
    ThreePartitionAssignment,
)
from jettison.formulations.three_partition.triples import three_partition_triples
from jettison.instances.core.errors import InputError
from jettison.instances.generators.three_partition_family import (
    FAMILIES,
    generate_three_partition,
)
from jettison.instances.three_partition.instance import ThreePartition
from jettison.solvers.core.status import Answer
from jettison.solvers.milp.highs import HighsOptions, solve_model

SOLVERS = ("highs", "highs-led", "highs-triples", "scip", "scip-led")


def model_of(instance: ThreePartition, solver: str) -> ArrayModel:
    if solver.endswith("-triples"):
        return three_partition_triples(instance).model
    groups = LedByLargest() if solver.endswith("-led") else AnyGroup()
    return from_pulp(ThreePartitionAssignment(groups).build(instance).problem).model


def decided_by_highs(model: ArrayModel, limit_s: float) -> str | None:
    answer = solve_model(model, HighsOptions(threads=1, time_limit_s=limit_s)).answer
    return {Answer.OPTIMAL: "yes", Answer.FEASIBLE: "yes", Answer.INFEASIBLE: "no"}.get(answer)


def decided_by_scip(model: ArrayModel, limit_s: float) -> str | None:
    import pyscipopt

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.mps")
        path.write_text(mps_text(model), encoding="ascii")
        scip = pyscipopt.Model()
        scip.hideOutput()
        scip.readProblem(str(path))
        scip.setParam("limits/time", limit_s)
        scip.optimize()
        return {"optimal": "yes", "infeasible": "no"}.get(scip.getStatus())


def measure(instance: ThreePartition, solver: str, limit_s: float) -> tuple[float, bool]:
    """Return the CPU seconds of a run, and whether it came to an answer."""
    model = model_of(instance, solver)
    run = decided_by_scip if solver.startswith("scip") else decided_by_highs
    started = time.process_time()
    answer = run(model, limit_s)
    seconds = time.process_time() - started
    if answer not in {None, instance.answer}:
        raise SystemExit(f"{solver} says {answer} to {instance.name}, which is {instance.answer}")
    return seconds, answer is not None


def report(instances: list[ThreePartition], solver: str, limit_s: float) -> str:
    runs = [measure(instance, solver, limit_s) for instance in instances]
    seconds = sorted(taken if decided else math.inf for taken, decided in runs)
    stopped = [taken for taken, decided in runs if not decided]
    shown = [
        f"{value:.2f}" if value < math.inf else f"> {min(stopped):.0f}"
        for value in (statistics.median_low(seconds), seconds[0], seconds[-1])
    ]
    decided = len(runs) - len(stopped)
    return "  ".join(f"{text:>8}" for text in shown) + f"  {decided}/{len(runs)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), choices=list(FAMILIES))
    parser.add_argument("--groups", nargs="+", type=int, default=[8, 10, 12])
    parser.add_argument("--targets", nargs="+", type=int, default=[300, 999])
    parser.add_argument("--moduli", nargs="+", default=["5", "5,7"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--solvers", nargs="+", default=list(SOLVERS), choices=SOLVERS)
    parser.add_argument("--limit", type=float, default=10.0, help="seconds of each run")
    arguments = parser.parse_args()
    solvers = arguments.solvers
    if find_spec("pyscipopt") is None and any(name.startswith("scip") for name in solvers):
        print("SCIP is left out: pyscipopt is not installed (pip install pyscipopt)")
        solvers = [name for name in solvers if not name.startswith("scip")]
    print("family    m     V      q     solver           median   fastest   slowest  decided")
    for family in (FAMILIES[name] for name in arguments.families):
        asked = [tuple(map(int, text.split(","))) for text in arguments.moduli]
        for moduli in [each for each in asked if len(each) == len(family.moduli)] or [()]:
            for groups in arguments.groups:
                for target in arguments.targets:
                    marks = ",".join(map(str, moduli)) or "-"
                    head = f"{family.name:<8} {groups:>3} {target:>6} {marks:>6}"
                    try:
                        instances = [
                            generate_three_partition(
                                family, groups, target, seed=seed, moduli=moduli
                            )
                            for seed in range(arguments.seeds)
                        ]
                    except InputError as error:
                        print(f"{head}     {error}")
                        continue
                    for instance in instances:
                        instance.proof()
                    for solver in solvers:
                        line = report(instances, solver, arguments.limit)
                        print(f"{head}     {solver:<14} {line}", flush=True)


if __name__ == "__main__":
    main()
