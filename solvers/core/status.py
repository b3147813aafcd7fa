"""Status of a run on two axes: why it stopped, and what is known of the problem.

The axes are independent. A run can hit its time limit with a schedule in hand, with a proof that
there is none, or with nothing; a single word such as "Optimal" cannot say which. Nor can "nothing
found": a method may have searched to its end, or to its limit, or may not apply to the instance.
"""

from __future__ import annotations

from enum import StrEnum

from jettison.instances.core.errors import JettisonError


class Termination(StrEnum):
    """Reason why a run stopped."""

    COMPLETED = "completed"
    """The question is settled: nothing is left to search."""

    GAP_REACHED = "gap_reached"
    """The bound came as close to the best solution as was asked for."""

    TIME_LIMIT = "time_limit"
    NODE_LIMIT = "node_limit"
    WORK_LIMIT = "work_limit"
    MEMORY_LIMIT = "memory_limit"

    NOT_APPLICABLE = "not_applicable"
    """The instance lacks what the method is about, so that nothing was searched; a note says what.

    Another memory or more time would not change that.
    """

    INTERRUPTED = "interrupted"
    """Somebody asked for the end: Ctrl-C, or the caller."""

    ERROR = "error"
    """The algorithm broke down; what it had found by then is kept."""

    @property
    def is_regular(self) -> bool:
        """Whether the run came to its proper end, and not to a limit or to nothing at all."""
        return self in {Termination.COMPLETED, Termination.GAP_REACHED}


class Answer(StrEnum):
    """Knowledge of the problem after a run."""

    OPTIMAL = "optimal"
    """A solution, and a bound that meets it."""

    FEASIBLE = "feasible"
    """A solution; a better one may exist."""

    INFEASIBLE = "infeasible"
    """There is no solution: proved."""

    UNBOUNDED = "unbounded"
    """There are solutions below every value: proved."""

    UNKNOWN = "unknown"
    """No solution was found, and none was ruled out."""


class SolverError(JettisonError):
    """A solver refused what it was given, or was asked for something it does not have."""
