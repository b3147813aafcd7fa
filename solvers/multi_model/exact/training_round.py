"""Round of a unit with all of its feature maps in one list, as input of the exact search."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.instances.multi_model.sub_array import SubArray, Work
from jettison.instances.multi_model.sub_array_key import Key


@dataclass(frozen=True, slots=True)
class RoundTensor:
    """Feature map in a round; sets of feature maps are bit masks over their numbers.

    Attributes
    ----------
    array, place
        Its sub-array in the unit, and its position there.
    size_bytes, swap_ns, recompute_ns, recompute_bytes
        As in `IdleTensor`.
    idle_from
        Number of forward operators of this round after which it is idle; 0 if it was made in the
        round before.
    first_backward, last_backward
        Positions in the backward pass; None if that runs in the next round.
    sources
        Which feature maps it is recomputed from.
    """

    array: int
    place: int
    size_bytes: int
    swap_ns: int
    recompute_ns: int
    recompute_bytes: int
    idle_from: int
    first_backward: int | None
    last_backward: int | None
    sources: int


@dataclass(frozen=True)
class TrainingRound:
    """Two passes of a round, and all feature maps that are live in it.

    Attributes
    ----------
    forward_array, backward_array
        Which sub-array runs forward and which backward; the same for a sub-array alone.
    forward, backward
        The passes.
    tensors
        Those of the sub-array that runs backward first, then those of the other one.
    static_bytes, carried_bytes
        Static memory of the unit, and what the backward pass finds of its forward pass.
    memory_bytes
        The limit.
    """

    forward_array: int
    backward_array: int
    forward: tuple[Work, ...]
    backward: tuple[Work, ...]
    tensors: tuple[RoundTensor, ...]
    static_bytes: int
    carried_bytes: int
    memory_bytes: int

    @property
    def is_alone(self) -> bool:
        """Whether the backward pass follows the forward pass of the same sub-array."""
        return self.forward_array == self.backward_array

    @cached_property
    def ending(self) -> tuple[int, ...]:
        """The feature maps that become idle at the end of each forward operator."""
        masks = [0] * len(self.forward)
        for number, tensor in enumerate(self.tensors):
            if tensor.idle_from:
                masks[tensor.idle_from - 1] |= 1 << number
        return tuple(masks)

    @cached_property
    def arriving(self) -> tuple[int, ...]:
        """The feature maps that each backward operator is the first to use."""
        masks = [0] * len(self.backward)
        for number, tensor in enumerate(self.tensors):
            if tensor.first_backward is not None:
                masks[tensor.first_backward] |= 1 << number
        return tuple(masks)

    @cached_property
    def in_use(self) -> tuple[int, ...]:
        """The feature maps in backward use, by the number of backward operators issued."""
        return tuple(
            sum(
                1 << number
                for number, tensor in enumerate(self.tensors)
                if tensor.first_backward is not None
                and tensor.last_backward is not None
                and tensor.first_backward < issued <= tensor.last_backward
            )
            for issued in range(len(self.backward) + 1)
        )

    @cached_property
    def forward_left_ns(self) -> tuple[int, ...]:
        """Time of the forward operators from each one on, and 0."""
        return _suffix_sums(self.forward)

    @cached_property
    def backward_left_ns(self) -> tuple[int, ...]:
        """Time of the backward operators from each one on, and 0."""
        return _suffix_sums(self.backward)

    def size_bytes(self, mask: int) -> int:
        """Return the memory of a set of feature maps."""
        return sum(
            tensor.size_bytes for number, tensor in enumerate(self.tensors) if mask >> number & 1
        )


def rounds_of(problem: MultiModelTraining, sizes: tuple[Key, ...]) -> tuple[TrainingRound, ...]:
    """Return the rounds of a unit, in their order."""
    arrays = [problem.sub_array(size) for size in sizes]
    static_bytes = sum(array.static_bytes for array in arrays)
    rounds = []
    for backward in range(len(arrays)):
        forward = len(arrays) - 1 - backward
        tensors = _tensors(problem, arrays[backward], backward, 0, forward == backward, True)
        if forward != backward:
            first = len(tensors)
            tensors += _tensors(problem, arrays[forward], forward, first, True, False)
        rounds.append(
            TrainingRound(
                forward_array=forward,
                backward_array=backward,
                forward=arrays[forward].forward,
                backward=arrays[backward].backward,
                tensors=tuple(tensors),
                static_bytes=static_bytes,
                carried_bytes=0 if forward == backward else arrays[backward].carried_bytes,
                memory_bytes=problem.memory_bytes,
            )
        )
    return tuple(rounds)


def _tensors(
    problem: MultiModelTraining,
    array: SubArray,
    number: int,
    first: int,
    runs_forward: bool,
    runs_backward: bool,
) -> list[RoundTensor]:
    return [
        RoundTensor(
            array=number,
            place=place,
            size_bytes=tensor.size_bytes,
            swap_ns=swap_ns,
            recompute_ns=tensor.recompute_ns,
            recompute_bytes=tensor.recompute_bytes,
            idle_from=tensor.last_forward + 1 if runs_forward else 0,
            first_backward=tensor.first_backward if runs_backward else None,
            last_backward=tensor.last_backward if runs_backward else None,
            sources=sum(1 << (first + source) for source in tensor.sources),
        )
        for place, (tensor, swap_ns) in enumerate(
            zip(array.tensors, problem.swap_ns(array), strict=True)
        )
    ]


def _suffix_sums(works: tuple[Work, ...]) -> tuple[int, ...]:
    return tuple(reversed(list(accumulate((work.run_ns for work in reversed(works)), initial=0))))
