r"""Largest batch that a model can train with in a memory, at a bounded cost of recomputation.

Source: Checkmate (Jain et al., MLSys 2020), Eq. (10). A batch of :math:`B` samples counts if there
is a schedule in the memory whose time is at most that of a step without recomputation and
:math:`x` forward passes more; in the paper :math:`x = 1`. A lower bound above that limit, or a
proof that nothing fits, *refutes* a batch.

The search finds the largest batch that counts, and the smallest that is refuted, each by doubling
and bisection. It assumes that the model grows with its batch: no size is smaller in a larger
batch, and durations are in proportion to each other in all batches. Then a schedule that counts
for a batch counts for every smaller one, for it needs no more memory there, and its time and the
limit shrink alike; so a refuted batch refutes all larger ones. The steps that
`jettison.instances.generators.training_networks` makes have sizes in exact proportion, and
durations but for their rounding to whole nanoseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction

from jettison.instances.core.errors import InputError
from jettison.instances.core.units import format_bytes
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_graph.graph import Graph
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.params import ParamsGiven
from jettison.solvers.core.problem import Problem
from jettison.solvers.core.result import Result
from jettison.solvers.core.solve import solve_with
from jettison.solvers.core.status import Termination


@dataclass(frozen=True)
class BatchTrial:
    """Result for one batch, beside the limit on the time of its step.

    Attributes
    ----------
    batch
        Samples of a step.
    limit_ns
        The time without recomputation and the forward passes that are allowed besides.
    result
        What was found.
    """

    batch: int
    limit_ns: int
    result: Result

    @property
    def is_within(self) -> bool:
        """Whether a schedule was found that fits and keeps the limit."""
        return self.result.time_ns is not None and self.result.time_ns <= self.limit_ns

    @property
    def refuted_for(self) -> ScheduleClass | None:
        """The widest class in which no schedule fits and keeps the limit; None if none is known."""
        proof = self.result.infeasibility
        classes = [bound.valid_for for bound in self.result.bounds if bound.time_ns > self.limit_ns]
        if proof is not None:
            classes.append(proof.valid_for)
        for one in classes:
            if all(one.covers(other) for other in classes):
                return one
        return classes[0] if classes else None


@dataclass(frozen=True)
class LargestBatch:
    """Outcome of a search for the largest batch.

    Attributes
    ----------
    trials
        What was tried, in increasing order of the batch.
    most
        The largest batch that was asked about.
    """

    trials: tuple[BatchTrial, ...]
    most: int

    @property
    def best(self) -> BatchTrial | None:
        """The trial of the largest batch that counts; None if none was found."""
        return max(
            (trial for trial in self.trials if trial.is_within),
            key=lambda trial: trial.batch,
            default=None,
        )

    @property
    def refuted(self) -> BatchTrial | None:
        """The trial of the smallest batch that is refuted; None if none is."""
        # A method that looks at schedules of several classes may beat a bound on one of them.
        least = 0 if self.best is None else self.best.batch
        return next(
            (trial for trial in self.trials if trial.refuted_for and trial.batch > least), None
        )

    @property
    def at_most(self) -> int | None:
        """Upper bound on the batches that count, up to those asked about; None if none is known.

        It holds for the schedules that the trial `refuted` names, and for models that grow with
        their batch.
        """
        if self.refuted is not None:
            return self.refuted.batch - 1
        is_reached = self.best is not None and self.best.batch == self.most
        return self.most if is_reached else None

    @property
    def is_settled(self) -> bool:
        """Whether the largest batch that counts, or that none does, is proved."""
        return self.at_most == (0 if self.best is None else self.best.batch)


def largest_batch(
    problem_of: Callable[[int], Problem],
    *,
    most: int = 2**16,
    extra_passes: Fraction | int = 1,
    method: str | None = None,
    options: SolveOptions | None = None,
    params: ParamsGiven | None = None,
) -> LargestBatch:
    """Search for the largest batch whose overhead is at most some forward passes.

    Parameters
    ----------
    problem_of
        Makes the problem of a batch, on a `Graph` with marks of the backward pass or on a `Chain`;
        all in the same memory, and of a model that grows with its batch.
    most
        The largest batch to try.
    extra_passes
        Largest overhead of a step, in forward passes, from 0.
    method
        Name of the method; None for the problem's default.
    options
        Limits of each solve; None for the defaults.
    params
        Parameters of the method, as for `jettison.solve`.

    Returns
    -------
    LargestBatch
        After Ctrl-C, or where the time of a solve did not suffice, it may be open.

    Raises
    ------
    InputError
        If a limit is out of range, problems differ in their memory, or a step does not say what
        its forward pass is; or as `jettison.solve` says.

    Notes
    -----
    At most about four solves for each binary digit of the answer.

    Examples
    --------
    >>> import jettison as jt
    >>> from jettison.core import largest_batch
    >>> from jettison.instances.generators.training_networks import vgg
    >>> found = largest_batch(lambda batch: jt.RematGraph(vgg(batch, 11), "4GiB"))
    >>> found.best.batch, found.is_settled
    (133, True)
    """
    if most < 1:
        raise InputError(f"{most}", field="most", expected="write a batch, 1 or more")
    if extra_passes < 0:
        raise InputError(f"{extra_passes}", field="extra_passes", expected="write 0 or more")

    def solved(problem: Problem) -> Result:
        return solve_with(problem, method, options or SolveOptions(), params)

    search = _Search(problem_of, Fraction(extra_passes), solved, most)
    with suppress(_InterruptedError):
        search.run()
    trials = tuple(search.trials[batch] for batch in sorted(search.trials))
    return LargestBatch(trials, most)


def forward_pass_ns(instance: object) -> int:
    """Return the time of the forward pass of a step, the loss included.

    Raises
    ------
    InputError
        If the instance is no graph or chain, or a graph without marks of its backward pass.
    """
    match instance:
        case Chain():
            return sum(stage.forward_ns for stage in instance.stages)
        case Graph() if any(node.backward for node in instance.nodes):
            return sum(node.duration_ns for node in instance.nodes if not node.backward)
        case Graph():
            raise InputError(
                "no node is marked as one of the backward pass",
                source=instance.name,
                field="nodes.backward",
                expected="mark them, so that the forward pass is known",
            )
        case other:
            raise InputError(
                f"a {type(other).__name__}",
                field="problem",
                expected="give a graph or a chain, whose forward pass is known",
            )


class _InterruptedError(Exception):
    """A solve was interrupted."""


class _Search:
    """Search over batches from 1 on, with the trials that it has made."""

    def __init__(
        self,
        problem_of: Callable[[int], Problem],
        extra_passes: Fraction,
        solved: Callable[[Problem], Result],
        most: int,
    ) -> None:
        self._problem_of = problem_of
        self._extra_passes = extra_passes
        self._solved = solved
        self._most = most
        self._memory_bytes: int | None = None
        self.trials: dict[int, BatchTrial] = {}

    def run(self) -> None:
        """Find the largest batch within the limit, then the smallest one that is refuted."""
        # A share of each batch's own peak is noticed here, even if one trial settles all.
        for batch in {1, min(2, self._most)}:
            self._check_memory(self._problem_of(batch))
        over = self._first(1, lambda trial: not trial.is_within)
        self._first(over, lambda trial: trial.refuted_for is not None)

    def _first(self, begin: int, holds: Callable[[BatchTrial], bool]) -> int:
        """Return the first batch from `begin` on for which something holds, or one too many."""
        below, above = begin - 1, begin
        while above <= self._most and not holds(self._trial(above)):
            below, above = above, 2 * above
        if above > self._most:
            if below == self._most or (below < self._most and not holds(self._trial(self._most))):
                return self._most + 1
            above = self._most
        while above - below > 1:
            middle = (below + above) // 2
            if holds(self._trial(middle)):
                above = middle
            else:
                below = middle
        return above

    def _trial(self, batch: int) -> BatchTrial:
        if batch not in self.trials:
            problem = self._problem_of(batch)
            self._check_memory(problem)
            extra_ns = int(self._extra_passes * forward_pass_ns(problem.instance))
            result = self._solved(problem)
            self.trials[batch] = BatchTrial(batch, problem.base_time_ns + extra_ns, result)
            if result.termination is Termination.INTERRUPTED:
                raise _InterruptedError
        return self.trials[batch]

    def _check_memory(self, problem: Problem) -> None:
        if self._memory_bytes is None:
            self._memory_bytes = problem.memory_bytes
        if problem.memory_bytes != self._memory_bytes:
            raise InputError(
                f"{format_bytes(problem.memory_bytes)} in one batch, and "
                f"{format_bytes(self._memory_bytes)} in another",
                field="memory",
                expected="write one amount for all, such as 12GiB",
            )
