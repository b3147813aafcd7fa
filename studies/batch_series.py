r"""Throughput of one model over a series of batch sizes, each in the same memory.

A larger batch has more samples in a step, and saves more, so that in the same memory more is
computed again. A step of :math:`B` samples that takes :math:`T` has the throughput :math:`B / T`;
a lower bound :math:`b \le T` for all schedules bounds it by :math:`B / b` from above. The best
batch is *settled* where no other one can be faster: its own throughput is at least their bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from jettison.instances.core.errors import InputError
from jettison.instances.core.units import format_bytes
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.params import ParamsGiven
from jettison.solvers.core.problem import Problem
from jettison.solvers.core.result import Result
from jettison.solvers.core.solve import solve_with
from jettison.solvers.core.status import Termination

_NS_PER_S = 10**9
# What instances of one series have in common.
_SHARED = ("model", "model_arguments", "device", "dtype", "sequence")


@dataclass(frozen=True)
class BatchThroughput:
    """Result for one batch size.

    Attributes
    ----------
    batch
        Samples of a step.
    result
        What was found.
    """

    batch: int
    result: Result

    @property
    def samples_per_s(self) -> Fraction | None:
        """Throughput of the schedule; None without one."""
        return self._per_s(self.result.time_ns)

    @property
    def at_most_per_s(self) -> Fraction | None:
        """Upper bound on the throughput of all schedules: 0 if none fits, None if none is known.

        A proof that no schedule of a narrower class fits says nothing of all schedules.
        """
        proof = self.result.infeasibility
        if proof is not None and proof.valid_for is ScheduleClass.ALL:
            return Fraction(0)
        bound = self.result.bound_of_all
        return None if bound is None else self._per_s(bound.time_ns)

    def _per_s(self, time_ns: int | None) -> Fraction | None:
        return Fraction(self.batch * _NS_PER_S, time_ns) if time_ns else None


@dataclass(frozen=True)
class BatchSeries:
    """Results for a series of batch sizes.

    Attributes
    ----------
    rows
        One for each batch, in increasing order; fewer than asked for after Ctrl-C.
    """

    rows: tuple[BatchThroughput, ...]

    @property
    def best(self) -> BatchThroughput | None:
        """The row of the highest throughput, the first among equals; None if none fits."""
        found = [row for row in self.rows if row.samples_per_s is not None]
        return max(found, key=lambda row: row.samples_per_s or 0, default=None)

    @property
    def is_settled(self) -> bool:
        """Whether it is proved that no other batch of the series is faster than the best."""
        best = self.best
        return best is not None and all(
            row.at_most_per_s is not None and row.at_most_per_s <= (best.samples_per_s or 0)
            for row in self.rows
            if row is not best
        )


def solve_batches(
    problems: Sequence[Problem],
    method: str | None = None,
    options: SolveOptions | None = None,
    params: ParamsGiven | None = None,
) -> BatchSeries:
    """Solve the steps of one model in several batch sizes, in the same memory.

    Parameters
    ----------
    problems
        One for each batch size. Their instances say of what batch they are.
    method
        Name of the method; None for the problem's default.
    options
        Limits of each solve; None for the defaults.
    params
        Parameters of the method, as for `jettison.solve`.

    Raises
    ------
    InputError
        If there is no problem, an instance does not say its batch, two have the same, or they
        differ in model, device, data type, sequence or memory; or as `jettison.solve` says.
    """
    series = _by_batch(problems)
    return BatchSeries(tuple(_solved(series, method, options or SolveOptions(), params)))


def _solved(
    series: Mapping[int, Problem],
    method: str | None,
    options: SolveOptions,
    params: ParamsGiven | None,
) -> Iterator[BatchThroughput]:
    for batch in sorted(series):
        result = solve_with(series[batch], method, options, params)
        yield BatchThroughput(batch, result)
        if result.termination is Termination.INTERRUPTED:
            return


def _by_batch(problems: Sequence[Problem]) -> dict[int, Problem]:
    """Return the problems by batch size, checked to be of one series."""
    if not problems:
        raise InputError("no instance", field="instances", expected="give one for each batch")
    first, found = problems[0], dict[int, Problem]()
    for problem in problems:
        origin, name = problem.instance.provenance, problem.instance.name
        if origin.batch is None:
            raise InputError(
                "it does not say its batch",
                source=name,
                field="provenance.batch",
                expected="write the number of samples of a step there",
            )
        if origin.batch in found:
            raise InputError(
                f"{name} and {found[origin.batch].instance.name} are both of batch {origin.batch}",
                field="instances",
                expected="give one for each batch",
            )
        for field in _SHARED:
            own, other = getattr(origin, field), getattr(first.instance.provenance, field)
            if own != other:
                raise InputError(
                    f"{own} in {name}, and {other} in {first.instance.name}",
                    field=f"provenance.{field}",
                    expected="give instances that differ in their batch only",
                )
        if problem.memory_bytes != first.memory_bytes:
            raise InputError(
                f"{format_bytes(problem.memory_bytes)} for {name}, and "
                f"{format_bytes(first.memory_bytes)} for {first.instance.name}",
                field="memory",
                expected="write one amount for all, such as 12GiB",
            )
        found[origin.batch] = problem
    return found
