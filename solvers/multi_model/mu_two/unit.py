r"""One unit by µ-TWO, or by another policy: its decisions, then the executor.

Where the executor finds that the decisions do not fit, because the simulator of the paper lets a
feature map leave before its copy is complete and counts no workspace of recomputations, the policy
is run again for less memory than there is: a 64th less, then twice as much less each time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.solvers.multi_model.decisions import UnitDecisions
from jettison.solvers.multi_model.executor.executed_units import ExecutedUnit, UnitExecutor
from jettison.solvers.multi_model.mu_two.policy import OutOfMemoryStrategy, unit_decisions
from jettison.solvers.multi_model.units import Sizes

_MARGINS = (0, 64, 32, 16, 8, 4, 2)


@dataclass(frozen=True, slots=True)
class ScheduledUnit:
    """A unit, what was decided of it, and what the executor made of that."""

    decisions: UnitDecisions
    executed: ExecutedUnit


def scheduled_unit(
    problem: MultiModelTraining,
    sizes: Sizes,
    strategy: OutOfMemoryStrategy = OutOfMemoryStrategy.HYBRID,
) -> ScheduledUnit | None:
    """Schedule a unit by the policy of µ-TWO; None if nothing that it tries fits.

    Notes
    -----
    At most seven times the policy and the executor.
    """
    return fitted_unit(
        problem,
        sizes,
        lambda limit_bytes: unit_decisions(problem, sizes, limit_bytes, strategy),
    )


def fitted_unit(
    problem: MultiModelTraining,
    sizes: Sizes,
    decide: Callable[[int], UnitDecisions | None],
) -> ScheduledUnit | None:
    """Execute what a policy decides for the memory, or for less where that cannot be executed.

    Parameters
    ----------
    problem, sizes
        The unit.
    decide
        Decides for so many bytes; None where it sees no way.
    """
    executor = UnitExecutor(problem, sizes)
    for margin in _MARGINS:
        spared_bytes = problem.memory_bytes // margin if margin else 0
        decisions = decide(problem.memory_bytes - spared_bytes)
        if decisions is None:
            return None
        executed = executor.execute(decisions)
        if executed is not None:
            return ScheduledUnit(decisions, executed)
    return None
