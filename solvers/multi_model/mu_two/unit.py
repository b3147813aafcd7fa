r"""Schedule of one unit by µ-TWO or by another policy: decisions, then the executor.

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
    """Unit with its decisions and its executed schedule."""

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
    """Execute a policy's decisions for the memory, or for less where these cannot be executed.

    Parameters
    ----------
    problem, sizes
        The unit.
    decide
        Decides for a memory in bytes; returns None where it finds no decisions.
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
