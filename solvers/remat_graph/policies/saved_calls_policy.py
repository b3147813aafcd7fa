"""Policy of the saved calls of checkpointed regions."""

from __future__ import annotations

from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.remat_graph.framework_policy import (
    Policy,
    PolicyBound,
    PolicyClass,
    PolicyTarget,
    RegionDecisions,
    policy_of_replay,
)
from jettison.solvers.core.bound import Evidence
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.remat_graph.policies.best_saved_calls import SavedCalls
from jettison.solvers.remat_graph.policies.once_again_policy import bound_of_all


def saved_calls_policy(choice: SavedCalls, options: SolveOptions) -> Policy:
    """Return the policy of a choice, with its bounds: of the class, and of all schedules."""
    step = choice.step
    return policy_of_replay(
        PolicyTarget.TORCH_SAC,
        step.graph,
        choice.memory_bytes,
        choice.replay,
        (
            PolicyBound(choice.class_bound_ns, str(PolicyClass.SAVED_CALLS), str(Evidence.SOLVER)),
            bound_of_all(RematGraph(step.graph, choice.memory_bytes), options),
        ),
        regions=region_decisions(choice),
        is_settled=choice.termination.is_regular,
    )


def region_decisions(choice: SavedCalls) -> tuple[RegionDecisions, ...]:
    """Return the decisions of a choice, region by region."""
    return tuple(
        RegionDecisions(
            module=region.name,
            operators=tuple(call.operator for call in region.calls),
            saved=tuple(
                number for number in range(len(region.calls)) if (place, number) in choice.saved
            ),
            draws=any(call.is_random for call in region.calls),
        )
        for place, region in enumerate(choice.step.regions)
    )
