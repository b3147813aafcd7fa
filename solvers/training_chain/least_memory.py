"""Least memory of a training step: what one operation needs beside nothing else."""

from __future__ import annotations

from jettison.instances.training_chain.problem import TrainingChain
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.outcome import Infeasibility


def training_infeasibility(problem: TrainingChain) -> Infeasibility | None:
    r"""Return the proof that no schedule fits, or None where an operation alone does; O(N).

    Some forward operation of each stage saves all, beside its input and its weights; the backward
    operation has all that is saved, the input, both gradients of activations, the weights and their
    gradient; an update that only the device can do has weights, gradient and states. The input of
    the chain stays.
    """
    chain = problem.instance
    least_bytes, needed_by = 0, ""
    for number, stage in enumerate(chain, start=1):
        input_bytes = chain.stage(number - 1).output_bytes if number > 1 else 0
        gradient_bytes = stage.gradient_of_weights_bytes
        read_bytes = stage.weight_bytes + input_bytes + stage.saved_bytes
        left_bytes = chain.gradient_bytes(number - 1) if number > 1 else 0
        made_bytes = chain.backward_output_bytes(number)
        working_bytes = max(made_bytes + stage.backward_overhead_bytes, left_bytes)
        own_bytes = stage.gradient_bytes if number < len(chain) else 0
        needs = [
            (f"F_all {number}", read_bytes + stage.overhead_of_saving_bytes),
            (f"B {number}", read_bytes + own_bytes + working_bytes + gradient_bytes),
        ]
        if stage.is_trained and not stage.host_can_update:
            states_bytes = stage.optimizer_state_bytes
            needs.append((f"U {number}", stage.weight_bytes + gradient_bytes + states_bytes))
        for operation, size_bytes in needs:
            if size_bytes > least_bytes:
                least_bytes, needed_by = size_bytes, operation
    least_bytes += chain.input_bytes
    if problem.memory_bytes >= least_bytes:
        return None
    return Infeasibility(
        valid_for=ScheduleClass.ALL,
        least_memory_bytes=least_bytes,
        is_exact=False,
        needed_by=needed_by,
    )
