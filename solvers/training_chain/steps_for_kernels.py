"""Steps of a training chain as the kernels take them: times, sizes and transfers by stage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jettison.instances.core.errors import InputError
from jettison.instances.core.link import Link
from jettison.instances.training_chain.problem import TrainingChain
from jettison.schedules.training_chain.event import StageTensor, TrainingEventKind
from jettison.solvers import _kernels

# The orders of the kernels: of kinds of events, and of the tensors of a stage.
KINDS = (
    TrainingEventKind.FORWARD,
    TrainingEventKind.FORWARD_ALL,
    TrainingEventKind.BACKWARD,
    TrainingEventKind.UPDATE,
    TrainingEventKind.PREFETCH,
    TrainingEventKind.OFFLOAD,
    TrainingEventKind.DROP,
    TrainingEventKind.HOST_UPDATE,
)
TENSORS = (
    StageTensor.SAVED,
    StageTensor.OUTPUT,
    StageTensor.WEIGHTS,
    StageTensor.GRADIENT,
    StageTensor.STATES,
)


class KernelSteps(NamedTuple):
    """Steps for the kernels.

    Attributes
    ----------
    steps
        What the kernels take.
    durations_ns
        All durations of operations, updates and transfers.
    """

    steps: _kernels.TrainingSteps
    durations_ns: list[int]


def steps_for_kernels(problem: TrainingChain, link: Link) -> KernelSteps:
    """Return the steps of a problem on a link of which one direction does not slow down the other.

    Raises
    ------
    InputError
        If the link is so slow that times do not fit the kernels.
    """
    chain = problem.instance
    times, sizes, others = [], [], []
    for number, stage in enumerate(chain, start=1):
        host_ns = stage.host_update_ns or 0
        times.append((stage.forward_ns, stage.backward_ns, stage.update_ns, host_ns))
        sizes.append(
            (
                stage.saved_bytes,
                stage.output_bytes,
                stage.weight_bytes,
                # That of a stage that is not trained has no bytes either.
                stage.gradient_of_weights_bytes,
                stage.optimizer_state_bytes,
            )
        )
        others.append(
            (
                stage.gradient_bytes,
                chain.gradient_bytes(number - 1) if number > 1 else 0,
                chain.backward_output_bytes(number),
                stage.forward_overhead_bytes,
                stage.overhead_of_saving_bytes,
                stage.backward_overhead_bytes,
                int(stage.is_trained),
            )
        )
    transfers = [[link.transfer_ns(size) for size in row] for row in sizes]
    durations = [duration for row in (*times, *transfers) for duration in row]
    # No stage runs more often than there are stages, and no tensor moves more often in a step.
    if len(chain) * sum(durations) >= 2**58:
        raise InputError(
            problem.link.text,
            field="bandwidth",
            expected="write one at which a step of the chain takes less than 2^58 ns",
        )
    steps = _kernels.TrainingSteps(
        _by_row(times),
        _by_row(sizes),
        _by_row(transfers),
        _by_row(others),
        chain.input_bytes,
        min(problem.memory_bytes, 2**61),
    )
    return KernelSteps(steps, durations)


def _by_row(of_stages: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    return np.ascontiguousarray(np.array(of_stages, dtype=np.int64).T)
