r"""Schedule of one unit by µ-TWO or by another policy: decisions, then the executor.

Where the executor finds that the decisions do not fit, because the simulator of the paper lets a
feature map leave before its copy is complete and counts no workspace of recomputations, the policy
is run again for less memory than there is: a 64th less, then twice as much less each time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.solvers.core.params import Params
from jettison.solvers.multi_model.decisions import UnitDecisions
from jettison.solvers.multi_model.executor.executed_units import ExecutedUnit, UnitExecutor
from jettison.solvers.multi_model.least_division import Sizes
from jettison.solvers.multi_model.mu_two.policy import OutOfMemoryStrategy, unit_decisions


@dataclass(frozen=True, kw_only=True)
class PolicyParams(Params):
    """Parameters of the policies for one unit: where decisions cannot be executed.

    Attributes
    ----------
    first_margin_divisor
        Divisor of the memory that gives the first margin: the policy decides for that much less
        memory, then for twice as much less each time, up to half of it.
    """

    first_margin_divisor: int = 64

    @property
    def margins(self) -> list[int]:
        """The divisors of all margins, the smallest margin first."""
        halvings = range(self.first_margin_divisor.bit_length() - 1)
        return [self.first_margin_divisor >> k for k in halvings]


POLICY = PolicyParams()


@dataclass(frozen=True, slots=True)
class ScheduledUnit:
    """Unit with its decisions and its executed schedule."""

    decisions: UnitDecisions
    executed: ExecutedUnit


def scheduled_unit(
    problem: MultiModelTraining,
    sizes: Sizes,
    strategy: OutOfMemoryStrategy = OutOfMemoryStrategy.HYBRID,
    params: PolicyParams = POLICY,
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
        params,
    )


def fitted_unit(
    problem: MultiModelTraining,
    sizes: Sizes,
    decide: Callable[[int], UnitDecisions | None],
    params: PolicyParams = POLICY,
) -> ScheduledUnit | None:
    """Execute a policy's decisions for the memory, or for less where these cannot be executed.

    Parameters
    ----------
    problem, sizes
        The unit.
    decide
        Decides for a memory in bytes; returns None where it finds no decisions.
    params
        For how much less memory it decides where its decisions cannot be executed.
    """
    executor = UnitExecutor(problem, sizes)
    for spared_bytes in (0, *(problem.memory_bytes // margin for margin in params.margins)):
        decisions = decide(problem.memory_bytes - spared_bytes)
        if decisions is None:
            return None
        executed = executor.execute(decisions)
        if executed is not None:
            return ScheduledUnit(decisions, executed)
    return None
