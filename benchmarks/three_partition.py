"""Hardness of generated 3-PARTITION instances by family, size, target and moduli.

Run: ``python benchmarks/three_partition.py``, or with ``--families``, ``--groups``, ``--targets``,
``--moduli``, ``--seeds``, ``--solvers`` and ``--limit``. For each family, number of groups m,
target V and solver, one line: the median CPU seconds over the seeds, the fastest and the slowest
run, how many were decided, and the size of a model as MPS. Each run is a process of its own
(``decide_model.py``), which ends after ``--limit`` CPU seconds; a run that does counts as longer
than all others, and ``>`` stands in its place. ``critical`` as a target is the one near which the
triple model is hardest, 1.6 m^2.

Solvers: ``highs``, ``scip`` and ``cp-sat`` on the assignment model with numbered groups, ``-plain``
the same without their symmetry breaking, ``-led`` on the model whose groups are led by their
largest item, ``-triples`` on the triple model. One thread. Every answer is compared with the known
one, which is proved by the certificate before anything runs. Moduli apply to the families that take
as many. CP-SAT may be in another environment: ``--cp-sat PYTHON`` names its Python.
"""

from __future__ import annotations

import argparse
import math
import resource
import statistics
import subprocess
import sys
import tempfile
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

SOLVERS = tuple(
    f"{solver}{variant}"
    for solver in ("highs", "scip", "cp-sat")
    for variant in ("", "-plain", "-led", "-triples")
)
CRITICAL = "critical"


def model_of(instance: ThreePartition, solver: str) -> ArrayModel:
    if solver.endswith("-triples"):
        return three_partition_triples(instance).model
    groups = LedByLargest() if solver.endswith("-led") else AnyGroup()
    return from_pulp(ThreePartitionAssignment(groups).build(instance).problem).model


def measure(
    instance: ThreePartition, solver: str, limit_s: int, python: str
) -> tuple[float, bool, int]:
    """Return the CPU seconds of a run, whether it came to an answer, and the bytes of its model."""
    name = next(name for name in ("highs", "scip", "cp-sat") if solver.startswith(name))
    text = mps_text(model_of(instance, solver))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.mps")
        path.write_text(text, encoding="ascii")
        words = [python, str(Path(__file__).with_name("decide_model.py")), name, str(path)]
        words += ["--without-symmetry"] if solver.endswith("-plain") else []
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run = subprocess.run(
            words,
            stdout=subprocess.PIPE,
            text=True,
            check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s)),
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    answer = run.stdout.strip()
    if run.returncode > 0 or answer not in {"", "open", instance.answer}:
        raise SystemExit(f"{solver} says {answer!r} to {instance.name}: {instance.answer}")
    return seconds, answer == instance.answer, len(text)


def report(instances: list[ThreePartition], solver: str, limit_s: int, python: str) -> str:
    runs = [measure(instance, solver, limit_s, python) for instance in instances]
    seconds = sorted(taken if decided else math.inf for taken, decided, _ in runs)
    shown = [
        f"{value:.2f}" if value < math.inf else f"> {limit_s}"
        for value in (statistics.median_low(seconds), seconds[0], seconds[-1])
    ]
    decided = sum(decided for _, decided, _ in runs)
    largest = max(size for _, _, size in runs)
    columns = "  ".join(f"{text:>8}" for text in shown)
    return f"{columns}  {decided}/{len(runs)}  {largest / 1000:8.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), choices=list(FAMILIES))
    parser.add_argument("--groups", nargs="+", type=int, default=[8, 10, 12])
    parser.add_argument("--targets", nargs="+", default=["300", "999"])
    parser.add_argument("--moduli", nargs="+", default=["5", "5,7"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--solvers", nargs="+", default=list(SOLVERS), choices=SOLVERS)
    parser.add_argument("--limit", type=int, default=10, help="CPU seconds of each run")
    parser.add_argument("--cp-sat", default=sys.executable, help="the Python that has OR-tools")
    arguments = parser.parse_args()
    print("family    m     V      q     solver           median   fastest   slowest  decided  kB")
    for family in (FAMILIES[name] for name in arguments.families):
        asked = [tuple(map(int, text.split(","))) for text in arguments.moduli]
        for moduli in [each for each in asked if len(each) == len(family.moduli)] or [()]:
            for groups in arguments.groups:
                for word in arguments.targets:
                    # The nearest multiple of 3: family split needs one.
                    target = 3 * round(1.6 * groups**2 / 3) if word == CRITICAL else int(word)
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
                    for solver in arguments.solvers:
                        python = arguments.cp_sat if solver.startswith("cp-sat") else sys.executable
                        line = report(instances, solver, arguments.limit, python)
                        print(f"{head}     {solver:<14} {line}", flush=True)


if __name__ == "__main__":
    main()
