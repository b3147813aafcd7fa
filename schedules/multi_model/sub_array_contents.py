"""Contents of memory and host for one sub-array, without times or sizes.

The life of a feature map within an iteration: the forward pass has it from the operator that makes
it to its last forward use; then it is *idle* until its first backward use, in memory, on the host
or nowhere; then the backward pass has it until its last backward use. After that it can be brought
back as a source of recomputations, and has to be dropped before the round ends.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from jettison.instances.multi_model.sub_array import SubArray, Work
from jettison.schedules.core.replay import Rule
from jettison.schedules.multi_model.operation import MultiModelAction

Report = Callable[[Rule, str], None]


class SubArrayContents:
    """Contents of memory and host as the operations on one sub-array change them.

    Parameters
    ----------
    array
        The sub-array.
    broken
        Called with each rule that is broken, and the operator or feature map concerned.
    """

    def __init__(self, array: SubArray, broken: Report) -> None:
        self._array = array
        self._broken = broken
        self._idle: set[int] = set()
        self._hosted: set[int] = set()
        self._forward = _Pass(array.forward, broken)
        self._backward = _Pass(array.backward, broken)
        self._leaving: list[list[int]] = [[] for _ in array.forward]
        self._arriving: list[list[int]] = [[] for _ in array.backward]
        for place, tensor in enumerate(array.tensors):
            self._leaving[tensor.last_forward].append(place)
            self._arriving[tensor.first_backward].append(place)
        self._effects = {
            MultiModelAction.FORWARD: self._run_forward,
            MultiModelAction.BACKWARD: self._run_backward,
            MultiModelAction.RECOMPUTE: self._recompute,
            MultiModelAction.OFFLOAD: self._offload,
            MultiModelAction.PREFETCH: self._prefetch,
            MultiModelAction.DISCARD: self._discard,
        }

    @property
    def idle(self) -> Collection[int]:
        """The feature maps that are idle in memory, or on their way there."""
        return self._idle

    @property
    def has_finished_forward(self) -> bool:
        """Whether the last forward operator has been issued."""
        return self._forward.reached == len(self._array.forward)

    def begin(self) -> None:
        """Begin an iteration, with nothing left of the one before."""
        self._idle.clear()
        self._hosted.clear()
        self._forward.begin()
        self._backward.begin()

    def resume(self, earlier: SubArrayContents) -> None:
        """Take over the contents of another one."""
        self._idle = set(earlier._idle)
        self._hosted = set(earlier._hosted)
        self._forward.reached = earlier._forward.reached

    def apply(self, action: MultiModelAction, position: int) -> Sequence[int]:
        """Issue an operation, and return the feature maps that decide when it can start.

        For a forward operator these are the feature maps that become idle at its end, for a
        backward operator those that were idle until then, for a recomputation the idle sources,
        and for other operations the feature map itself, if it is where it should be.
        """
        return self._effects[action](position)

    def expect_complete_forward(self) -> None:
        """Check that all of the forward pass has been issued."""
        self._forward.expect_complete()

    def expect_complete_backward(self) -> None:
        """Check that all of the backward pass has been issued, and that nothing idle is left."""
        self._backward.expect_complete()
        for place in sorted(self._idle):
            self._broken(Rule.NOT_PERIODIC, f"{self._array.tensors[place].name} is left in memory")

    def _run_forward(self, position: int) -> Sequence[int]:
        self._forward.issue(position)
        self._idle.update(self._leaving[position])
        return self._leaving[position]

    def _run_backward(self, position: int) -> Sequence[int]:
        if not self.has_finished_forward:
            self._broken(Rule.OUT_OF_ORDER, "the forward pass is not over")
        self._backward.issue(position)
        found = []
        for place in self._arriving[position]:
            if place in self._idle:
                self._idle.remove(place)
                found.append(place)
            else:
                self._broken(Rule.INPUT_MISSING, self._array.tensors[place].name)
        return found

    def _recompute(self, place: int) -> Sequence[int]:
        tensor = self._array.tensors[place]
        if self._forward.reached <= tensor.last_forward:
            self._broken(Rule.OUT_OF_ORDER, f"{tensor.name} is not idle yet")
        if place in self._idle or self._is_in_backward_use(place):
            self._broken(Rule.IN_MEMORY_ALREADY, tensor.name)
        for source in tensor.sources:
            if source not in self._idle and not self._is_in_backward_use(source):
                self._broken(Rule.INPUT_MISSING, self._array.tensors[source].name)
        self._idle.add(place)
        return [source for source in tensor.sources if source in self._idle]

    def _offload(self, place: int) -> Sequence[int]:
        self._hosted.add(place)
        return self._leave(place)

    def _prefetch(self, place: int) -> Sequence[int]:
        name = self._array.tensors[place].name
        if place not in self._hosted:
            self._broken(Rule.NO_COPY, name)
        if place in self._idle or self._is_in_backward_use(place):
            self._broken(Rule.IN_MEMORY_ALREADY, name)
        self._idle.add(place)
        return [place] if place in self._hosted else []

    def _discard(self, place: int) -> Sequence[int]:
        return self._leave(place)

    def _leave(self, place: int) -> Sequence[int]:
        if place in self._idle:
            self._idle.remove(place)
            return [place]
        self._broken(Rule.NOT_IN_MEMORY, self._array.tensors[place].name)
        return []

    def _is_in_backward_use(self, place: int) -> bool:
        tensor = self._array.tensors[place]
        return tensor.first_backward < self._backward.reached <= tensor.last_backward


class _Pass:
    """Record of the issued operators of one pass, which come in order and once each."""

    def __init__(self, works: Sequence[Work], broken: Report) -> None:
        self._works = works
        self._broken = broken
        self._issued: set[int] = set()
        # The operators before this one have been issued, or left out.
        self.reached = 0

    def begin(self) -> None:
        self._issued.clear()
        self.reached = 0

    def issue(self, position: int) -> None:
        if position in self._issued:
            self._broken(Rule.COMPUTED_TWICE, self._works[position].name)
        elif position != self.reached:
            expected = "nothing"
            if self.reached < len(self._works):
                expected = self._works[self.reached].name
            self._broken(Rule.OUT_OF_ORDER, f"expected {expected}")
        self._issued.add(position)
        self.reached = max(self.reached, position + 1)

    def expect_complete(self) -> None:
        for position, work in enumerate(self._works):
            if position not in self._issued:
                self._broken(Rule.UNFINISHED, f"{work.name} is missing")
