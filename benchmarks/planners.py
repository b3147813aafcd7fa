"""Planners people use, beside the optimum: a study of twenty steps, recorded for its notebook.

Twenty training steps (`zoo.studied.steps`) at two pricings: each operator alone, and pointwise
operators for nothing, as where a compiler fuses them. Two tables are written:

* ``planners_plans.csv``: the replayed time and peak of each planner's plan. torch's partitioner is
  asked at memory budgets, with each of its three knapsacks, which take floating-point operations
  for time as they do by default; ``torch-dp-timed`` takes the times of the graph. Rules give one
  plan; XLA's pass and DTR are asked in a memory, in percent of the peak of the step that saves
  everything.
* ``planners_optimum.csv``: what `exact` finds and proves in a memory, for all schedules in the
  order of the graph, and `saved-or-once` for what is saved or computed once again. Memories are the
  peaks of the plans, and more: for plans that are compared at equal time, the memory between the
  largest in which more time is proved necessary and the least in which no more time was found is
  halved, until the two are within a 16th of the plan's peak. This, and the class, only where
  pointwise operators are fused.

The logs that DTR's authors publish are a third pricing, ``logged``; they are read from the folder
that ``JETTISON_SHARED_DATA`` names, and nothing but numbers of their schedules is recorded.

Rows that are there are kept, so that the study can be stopped and continued; a row is measured
again if its graph has changed, if it was cut off after less than half of its limit in CPU seconds,
or after it has been deleted. All in all some hours of CPU time. Name pricings and steps to run only
those.

    .venv/bin/python benchmarks/planners.py alone fused resnet-18

With ``--again SECONDS`` nothing new is recorded: what the rows of the named steps leave open is
searched once more with that limit in CPU seconds, the widest bracket first. Of two searches of one
graph in one memory the faster schedule and the larger bound are kept.

    .venv/bin/python benchmarks/planners.py --again 150 fused lstm llama-32
"""

from __future__ import annotations

import argparse
import csv
import fcntl
import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from cpu_clock import CpuLimit, cpu_seconds

from jettison.instances.core.atomic_file import replacing
from jettison.instances.importers.dtr_graph import import_dtr_log
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve_with
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_graph.planners.backward_order import with_late_nodes_marked
from jettison.studies.planner_plans import KNAPSACKS, PlannedStep, TorchBudgets, plan_by_rule
from jettison.studies.recorded_planners import OptimumRow, PlanRow
from jettison.studies.recorded_steps import Pricing, RecordedSteps

ROOT = Path(__file__).parents[1]
RECORDED = ROOT / "notebooks" / "_recorded"
LOGS = ("resnet32", "unet")
# The issue's own budgets, for its model; the others are asked at fewer.
CURVE = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
BUDGETS = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
TIMED = "torch-dp-timed"
RULES = ("blocks", "second-product", "attention")
IN_A_MEMORY = ("xla-greedy", "dtr")
PERCENTS = (80, 60, 40)
LOG_PERCENTS = (40, 50, 60, 70)
# Plans that are compared with the least peak at no more time.
AT_EQUAL_TIME = (("torch-dp", "0.3"), ("torch-dp", "0.5"))
AT_EQUAL_TIME_OF_ISSUE = (("torch-dp", "0.5"), ("torch-dp", "0.2"))
CLASS_AT = (("torch-dp", "0.3"), ("torch-dp", "0.5"))
PART_OF_PEAK = 16
# CPU seconds, so that a machine that does other things as well leaves a search no less.
LIMIT_S = 45.0
LONGEST_LIMIT_S = 60.0
MOST_NODES = 1500
# Rows that were cut off after less than this share of their limit are measured again.
SHARE_OF_LIMIT = 0.5
# Methods in a memory have a limit by the clock: what they do is quick, or comes to no end.
PLAN_LIMIT_S = 45.0


Key = tuple[str, ...]


