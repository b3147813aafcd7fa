"""Profiler of a PyTorch ``nn.Sequential`` as a chain, as in Section 5.1 of RR-9302."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import util
from types import MappingProxyType
from typing import TYPE_CHECKING

from jettison.instances.core.errors import MissingExtraError
from jettison.instances.core.parameter_gradients import ParameterGradients
from jettison.instances.core.provenance import Scalar
from jettison.instances.profilers.cost_check import CostCheck
from jettison.instances.remat_chain.chain import Chain

if TYPE_CHECKING:
    from torch import Tensor, nn

    from jettison.instances.profilers.torch_chains.stage_measurement import MeasurementLog


def profile_chain(
    model: nn.Sequential,
    sample_input: Tensor,
    *,
    name: str,
    model_name: str,
    model_arguments: Mapping[str, Scalar] = MappingProxyType({}),
    loss: Callable[[Tensor], Tensor] | None = None,
    warmup: int = 2,
    repeats: int = 7,
    gradients: ParameterGradients = ParameterGradients.NEW,
    log: MeasurementLog | None = None,
    threads: int | None = None,
    check: CostCheck = CostCheck.WARN,
) -> Chain:
    r"""Measure every stage of a sequential model on the device of `sample_input`.

    Each child of `model` becomes a stage, and the loss the last one. Stages are measured one after
    the other, so that the model may be one whose whole step does not fit the memory.

    Durations are lower quartiles of `repeats` measurements after `warmup` runs (`LaunchTimer`): of
    CUDA events on a GPU, of the time that the computing thread has on a CPU.

    Sizes are those of distinct storages. :math:`\bar a^\ell` is what autograd saves and the
    output, without the stage's input, parameters and buffers; a constant tensor that is neither
    parameter nor buffer counts as saved. An output that is a view of its input (``nn.Flatten``)
    counts as a copy. Overheads are peaks minus what the model counts as input and output of the
    operation. A forward operation that saves has one of its own, mostly a smaller one: what others
    free is saved. The backward overhead does not hold the gradient output (Appendix B of POFO).
    On a GPU they come from the allocator's statistics, on a CPU from the PyTorch profiler's memory
    events; memory that does not come from PyTorch's allocator is not seen.

    Stage 1 has no gradient output unless `sample_input` requires one, which token ids cannot; the
    chain model counts one all the same, and its place is taken out of the stage's overhead. A
    parameter that several stages share counts as weight of the first.

    Memory for all gradients of parameters is reserved in the model. A gradient that is made anew
    takes its place there: it is no overhead, and a step needs no more than the predicted peak and
    all gradients together. A gradient that is added to another is an overhead until it is added,
    and so is one of a parameter that a later stage has given a gradient already. A plain PyTorch
    step that accumulates holds the partial gradient of a shared parameter from the last of its
    stages to the first; a chain cannot express that.

    Parameters
    ----------
    model
        In training mode; children that are in evaluation mode on purpose stay so. Parameters,
        gradients, buffers and random number generators are left as they were found.
    sample_input
        One batch. What the model computes must not depend on its values.
    name
        Name of the instance. A profile of a CPU should say so.
    model_name, model_arguments
        How the model was built, for the provenance.
    loss
        Maps the model's output to a scalar; the mean of the output if it is not given.
    warmup, repeats
        Runs of each operation before, and for, the measurement.
    gradients
        Of parameters: new in each step, as after ``zero_grad()``, or accumulated.
    log
        Hears of every stage, and may recall what an earlier run has measured of it.
    threads
        Threads that durations are measured with on a CPU; as many as are set if it is not given.
        Memory is measured with as many as are set.
    check
        What becomes of durations that are in doubt (`CostCheck`). Whole steps, to compare the sum
        with, run only where these fit the memory.

    Raises
    ------
    MissingExtraError
        If PyTorch is not installed.
    InputError
        If the model is not a plain ``nn.Sequential``, is empty or in evaluation mode; if parameters
        and input are on different devices, or not on a CPU or CUDA device; if a stage does not
        return one dense tensor, writes into its input, or stops the gradient; if no parameter is
        trained; if `warmup` or `repeats` is out of range.
    """
    if util.find_spec("torch") is None:
        raise MissingExtraError("PyTorch", "torch", "profiling a model")
    # PyTorch loads when a model is profiled and not before.
    from jettison.instances.profilers.torch_chains.measurement import measure_chain
    from jettison.instances.profilers.torch_chains.stage_measurement import NoLog

    return measure_chain(
        model,
        sample_input,
        name=name,
        model_name=model_name,
        model_arguments=model_arguments,
        loss=loss,
        warmup=warmup,
        repeats=repeats,
        gradients=gradients,
        log=log or NoLog(),
        threads=threads,
        check=check,
    )
