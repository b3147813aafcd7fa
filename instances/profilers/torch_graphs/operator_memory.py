r"""Memory of operations: sizes of their results, and what their kernels allocate beside them.

A trace on fake tensors knows the results. What a kernel allocates for itself and frees again (a
convolution in blocked layout, partial sums of each thread, the steps of a composite function) it
does not know: of a small ConvNeXt it is a third of the peak. `MeasuredMemory` runs each distinct
call once, without timing it, on tensors of its sizes and strides. That takes one run of a step, so
it does not matter where the durations come from: measured or a roofline. Where no real tensor fits
or the device is an assumed one, `TracedMemory` leaves the trace as it is.

A call that crashes its process (`KernelProcess`) is never made here. If it is a part of a call that
autograd makes as a whole, the parts are put together again.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch
from torch import fx

from jettison.instances.core.errors import InputError
from jettison.instances.profilers.device.allocated_size import allocated_bytes
from jettison.instances.profilers.kernels.call_memory import (
    CallFailure,
    CallMemory,
    CallOutcome,
    FailureKind,
    memory_of,
)
from jettison.instances.profilers.kernels.kernel_call import KernelCall, PreparedCall
from jettison.instances.profilers.kernels.kernel_process import (
    KernelProcess,
    KernelProcessError,
    shared_process,
)
from jettison.instances.profilers.profile_warning import ProfileWarning
from jettison.instances.profilers.torch_graphs.operation_reader import (
    TracedOperation,
    mask_place,
)
from jettison.instances.profilers.torch_graphs.traced_step import (
    TracedStep,
)


class OperatorMemory(Protocol):
    """Source of the sizes of operations."""

    def prepare(self) -> None:
        """Be told that a step is about to be traced, of which sizes will be asked."""

    def sized(self, traced: TracedStep) -> TracedStep:
        """Return a trace whose operations have their sizes."""

    def sized_whole(self, operations: Sequence[TracedOperation]) -> tuple[TracedOperation, ...]:
        """Return operations with their sizes, none of which is a part of a node."""

    def rises_bytes(self, operations: Sequence[TracedOperation]) -> list[int]:
        """Return by how much the memory in use rises while each operation runs, or 0."""


class TracedMemory:
    """Sizes as the trace has them: of results, and no memory of kernels."""

    def prepare(self) -> None:
        """Do nothing."""

    def sized(self, traced: TracedStep) -> TracedStep:
        """Return the trace unchanged."""
        return traced

    def sized_whole(self, operations: Sequence[TracedOperation]) -> tuple[TracedOperation, ...]:
        """Return the operations unchanged."""
        return tuple(operations)

    def rises_bytes(self, operations: Sequence[TracedOperation]) -> list[int]:
        """Return zeros: kernels count as allocating nothing."""
        return [0] * len(operations)


class MeasuredMemory:
    """Sizes measured by running each distinct call once, in a process of its own.

    The number of threads is that of this process while it measures, for many kernels allocate
    something for each thread. Sizes on a GPU are those of the blocks that PyTorch's allocator hands
    out.

    An operator that the other process does not know (one that the caller's program registers), or
    that takes a function, runs in this one.

    Parameters
    ----------
    device
        Device to run on.
    process
        The process; by default the one that all measurements of this program share.
    announce
        Called with the name of each operator before it runs.
    """

    def __init__(
        self,
        device: torch.device,
        *,
        process: KernelProcess | None = None,
        announce: Callable[[str], None] = lambda name: None,
    ) -> None:
        self._device = device
        self._process = shared_process() if process is None else process
        self._announce = announce

    def prepare(self) -> None:
        """Start the process, which takes as long as a trace."""
        try:
            self._process.start()
        except KernelProcessError as error:
            raise _no_process(error) from error

    def sized(self, traced: TracedStep) -> TracedStep:
        """Return the trace with measured sizes, and in one piece what crashes in two.

        Raises
        ------
        InputError
            If an operator crashes as the model calls it, or no process can be started.

        Warns
        -----
        ProfileWarning
            If operators cannot run on made-up numbers: their kernels count as allocating nothing.
        """
        # Calls of both parts of a node, which some kernel may not survive.
        outcomes = self._outcomes([*map(_Wanted.of, traced.operations)])
        crashing = {
            item.node
            for item, outcome in zip(traced.operations, outcomes, strict=True)
            if _is_crash(outcome)
        }
        if crashing:
            traced = traced.with_whole(crashing & _halved(traced).keys())
            outcomes = self._outcomes([*map(_Wanted.of, traced.operations)])
        sized = replace(traced, operations=self._all_sized(traced.operations, outcomes))
        sized = replace(sized, joint_bytes=self._joint_bytes(sized))
        if self._device.type == "cuda":
            # Its context takes memory of the GPU, which the step may need.
            self._process.close()
        return sized

    def sized_whole(self, operations: Sequence[TracedOperation]) -> tuple[TracedOperation, ...]:
        """Return operations with measured sizes, none of which is a part of a node.

        Raises
        ------
        InputError, ProfileWarning
            As `sized` does.
        """
        sized = self._all_sized(operations, self._outcomes([*map(_Wanted.of, operations)]))
        if self._device.type == "cuda":
            self._process.close()
        return sized

    def _all_sized(
        self, operations: Sequence[TracedOperation], outcomes: Sequence[CallOutcome | None]
    ) -> tuple[TracedOperation, ...]:
        _expect_no_crash(operations, outcomes)
        return tuple(
            self._sized(item, outcome) for item, outcome in zip(operations, outcomes, strict=True)
        )

    def rises_bytes(self, operations: Sequence[TracedOperation]) -> list[int]:
        """Return by how much the memory in use rises while each operation runs.

        What it returns is a part of it. For calls of an eager step, which are whole.

        Raises
        ------
        InputError
            If an operator crashes, or no process can be started.

        Warns
        -----
        ProfileWarning
            As for `sized`: such operators count as allocating nothing.
        """
        outcomes = self._outcomes([*map(_Wanted.of, operations)])
        _expect_no_crash(operations, outcomes)
        if self._device.type == "cuda":
            self._process.close()
        return [
            outcome.rise_bytes if isinstance(outcome, CallMemory) else 0 for outcome in outcomes
        ]

    def _sized(self, item: TracedOperation, outcome: CallOutcome | None) -> TracedOperation:
        found = outcome.results_bytes if isinstance(outcome, CallMemory) else ()
        # A storage may be larger than the trace says, and is smaller where it is shared.
        sizes = {
            place: allocated_bytes(
                max(
                    int(result.untyped_storage().nbytes()),
                    found[place] if place < len(found) else 0,
                ),
                self._device,
            )
            for place, result in enumerate(item.results)
            if result is not None
        }
        output_bytes = sum(sizes[place] for place in item.stored)
        unread_bytes = sum(sizes.values()) - output_bytes
        rise_bytes = outcome.rise_bytes if isinstance(outcome, CallMemory) else 0
        return replace(
            item,
            output_bytes=output_bytes,
            unread_bytes=0 if item.is_selection else unread_bytes,
            kernel_bytes=max(0, rise_bytes - output_bytes - unread_bytes),
        )

    def _joint_bytes(self, traced: TracedStep) -> dict[fx.Node, int | None]:
        """Return the workspace of each call that computes both parts of a node."""
        halved = _halved(traced)
        calls = [*map(_Wanted.of_both, halved.values())]
        found: dict[fx.Node, int | None] = {}
        for (node, parts), outcome in zip(halved.items(), self._outcomes(calls), strict=True):
            results_bytes = sum(part.output_bytes for part in parts)
            found[node] = (
                outcome.rise_bytes - results_bytes if isinstance(outcome, CallMemory) else None
            )
        return found

    def _outcomes(self, wanted: Sequence[_Wanted | None]) -> list[CallOutcome | None]:
        """Return what each call allocates; None for a selection, which calls nothing."""
        described = [item.call for item in wanted if item is not None and item.call is not None]
        try:
            answers = self._process.memory(
                described, self._device, lambda call: self._announce(call.operator)
            )
        except KernelProcessError as error:
            raise _no_process(error) from error
        known = dict(zip(described, answers, strict=True))
        return [None if item is None else self._outcome(item, known) for item in wanted]

    def _outcome(self, item: _Wanted, known: Mapping[KernelCall, CallOutcome]) -> CallOutcome:
        outcome = None if item.call is None else known[item.call]
        if isinstance(outcome, CallMemory):
            return outcome
        if isinstance(outcome, CallFailure) and outcome.kind is not FailureKind.UNKNOWN:
            return outcome

        def prepare() -> PreparedCall:
            return PreparedCall.filled(item.target, item.arguments, item.options, self._device)

        return memory_of([prepare], self._device)[0]


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Call of an operator that is to be measured, and its description, if it has one."""

    target: Any
    arguments: tuple[Any, ...]
    options: Mapping[str, Any]
    call: KernelCall | None

    @classmethod
    def of(cls, item: TracedOperation) -> _Wanted | None:
        """Return the call of an operation; None for a selection."""
        if item.is_selection:
            return None
        given = (item.target, item.arguments, item.options)
        return cls(*given, KernelCall.of(*given))

    @classmethod
    def of_both(cls, parts: Sequence[TracedOperation]) -> _Wanted | None:
        """Return the call that computes both parts of a node."""
        first, second = parts
        masked = mask_place(first.target, first.node.args)
        arguments = list(first.arguments)
        if masked is not None:
            pairs = zip(first.arguments[masked], second.arguments[masked], strict=True)
            arguments[masked] = [one or other for one, other in pairs]
        given = (first.target, tuple(arguments), first.options)
        return cls(*given, KernelCall.of(*given))


def _halved(traced: TracedStep) -> dict[fx.Node, list[TracedOperation]]:
    """Return the nodes that are two operations, with these."""
    found: dict[fx.Node, list[TracedOperation]] = {}
    for item in traced.operations:
        if not item.is_selection:
            found.setdefault(item.node, []).append(item)
    return {node: parts for node, parts in found.items() if len(parts) == 2}


def _is_crash(outcome: CallOutcome | None) -> bool:
    return isinstance(outcome, CallFailure) and outcome.kind is FailureKind.CRASH


def _crashing(item: TracedOperation, outcome: CallFailure) -> InputError:
    call = KernelCall.of(item.target, item.arguments, item.options)
    layouts = "" if call is None else f" on {call.layouts}"
    return InputError(
        f"the kernel of {item.target} crashes{layouts}: {outcome.message}",
        field=item.name,
        expected="give it another layout, type or size, or leave it out of the model: a step that"
        " calls it would end this program; if the memory of the machine is short, a smaller batch",
    )


def _no_process(error: KernelProcessError) -> InputError:
    return InputError(
        f"no process can be started in which kernels run safely: {error}",
        field="memory",
        expected="run a Python that can start another, or trace without measuring (TracedMemory)",
    )


def _expect_no_crash(
    operations: Sequence[TracedOperation], outcomes: Sequence[CallOutcome | None]
) -> None:
    """Refuse operations that crashed, and warn of those that could not be measured."""
    for item, outcome in zip(operations, outcomes, strict=True):
        if isinstance(outcome, CallFailure) and outcome.kind is FailureKind.CRASH:
            raise _crashing(item, outcome)
    _warn_of_unmeasured(operations, outcomes)


def _warn_of_unmeasured(
    operations: Sequence[TracedOperation], outcomes: Sequence[CallOutcome | None]
) -> None:
    failed = {
        str(item.target): outcome.message
        for item, outcome in zip(operations, outcomes, strict=True)
        if isinstance(outcome, CallFailure)
    }
    if failed:
        reasons = "; ".join(f"{name} ({message})" for name, message in sorted(failed.items()))
        warnings.warn(
            f"{len(failed)} operators do not run on made-up numbers, and count as allocating only"
            f" their results: {reasons}",
            ProfileWarning,
            stacklevel=2,
        )
