"""Uses of a chain's tensors by a sequence of computations, and the memory between them.

A *gap* lies between two operations that use a tensor with no use of it between them. In a gap the
tensor need not be in memory, if a copy of it comes back in time: what the operations read and write
is the same with it and without it. The *need* of an operation is all that is stored when it starts
and the most that it adds to that.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass

from jettison.instances.core.errors import InputError
from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.core.replay import Rule
from jettison.schedules.remat_chain.contents import ChainContents, Effect, Tensor, TensorKind
from jettison.schedules.remat_chain.schedule import ChainOperationKind, ChainSchedule

_INPUT = Tensor(TensorKind.PLAIN, 0)


@dataclass(frozen=True, slots=True)
class Gap:
    """Interval between two uses of a tensor, from operation to operation, numbered from 0.

    Attributes
    ----------
    tensor
        The tensor.
    start
        The last operation before the gap that uses or makes it; -1 for the input of the chain.
    end
        The operation that uses it next.
    """

    tensor: Tensor
    start: int
    end: int


class TensorLifetimes:
    """Effects, needs and gaps of a sequence of computations in a memory without limit.

    Parameters
    ----------
    chain
        The instance.
    computations
        A sequence in which every operation finds what it reads.

    Attributes
    ----------
    chain, computations
        What was given.
    effects
        What each operation does.
    needs_bytes
        The need of each operation.
    turn
        The first backward operation: where POFO's second phase starts.
    gaps
        Every gap with an operation in it, by ascending start. Gradients have none: they stay.

    Raises
    ------
    InputError
        If an operation does not find what it reads.

    Notes
    -----
    Time :math:`O(n N)` for n operations on N stages.
    """

    def __init__(self, chain: Chain, computations: ChainSchedule) -> None:
        self.chain = chain
        self.computations = computations
        self.effects: list[Effect] = []
        self.needs_bytes: list[int] = []
        self.turn = len(computations.operations)
        self._uses: dict[Tensor, list[int]] = {_INPUT: [-1]}
        self._births: dict[Tensor, list[int]] = {_INPUT: [-1]}
        self._there_at_turn: frozenset[Tensor] = frozenset()
        gaps: list[Gap] = []
        contents = ChainContents(chain, _refuse)
        stored_bytes = chain.input_bytes
        for position, operation in enumerate(computations.operations):
            before = frozenset(contents.tensors)
            effect = operation.apply_to(contents)
            used = {*effect.reads, *effect.drops}
            saved = Tensor(TensorKind.SAVED, operation.stage)
            if operation.kind is not ChainOperationKind.BACKWARD:
                # Whether a forward leaves its output depends on whether ā is there.
                used |= {saved} & before
            elif self.turn > position:
                self.turn = position
                self._there_at_turn = before
            for tensor in used:
                start = self._uses.get(tensor, [position])[-1]
                if start + 1 < position and tensor.kind is not TensorKind.GRADIENT:
                    gaps.append(Gap(tensor, start, position))
            for tensor in used.union(effect.adds):
                self._uses.setdefault(tensor, []).append(position)
            for tensor in effect.adds:
                self._births.setdefault(tensor, []).append(position)
            change_bytes = effect.change_bytes(chain)
            self.effects.append(effect)
            self.needs_bytes.append(stored_bytes + max(effect.extra_bytes, change_bytes))
            stored_bytes += change_bytes
        gaps.sort(key=lambda gap: (gap.start, gap.end, gap.tensor.stage, gap.tensor.kind))
        self.gaps = tuple(gaps)

    def maker(self, gap: Gap) -> int:
        """Return the operation that made the tensor of a gap; -1 for the input of the chain."""
        births = self._births[gap.tensor]
        return births[bisect_right(births, gap.start) - 1]

    def gap_at_turn(self, tensor: Tensor) -> Gap:
        """Return the gap of a tensor between its uses before and after the turn.

        It contains no operation where both uses are next to the turn.

        Raises
        ------
        InputError
            If the tensor is not in memory at the turn, or is not used after it.
        """
        uses = self._uses.get(tensor, [])
        following = bisect_left(uses, self.turn)
        if tensor not in self._there_at_turn or following == len(uses):
            raise InputError(
                f"{tensor} is not in memory at the first backward, or not used after it",
                field="offloaded",
                expected="offload what is kept for the backward operations",
            )
        return Gap(tensor, uses[following - 1], uses[following])


def _refuse(rule: Rule, tensor: str) -> None:
    raise InputError(f"{rule}: {tensor}", expected="give computations that find what they read")
