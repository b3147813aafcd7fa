"""Panel of one picture: the jobs of one problem on one instance, over all memories."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from jettison.instances.core.card import card_text
from jettison.instances.core.memory import Amount, parse_memory
from jettison.solvers.core.registry import find_kind
from jettison.studies.report import words
from jettison.studies.report.run import Run


@dataclass(frozen=True)
class Panel:
    """Jobs that differ in memory, method and options only.

    Attributes
    ----------
    name
        A short name, unique in the page.
    runs
        The jobs; there is at least one.
    labels
        How the method of each job is called, with the options in which it was run several times.
    """

    name: str
    runs: tuple[Run, ...]
    labels: dict[str, str]

    @property
    def problem(self) -> str:
        """The name of the problem."""
        return self.runs[0].job.problem

    @property
    def instance(self) -> str:
        """The name of the instance."""
        return self.runs[0].job.instance

    @property
    def instance_sha256(self) -> str:
        """The hash of the instance."""
        return self.runs[0].job.instance_sha256

    @property
    def resources(self) -> str:
        """The resources beside memory, in words; empty where there are none."""
        job = self.runs[0].job
        parts = [
            job.bandwidth_bytes_per_s
            and "link of " + words.link(job.bandwidth_bytes_per_s, job.total_bandwidth_bytes_per_s),
            job.resources.transfers and f"transfers {job.resources.transfers}",
            job.resources.models and f"{job.resources.models} models",
            job.resources.devices and f"{job.resources.devices} devices",
            job.resources.microbatches and f"{job.resources.microbatches} micro-batches",
            job.resources.weight_copies is not None
            and f"{job.resources.weight_copies} copies of the weights",
            job.resources.chunks and f"up to {job.resources.chunks} chunks of a device",
            job.resources.host_memory and f"{job.resources.host_memory} on the host",
        ]
        return ", ".join(part for part in parts if part)

    @property
    def base_time_ns(self) -> int | None:
        """The time without recomputation and waiting, as stated in the results."""
        return next((run.base_time_ns for run in self.runs if run.base_time_ns is not None), None)

    @cached_property
    def memories(self) -> list[int]:
        """The amounts of memory, ascending."""
        return sorted({run.job.memory_bytes for run in self.runs})

    @cached_property
    def by_label(self) -> dict[str, list[Run]]:
        """The jobs by the label of their method."""
        found: dict[str, list[Run]] = {}
        order = list(self.labels)
        for run in sorted(self.runs, key=lambda run: order.index(run.key)):
            found.setdefault(self.labels[run.key], []).append(run)
        return found

    @cached_property
    def cells(self) -> dict[int, list[Run]]:
        """The jobs by memory, ascending; those of a list solve the same problem."""
        found: dict[int, list[Run]] = {memory: [] for memory in self.memories}
        for run in self.runs:
            found[run.job.memory_bytes].append(run)
        return found

    def memory_text(self, memory_bytes: int) -> str:
        """Return a memory as the study writes it, if that is not an amount; else empty."""
        job = self.cells[memory_bytes][0].job
        if job.resources.alpha is not None:
            return f"α = {job.resources.alpha}"
        if job.resources.card is not None:
            return card_text(job.resources.card, job.resources.resident).removeprefix("card=")
        written = job.resources.memory or ""
        return "" if not written or isinstance(parse_memory(written), Amount) else written


def panels_of(runs: Iterable[Run]) -> list[Panel]:
    """Group jobs by problem, instance, link, number of models, and pipeline."""
    groups: dict[tuple[object, ...], list[Run]] = {}
    for run in runs:
        job = run.job
        asked = (
            job.problem,
            job.instance,
            job.instance_sha256,
            job.bandwidth_bytes_per_s,
            job.total_bandwidth_bytes_per_s,
            job.resources.transfers,
            job.resources.models,
            job.resources.devices,
            job.resources.microbatches,
            job.resources.weight_copies,
            job.resources.chunks,
            job.resources.host_memory,
        )
        groups.setdefault(asked, []).append(run)
    labels = _labels([run for group in groups.values() for run in group])
    return [
        Panel(
            f"panel-{number}",
            tuple(group),
            {key: label for key, label in labels.items() if key in {run.key for run in group}},
        )
        for number, group in enumerate(groups.values(), start=1)
    ]


def _labels(runs: Sequence[Run]) -> dict[str, str]:
    """Return a label for each job, the methods of a problem in the order of their table.

    Options are named where a method was run with several values of them on some problem; the seed
    never is: runs that differ in it are the same method.
    """
    several: defaultdict[tuple[str, str], list[set[str]]] = defaultdict(
        lambda: [set() for _ in range(4)]
    )
    for run in runs:
        for values, option in zip(
            several[run.job.problem, run.job.method], _options(run), strict=True
        ):
            values.add(option)
    found: dict[str, str] = {}
    orders = {
        problem: [method.name for method in find_kind(problem).methods()]
        for problem in {run.job.problem for run in runs}
    }

    def place(run: Run) -> tuple[int, str, float]:
        order = orders[run.job.problem]
        method = run.job.method
        known = order.index(method) if method in order else len(order)
        return known, method, run.job.time_limit_s

    for run in sorted(runs, key=place):
        named = [
            option
            for option, values in zip(
                _options(run), several[run.job.problem, run.job.method], strict=True
            )
            if len(values) > 1
        ]
        found[run.key] = ", ".join([run.job.method, *named])
    return found


def _options(run: Run) -> tuple[str, str, str, str]:
    job = run.job
    return (
        f"{job.time_limit_s:g} s",
        f"gap {words.percent(job.gap)}",
        words.plural(job.threads, "thread"),
        f"jettison {job.versions.get('jettison', '?')}",
    )