class Table:
    """Table of rows in a file that is complete at any time, and to which several runs may write.

    Parameters
    ----------
    path
        Of the file; it need not be there.
    row_class
        Its rows.
    keys
        Names of the columns that tell rows apart.
    """

    def __init__(self, path: Path, row_class: type, keys: Key) -> None:
        self._path = path
        self._names = [field.name for field in fields(row_class)]
        self._keys = keys
        self.rows = self._read()

    def _read(self) -> dict[Key, dict[str, str]]:
        if not self._path.exists():
            return {}
        with self._path.open(encoding="utf-8", newline="") as stream:
            return {self._key(row): row for row in csv.DictReader(stream)}

    def _key(self, row: dict[str, str]) -> Key:
        return tuple(row[name] for name in self._keys)

    def drop(self, model: str, pricing: str, but_sha256: str) -> None:
        """Take out the rows of a step that are about another graph."""
        with _alone(self._path.parent):
            self.rows = self._read()
            stale = [
                key
                for key, row in self.rows.items()
                if (row["model"], row["pricing"]) == (model, pricing)
                and row["graph_sha256"] != but_sha256
            ]
            for key in stale:
                del self.rows[key]
            if stale:
                self._write()

    def _write(self) -> None:
        text = io.StringIO()
        writer = csv.DictWriter(text, self._names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows[key] for key in sorted(self.rows, key=_in_order))
        with replacing(self._path) as stream:
            stream.write(text.getvalue().encode())

    def put(self, row: PlanRow | OptimumRow) -> dict[str, str]:
        """Add a row, or write it in the place of the one before; rows of other runs stay."""
        texts = {name: "" if value is None else str(value) for name, value in asdict(row).items()}
        with _alone(self._path.parent):
            self.rows = self._read() | {self._key(texts): texts}
            self._write()
        return texts


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other runs out of a folder while the block runs."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _in_order(key: Key) -> tuple[tuple[float, str], ...]:
    """Return a key by which numbers come in the order of their size."""
    return tuple(
        (float(part), "") if part.replace(".", "").isdigit() else (-1.0, part) for part in key
    )


