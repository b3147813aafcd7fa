"""Memory of one stage: sizes of its tensors, and overheads of its operations."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from jettison.instances.profilers.device.memory_cpu import CpuMemoryMeter
from jettison.instances.profilers.device.memory_cuda import CudaMemoryMeter
from jettison.instances.profilers.device.memory_fake import FakeMemoryMeter
from jettison.instances.profilers.device.memory_window import MemoryWindow
from jettison.instances.profilers.torch_chains.stage import ChainStage
from jettison.instances.profilers.torch_chains.stage_gradients import StageGradients
from jettison.instances.profilers.torch_chains.taken_gradient import (
    TakenGradient,
    entering,
    leaving,
)
from jettison.instances.profilers.torch_graphs.storages import saved_storage_bytes, storage_bytes
from jettison.instances.remat_chain.stage_rises import StageRises

# Strides of a tensor, in elements.
Layout = tuple[int, ...]
MemoryMeter = CpuMemoryMeter | CudaMemoryMeter | FakeMemoryMeter


def memory_meter(device: torch.device) -> MemoryMeter:
    """Return the meter for a device."""
    return CudaMemoryMeter(device) if device.type == "cuda" else CpuMemoryMeter()


@dataclass(frozen=True, slots=True, kw_only=True)
class StageMemory:
    r"""Measured memory of one stage, complete once the meter has closed.

    Attributes
    ----------
    output_bytes
        Size of :math:`a^\ell`; 0 for the loss.
    hooked_bytes
        Storages that autograd saves, without the output, the input, parameters and buffers.
    uncounted_bytes
        Size of the scalar loss, which is no part of the model; 0 for other stages.
    new_gradient_bytes
        Gradients of parameters that the backward operation leaves where none was.
    gradient_layout, input_gradient_layout
        Strides of the gradients of the output and of the input in the measured backward operation;
        None where there are none. A kernel may copy a gradient in a layout that is not its own, and
        it is the stage after this one that decides in which the gradient comes.
    input_gradient_bytes
        Storage of the gradient of the input: that of an expanded one is smaller than its elements.
    own_output_bytes
        Size of the output's storage, 0 for a view of the input.
    generator_bytes
        State of PyTorch's generator on the CPU, if the stage draws numbers from it; else 0.
    passing, forward, backward
        The forward operation without a graph, the one with it, and the backward operation. As in a
        step by a schedule, nothing holds the output and its gradient when the latter has begun.
    """

    output_bytes: int
    hooked_bytes: int
    uncounted_bytes: int
    new_gradient_bytes: int
    gradient_layout: Layout | None
    input_gradient_layout: Layout | None
    input_gradient_bytes: int
    own_output_bytes: int
    generator_bytes: int
    passing: MemoryWindow
    forward: MemoryWindow
    backward: MemoryWindow

    @property
    def saved_bytes(self) -> int:
        r"""Size of :math:`\bar a^\ell`.

        What stays allocated after the forward operation may exceed what passes the hooks: a
        custom function can keep tensors of its own, and a GPU's blocks are rounded up.
        """
        kept = self.forward.kept_bytes - self.uncounted_bytes
        return max(self.output_bytes + self.hooked_bytes, kept)

    @property
    def forward_overhead_bytes(self) -> int:
        r"""Peak of a forward operation that leaves only :math:`a^\ell` above its output.

        It allocates and frees much of what an operation that saves keeps, whose overhead is no
        larger in a chain: kernels that run without a graph may be others, and take less.
        """
        passing = self.passing.rise_bytes - self.uncounted_bytes - self.output_bytes
        return max(passing, self._saving_peak_bytes)

    @property
    def saving_overhead_bytes(self) -> int:
        r"""Peak of the forward operation that leaves :math:`\bar a^\ell` above its outputs.

        No less in all than what an operation that leaves :math:`a^\ell` takes, as a chain has it.
        """
        passing = self.output_bytes + self.forward_overhead_bytes - self.saved_bytes
        return max(self._saving_peak_bytes, passing)

    @property
    def _saving_peak_bytes(self) -> int:
        return max(self.forward.rise_bytes - self.uncounted_bytes - self.saved_bytes, 0)

    @property
    def rises(self) -> StageRises:
        """Peaks of the operations, each beyond what is there as it begins."""
        kept = self.forward.kept_bytes - self.uncounted_bytes
        viewed_bytes = 0 if self.own_output_bytes else self.output_bytes
        return StageRises(
            saving_bytes=self.forward.rise_bytes,
            passing_bytes=self.passing.rise_bytes,
            backward_bytes=max(
                self.backward.rise_bytes + kept + viewed_bytes - self.saved_bytes, 0
            ),
            gradient_bytes=self.new_gradient_bytes,
            generator_bytes=self.generator_bytes,
            own_output_bytes=self.own_output_bytes,
        )

    def backward_overhead_bytes(self, input_gradient_bytes: int) -> int:
        r"""Peak of the backward operation above all that the chain model counts.

        That is the input, :math:`\bar a^\ell`, :math:`\delta^\ell`, and :math:`\delta^{\ell-1}` of
        `input_gradient_bytes`, and the place of new gradients of parameters. Autograd frees parts
        of :math:`\bar a^\ell` on the way; where they make room for everything else, nothing
        remains.
        """
        kept = self.forward.kept_bytes - self.uncounted_bytes
        peak = kept + self.backward.rise_bytes
        counted = self.saved_bytes + input_gradient_bytes + self.new_gradient_bytes
        return max(peak - counted, 0)


def measure_memory(
    stage: ChainStage, stage_input: Tensor, meter: MemoryMeter, layout: Layout | None = None
) -> StageMemory:
    """Run the stage's operations once each inside `meter`.

    `layout` is that of the gradient of the output; by default the layout of the output.
    """
    # Fake tensors draw nothing, and on a GPU the states of its generators are on the host.
    state = torch.get_rng_state() if isinstance(meter, CpuMemoryMeter) else None
    output, saved = saved_storage_bytes(lambda: stage.forward(stage_input))
    generator_bytes = 0 if state is None else _drawn_from_bytes(state)
    del state
    own_output = storage_bytes([output])
    known = stage.resident | storage_bytes([stage_input]).keys()
    hooked_bytes = sum(
        size
        for address, size in saved.items()
        if address not in known and address not in own_output
    )
    own_output_bytes = sum(size for address, size in own_output.items() if address not in known)
    size_bytes = _output_bytes(output, own_output_bytes)
    del output

    with torch.no_grad(), meter.window() as passing:
        output = stage.call(stage_input)
    del output

    with StageGradients(stage) as gradients:
        taken, given = TakenGradient(), TakenGradient()
        needs_gradient = stage_input.requires_grad
        with meter.window() as forward:
            entered = stage_input.detach()
            if needs_gradient:
                entered = entering(entered, taken)
            output = stage.forward(entered)
            del entered
            root = leaving(output, given) if output.requires_grad else None
            output = output.detach()
        given.value = _gradient(output, layout) if root is not None else None
        gradient_layout = None if given.value is None else tuple(given.value.stride())
        with meter.window() as backward:
            del output
            if root is not None:
                torch.autograd.backward(root, root.new_empty(0))
            del root
        of_input = taken.take()
        new_gradient_bytes = gradients.new_bytes
    return StageMemory(
        output_bytes=0 if stage.is_loss else size_bytes,
        hooked_bytes=hooked_bytes,
        uncounted_bytes=size_bytes if stage.is_loss else 0,
        new_gradient_bytes=new_gradient_bytes,
        gradient_layout=gradient_layout,
        input_gradient_layout=None if of_input is None else tuple(of_input.stride()),
        input_gradient_bytes=0 if of_input is None else sum(storage_bytes([of_input]).values()),
        own_output_bytes=0 if stage.is_loss else own_output_bytes,
        generator_bytes=generator_bytes,
        passing=passing,
        forward=forward,
        backward=backward,
    )


def _drawn_from_bytes(state: Tensor) -> int:
    """Return the size of a generator's state if numbers were drawn since, else 0."""
    if torch.equal(state, torch.get_rng_state()):
        return 0
    return sum(storage_bytes([state]).values())


def _gradient(output: Tensor, layout: Layout | None) -> Tensor:
    """Return a random gradient of an output; of an expanded layout it has few elements."""
    if layout is None or layout == tuple(output.stride()):
        return torch.randn_like(output)
    extent = 1 + sum((n - 1) * stride for n, stride in zip(output.shape, layout, strict=True))
    elements = torch.randn(extent, dtype=output.dtype, device=output.device)
    return elements.as_strided(output.shape, layout)


def _output_bytes(output: Tensor, own_output_bytes: int) -> int:
    # A view of the input counts in full, as if it were a copy: whether its storage is in memory
    # anyway depends on the schedule, and so does the place of its gradient. A slice of a larger
    # storage keeps all of it alive; an expanded tensor has a gradient larger than its storage.
    elements_bytes = int(output.numel()) * int(output.element_size())
    return max(elements_bytes, own_output_bytes)
