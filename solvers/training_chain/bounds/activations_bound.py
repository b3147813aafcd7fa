"""Lower bound from the activations alone: the cut bound of recomputing and offloading a chain.

Whatever becomes of weights, states and gradients of weights, the first to the last operation of a
step is a schedule of the chain with a link in the same memory, in which every operation has the
weights of its stage, and a backward operation their gradient, as memory overhead. So the bound for
all of those schedules (`cut_bound`) holds for all training schedules.
"""

from __future__ import annotations

from dataclasses import replace

from jettison.instances.core.link import Transfers
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_offload.problem import RematOffloadChain
from jettison.instances.training_chain.problem import TrainingChain
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.bound import exact_bound
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_offload.cut_bound.cuts import OFFLOAD_CUTS, OffloadCutParams
from jettison.solvers.remat_offload.cut_bound.method import bound_offload_cut
from jettison.solvers.training_chain.least_memory import training_infeasibility


def bound_activations(
    problem: TrainingChain, options: SolveOptions, params: OffloadCutParams = OFFLOAD_CUTS
) -> Outcome:
    """Bound the time of every schedule by what activations force; at the limit the best so far."""
    refused = training_infeasibility(problem)
    if refused is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refused)
    posed = RematOffloadChain(
        with_weights_as_overheads(problem.instance),
        problem.memory_bytes,
        problem.link,
        transfers=Transfers.AT_ONCE,
    )
    found = bound_offload_cut(posed, replace(options, on_bound=None, on_schedule=None), params)
    if found.infeasibility is not None:
        # The same operations decide as above, by a count that differs in what it calls overhead.
        return Outcome(termination=Termination.COMPLETED, infeasibility=found.infeasibility)
    time_ns = max((bound.time_ns for bound in found.bounds), default=0)
    bound = exact_bound(max(time_ns, problem.base_time_ns), ScheduleClass.ALL, "cut-bound")
    return Outcome(termination=found.termination, bounds=(bound,), work=found.work)


def with_weights_as_overheads(chain: Chain) -> Chain:
    """Return the chain without weights, which are overheads of its operations instead."""
    stages = []
    for number, stage in enumerate(chain, start=1):
        left_bytes = chain.gradient_bytes(number - 1) if number > 1 else 0
        made_bytes = chain.backward_output_bytes(number)
        working_bytes = max(stage.backward_overhead_bytes, left_bytes - made_bytes)
        gradient_bytes = stage.gradient_of_weights_bytes
        stages.append(
            replace(
                stage,
                forward_overhead_bytes=stage.forward_overhead_bytes + stage.weight_bytes,
                saving_overhead_bytes=stage.overhead_of_saving_bytes + stage.weight_bytes,
                backward_overhead_bytes=working_bytes + stage.weight_bytes + gradient_bytes,
                weight_bytes=0,
                weight_gradient_bytes=None,
                optimizer_state_bytes=0,
                update_ns=0,
                host_update_ns=None,
            )
        )
    return replace(chain, stages=tuple(stages))