class Study:
    """The rows of one step at one pricing.

    Parameters
    ----------
    graph, flops, pricing
        The step, with the floating-point operations of its nodes, which logs do not have.
    plans, optimum
        The tables.
    """

    def __init__(
        self,
        graph: Graph,
        flops: Sequence[int],
        pricing: str,
        plans: Table,
        optimum: Table,
    ) -> None:
        self.graph = graph
        self._flops = flops
        self.pricing = pricing
        self._plans = plans
        self._optimum = optimum
        self._torch: dict[str, TorchBudgets] = {}
        self._about = {
            "graph_sha256": graph.sha256,
            "versions": f"jettison {metadata.version('jettison')}, "
            f"highspy {metadata.version('highspy')}",
            "recorded": datetime.now(UTC).date().isoformat(),
        }

    def record_plans(self) -> None:
        """Record what the planners do; rows about another graph of this name go."""
        for table in (self._plans, self._optimum):
            table.drop(self.graph.name, self.pricing, self.graph.sha256)
        if self.pricing != "logged":
            for planner in (*KNAPSACKS, TIMED):
                for budget in CURVE if self.graph.name == "llama-32" else BUDGETS:
                    self._plan(planner, f"{budget:g}")
            for rule in RULES:
                self._plan(rule, "")

    def record_plans_in_a_memory(self) -> None:
        """Record what planners do that are given a memory."""
        for method in IN_A_MEMORY if self.pricing != "logged" else ("dtr",):
            for percent in PERCENTS if self.pricing != "logged" else LOG_PERCENTS:
                self._plan(method, f"{percent}%")

    def record_optimum_of(self, planner: str, setting: str | None = None) -> None:
        """Record the optimum at the peaks of a planner's plans, or of one of them."""
        for plan in self._found(planner, setting):
            self._at(plan["peak"])

    def record_class_optimum_of(self, planner: str, setting: str) -> None:
        """Record the optimum of what is saved or computed once again at the peak of a plan."""
        for plan in self._found(planner, setting):
            self._at(plan["peak"], "saved-or-once")

    def record_percents(self) -> None:
        """Record the optimum in percents of the peak, where methods were asked in them."""
        for percent in LOG_PERCENTS if self.pricing == "logged" else PERCENTS:
            self._at(RematGraph(self.graph, f"{percent}%").memory_bytes)

    def record_least_peak_at(self, planner: str, setting: str) -> None:
        """Record optima from which the least peak follows at no more time than a plan takes."""
        for plan in self._found(planner, setting):
            self._at(plan["peak"])
            while True:
                low, high = self._bracket(plan["time"], plan["peak"])
                if (high - low) * PART_OF_PEAK <= plan["peak"]:
                    break
                row = self._at((low + high) // 2)
                is_settled = not row["time_ns"] or (
                    int(row["time_ns"]) <= plan["time"] or int(row["lower_bound_ns"]) > plan["time"]
                )
                if not is_settled:
                    break

    def _found(self, planner: str, setting: str | None) -> Iterator[dict[str, int]]:
        """Yield time and peak of the plans that were recorded."""
        for row in list(self._plans.rows.values()):
            if (
                (row["model"], row["pricing"], row["planner"])
                == (self.graph.name, self.pricing, planner)
                and setting in (None, row["setting"])
                and row["time_ns"]
            ):
                yield {"time": int(row["time_ns"]), "peak": int(row["peak_bytes"])}

    def _bracket(self, time_ns: int, peak_bytes: int) -> tuple[int, int]:
        """Return the memory up to which more time is necessary, and the least that is enough."""
        low, high = self.graph.least_peak_bound_bytes - 1, peak_bytes
        for row in self._optimum.rows.values():
            if (row["model"], row["pricing"], row["method"]) == (
                self.graph.name,
                self.pricing,
                "exact",
            ):
                if row["time_ns"] and int(row["time_ns"]) <= time_ns:
                    high = min(high, int(row["peak_bytes"]))
                elif (row["lower_bound_ns"] and int(row["lower_bound_ns"]) > time_ns) or row[
                    "status"
                ].startswith("infeasible"):
                    low = max(low, int(row["memory_bytes"]))
        return min(low, high), high

    def _plan(self, planner: str, setting: str) -> None:
        row = self._plans.rows.get((self.graph.name, self.pricing, planner, setting))
        if row is not None and row["graph_sha256"] == self.graph.sha256:
            return
        started = cpu_seconds()
        found, note = self._planned(planner, setting)
        seconds = cpu_seconds() - started
        self._plans.put(
            PlanRow(
                model=self.graph.name,
                pricing=self.pricing,
                planner=planner,
                setting=setting,
                time_ns=None if found is None else found.time_ns,
                peak_bytes=None if found is None else found.peak_bytes,
                base_time_ns=self.graph.base_time_ns,
                store_all_peak_bytes=self.graph.store_all_peak_bytes,
                nodes=len(self.graph),
                note=note,
                cpu_s=round(seconds, 2),
                **self._about,
            )
        )

    def _planned(self, planner: str, setting: str) -> tuple[PlannedStep | None, str | None]:
        """Return a plan, or a note on why there is none."""
        if planner in KNAPSACKS or planner == TIMED:
            if planner not in self._torch:
                knapsack, costs = (planner, self._flops) if planner != TIMED else ("torch-dp", None)
                self._torch[planner] = TorchBudgets(self.graph, knapsack, costs)
            return self._torch[planner].at(float(setting)), None
        if planner in RULES:
            found = plan_by_rule(self.graph, planner)
            return found, None if found else "the step has nothing that the rule is about"
        problem = RematGraph(self.graph, setting)
        result = solve_with(problem, planner, SolveOptions(time_limit_s=PLAN_LIMIT_S))
        if result.time_ns is None or result.peak_bytes is None:
            return None, f"{result.status}, {result.termination}: {result.note}"
        found = PlannedStep(
            planner=planner,
            setting=setting,
            time_ns=result.time_ns,
            peak_bytes=result.peak_bytes,
        )
        return found, None

    def open_rows(self) -> list[tuple[float, Study, dict[str, str]]]:
        """Return the rows whose schedule does not meet their bound, each with its bracket."""
        return [
            (int(row["time_ns"]) / int(row["lower_bound_ns"]), self, row)
            for row in self._optimum.rows.values()
            if (row["model"], row["pricing"]) == (self.graph.name, self.pricing)
            and row["graph_sha256"] == self.graph.sha256
            and row["termination"] == Termination.TIME_LIMIT
            and row["time_ns"]
            and row["lower_bound_ns"]
        ]

    def search_again(self, row: dict[str, str], limit_s: float) -> None:
        """Search for the optimum of a row once more, and keep the better of both."""
        self._search(int(row["memory_bytes"]), row["method"], limit_s, row)

    def _at(self, memory_bytes: int, method: str = "exact") -> dict[str, str]:
        key = (self.graph.name, self.pricing, method, str(memory_bytes))
        row = self._optimum.rows.get(key)
        limit_s = LIMIT_S if len(self.graph) <= MOST_NODES else LONGEST_LIMIT_S
        known = row if row is not None and row["graph_sha256"] == self.graph.sha256 else None
        if known is not None:
            had_enough = float(known["cpu_s"]) >= SHARE_OF_LIMIT * limit_s
            if had_enough or known["termination"] != Termination.TIME_LIMIT:
                return known
        return self._search(memory_bytes, method, limit_s, known)

    def _search(
        self, memory_bytes: int, method: str, limit_s: float, known: dict[str, str] | None
    ) -> dict[str, str]:
        started = cpu_seconds()
        graph = self.graph if method == "exact" else with_late_nodes_marked(self.graph)
        problem = RematGraph(graph, memory_bytes)
        with CpuLimit(limit_s) as limit:
            result = solve_with(problem, method, SolveOptions(time_limit_s=None))
        seconds = cpu_seconds() - started
        is_cut_off = result.termination is Termination.INTERRUPTED
        if is_cut_off and not limit.is_reached:
            raise KeyboardInterrupt
        percent = 100 * memory_bytes / self.graph.store_all_peak_bytes
        print(
            f"{self.graph.name:16} {self.pricing:6} {method:13} {percent:6.1f} %"
            f" {seconds:7.2f} s  {result.status}",
            flush=True,
        )
        found = OptimumRow(
            model=self.graph.name,
            pricing=self.pricing,
            method=method,
            memory_bytes=memory_bytes,
            time_ns=result.time_ns,
            peak_bytes=result.peak_bytes,
            lower_bound_ns=result.lower_bound_ns,
            valid_for=None if result.bound is None else str(result.bound.valid_for),
            status=result.status,
            termination=str(Termination.TIME_LIMIT if is_cut_off else result.termination),
            cpu_s=round(seconds, 2),
            time_limit_s=limit_s,
            **self._about,
        )
        return self._optimum.put(found if known is None else _better(found, known))


def _better(found: OptimumRow, known: dict[str, str]) -> OptimumRow:
    """Return the faster schedule and the larger bound of two searches that were both cut off."""
    if found.termination != Termination.TIME_LIMIT or not known["lower_bound_ns"]:
        return found
    if known["time_ns"] and (found.time_ns is None or int(known["time_ns"]) < found.time_ns):
        found = replace(
            found,
            time_ns=int(known["time_ns"]),
            peak_bytes=int(known["peak_bytes"]),
            status=known["status"],
        )
    if found.lower_bound_ns is None or int(known["lower_bound_ns"]) > found.lower_bound_ns:
        found = replace(
            found, lower_bound_ns=int(known["lower_bound_ns"]), valid_for=known["valid_for"]
        )
    return found


def record(studies: list[Study]) -> None:
    """Record the parts of the study, of all steps the first part first, small steps first."""
    studies = sorted(studies, key=lambda study: len(study.graph))
    for study in studies:
        study.record_plans()
    for study in studies:
        study.record_optimum_of("torch-dp")
    for place in range(len(AT_EQUAL_TIME)):
        for study in studies:
            plans = AT_EQUAL_TIME_OF_ISSUE if study.graph.name == "llama-32" else AT_EQUAL_TIME
            if study.pricing == Pricing.FUSED and place < len(plans):
                study.record_least_peak_at(*plans[place])
    for study in studies:
        study.record_optimum_of("blocks")
    for study in studies:
        study.record_plans_in_a_memory()
        study.record_percents()
    for plan in CLASS_AT:
        for study in studies:
            if study.pricing == Pricing.FUSED:
                study.record_class_optimum_of(*plan)
    for planner in ("second-product", "attention", "torch-greedy", "torch-ilp", TIMED):
        for study in studies:
            study.record_optimum_of(planner)
    for planner in IN_A_MEMORY:
        for study in studies:
            study.record_optimum_of(planner)


def main(chosen: list[str], again_s: float | None) -> None:
    """Record what is missing of the named pricings and steps, or search again for what is open."""
    plans = Table(
        RECORDED / "planners_plans.csv", PlanRow, ("model", "pricing", "planner", "setting")
    )
    optimum = Table(
        RECORDED / "planners_optimum.csv",
        OptimumRow,
        ("model", "pricing", "method", "memory_bytes"),
    )
    steps = RecordedSteps.read(RECORDED / "planners_graphs.jsonl.gz")
    pricings = [name for name in (*Pricing, "logged") if name in chosen] or [*Pricing, "logged"]
    names = [name for name in (*steps.names, *LOGS) if name in chosen] or [*steps.names, *LOGS]
    graphs = [
        (steps.graph(name, pricing), steps.flops(name), str(pricing))
        for pricing in pricings
        for name in names
        if pricing != "logged" and name in steps.names
    ]
    logs = Path(os.environ.get("JETTISON_SHARED_DATA", ROOT.parent / "shared" / "data")) / "dtr"
    if "logged" in pricings and logs.is_dir():
        graphs += [
            (_with_constants(import_dtr_log(logs / f"{name}.log")), (), "logged")
            for name in LOGS
            if name in names
        ]
    studies = [Study(*graph, plans, optimum) for graph in graphs]
    if again_s is None:
        record(studies)
        return
    rows = [row for study in studies for row in study.open_rows()]
    for _, study, row in sorted(rows, key=lambda item: item[0], reverse=True):
        study.search_again(row, again_s)


def _with_constants(graph: Graph) -> Graph:
    """Count resident bytes beside every operator: DTR's authors take shares of such peaks."""
    constant_bytes = graph.resident_bytes or 0
    nodes = (
        node
        if node.result_of is not None
        else replace(node, workspace_bytes=node.workspace_bytes + constant_bytes)
        for node in graph.nodes
    )
    return replace(graph, nodes=tuple(nodes), resident_bytes=None)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("chosen", nargs="*", metavar="NAME", help="pricings and steps")
    parser.add_argument("--again", type=float, metavar="SECONDS", help="limit of a second search")
    options = parser.parse_args()
    main(options.chosen, options.again)
