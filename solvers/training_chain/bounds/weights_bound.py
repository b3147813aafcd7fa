r"""Lower bound from weights and gradients alone: AGG and AGGINT of a step with offloaded weights.

The bounds of `jettison.solvers.weight_offload.bounds.aggregated` hold for training schedules of a
chain with less in it: stage l has weights of :math:`w' = \min(w, g)` bytes, and nothing is in
memory beside them but the operands of the running operation.

*Proof.* Take a training schedule. The *token* of stage l is on the device if its weights are, or
the gradient from the end of its backward operation to its update. It stands for weights of
:math:`w'` bytes, which are no more than either. Between the backward operation and the next forward
one it is away only if the gradient has been sent (to the host's update, or to come back) or, after
the update on the device, the weights have: at least :math:`w'` bytes to the host, behind the
backward operation. Before the forward operation weights come, or the gradient does and the update
follows: at least :math:`w'` bytes from the host. If it is away twice in this time, let it stay
away. After the forward operation it is away if the host has the new weights, for which they were
sent, or their gradient was, since the backward operation; they come back before the next one. So
the tokens are a schedule of weight offloading, with the discount, in no more of the link.
Recomputations and updates on the device are waiting there, and only make steps longer. When an
operation runs, its input, what it makes, its overhead and its gradients are in memory as here; a
backward operation has :math:`w' + w'` bytes of weights and their gradient there, and what these
have more is overhead.

Where gradients are as large as weights, as in plain training, nothing of the link is lost. Where a
stage has a small gradient, its weights count as small, and AGG without this change would be wrong:
an update on the host sends the gradient alone. The bounds of `events`, and the exact search of
weight offloading, are no bounds here at all: they know that activations stay, and that nothing else
runs between two operations.

The cycle bound has all that AGG knows, and was never below it; AGGINT knows in addition that layers
of one size are away as a whole.
"""

from __future__ import annotations

from dataclasses import replace

from jettison.instances.remat_chain.chain import Chain
from jettison.instances.training_chain.problem import TrainingChain
from jettison.instances.weight_offload.problem import WeightOffload
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.bound import exact_bound
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.training_chain.least_memory import training_infeasibility
from jettison.solvers.weight_offload.bounds.aggregated import (
    AGGREGATED,
    AggregatedParams,
    bound_weight_whole,
)


def bound_training_weights(
    problem: TrainingChain, options: SolveOptions, params: AggregatedParams = AGGREGATED
) -> Outcome:
    """Bound the time of every schedule by what weights and gradients alone have to move.

    At the time limit the bounds are those found by then.
    """
    refused = training_infeasibility(problem)
    if refused is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refused)
    base = exact_bound(problem.base_time_ns, ScheduleClass.ALL, "weights-bound")
    posed = WeightOffload(weights_alone(problem.instance), problem.memory_bytes, problem.link)
    if not posed.cycle.total_weight_bytes:
        return Outcome(termination=Termination.COMPLETED, bounds=(base,))
    found = bound_weight_whole(posed, options.quiet(), params)
    if found.infeasibility is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=found.infeasibility)
    bounds = tuple(
        replace(bound, method="weights-bound", formulation=None)
        for bound in found.bounds
        if bound.time_ns > base.time_ns
    )
    return Outcome(termination=found.termination, bounds=(base, *bounds), work=found.work)


def weights_alone(chain: Chain) -> Chain:
    """Return the chain whose weights are those of the proof; all operands are overheads."""
    stages = []
    for number, stage in enumerate(chain, start=1):
        input_bytes = chain.stage(number - 1).output_bytes if number > 1 else 0
        left_bytes = chain.gradient_bytes(number - 1) if number > 1 else 0
        weight_bytes, gradient_bytes = stage.weight_bytes, stage.gradient_of_weights_bytes
        moved_bytes = min(weight_bytes, gradient_bytes)
        beside_bytes = input_bytes + weight_bytes - moved_bytes
        made_bytes = chain.backward_output_bytes(number) + stage.backward_overhead_bytes
        own_bytes = stage.gradient_bytes if number < len(chain) else 0
        stages.append(
            replace(
                stage,
                output_bytes=0,
                output_gradient_bytes=0,
                saved_bytes=0,
                # A forward operation that saves takes no less than one that does not.
                forward_overhead_bytes=beside_bytes + stage.passing_bytes,
                saving_overhead_bytes=None,
                backward_overhead_bytes=beside_bytes
                + stage.saved_bytes
                + own_bytes
                + max(made_bytes, left_bytes)
                + gradient_bytes
                - moved_bytes,
                weight_bytes=moved_bytes,
                weight_gradient_bytes=None,
                optimizer_state_bytes=0,
                update_ns=0,
                host_update_ns=None,
            )
        )
    return replace(chain, stages=tuple(stages), backward_overhead_holds_gradient=True)
