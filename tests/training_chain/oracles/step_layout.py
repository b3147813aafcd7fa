r"""Layout of a step: what every operation needs, and what leaves and comes back between them.

Operations have positions :math:`0, \dots, n - 1`; position :math:`p + n` is that of the next step.
A tensor has uses at positions, and *absences*: gaps between two uses in which it is on the host. It
is in memory from the *trigger* of its prefetch, which is the position of the next use or some
operations earlier, as far as all operations between fit beside it. What leaves in the background is
not counted here: an operation waits for it (`step_timing`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from jettison.instances.training_chain.problem import TrainingChain
from jettison.schedules.training_chain.event import StageTensor, TrainingEventKind
from jettison.solvers.training_chain.stage_choices import StageChoice, UpdatePlace
from jettison.solvers.training_chain.step_order import StepOrder
from tests.drawing.overheads import saving_overhead

_BACKWARD, _UPDATE = TrainingEventKind.BACKWARD, TrainingEventKind.UPDATE
_W, _S, _G = StageTensor.WEIGHTS, StageTensor.STATES, StageTensor.GRADIENT
_SAVED, _OUTPUT = StageTensor.SAVED, StageTensor.OUTPUT


@dataclass(slots=True)
class Held:
    """Tensor of a step: one production of an activation, or weights, states or a gradient.

    Attributes
    ----------
    name, stage, size_bytes
        The tensor.
    uses
        Positions, ascending; the first is that of the operation that makes it, if one does.
    ends_by_itself
        Whether the last use frees it.
    """

    name: StageTensor
    stage: int
    size_bytes: int
    uses: list[int]
    ends_by_itself: bool = False


@dataclass(slots=True)
class Fetch:
    """Prefetch of a tensor.

    Attributes
    ----------
    held
        Number of the tensor.
    trigger, need
        The first position at which it may be on its way, and that at which it is used; `need` is in
        this step, `trigger` may be in the one before.
    """

    held: int
    trigger: int
    need: int


@dataclass(slots=True)
class Placed:
    """Operation with what it takes and leaves.

    Attributes
    ----------
    kind, stage, duration_ns
        The operation.
    takes_bytes, leaves_bytes
        Memory that it takes at its start beside what is there, and how much of that is in use by
        its end; frees of whole tensors are not in it.
    fetches
        Prefetches that have to be over.
    waits
        Tensors whose copy on the host has to be complete, or whose update there over.
    sends
        Tensors that start on their way to the host at its end.
    frees
        Tensors that leave memory at its end, or when their copy on the host is complete.
    """

    kind: TrainingEventKind
    stage: int
    duration_ns: int
    takes_bytes: int = 0
    leaves_bytes: int = 0
    fetches: list[int] = field(default_factory=list)
    waits: list[int] = field(default_factory=list)
    sends: list[int] = field(default_factory=list)
    frees: list[int] = field(default_factory=list)


class StepLayout:
    r"""Layout of a step.

    Parameters
    ----------
    problem
        The problem.
    order
        The operations, and what is sent.
    choices
        What becomes of weights and states, by stage; other choices are in `order` already.
    weights_ahead, activations_ahead
        Most positions from a trigger to its use.

    Attributes
    ----------
    operations, helds, fetches
        The parts; fetches by ascending trigger.
    used_bytes
        Memory in use before the first operation of a step.
    needs_bytes
        Memory at each operation, beside what leaves in the background.
    by_host, stages_by_host
        Gradients that the host's update of their stage waits for, and these stages.
    """

    def __init__(
        self,
        problem: TrainingChain,
        order: StepOrder,
        choices: tuple[StageChoice, ...],
        weights_ahead: int,
        activations_ahead: int,
    ) -> None:
        self._problem = problem
        self._chain = problem.instance
        self._choices = choices
        self.operations: list[Placed] = []
        self.helds: list[Held] = []
        self.fetches: list[Fetch] = []
        self.used_bytes = 0
        self.by_host: set[int] = set()
        self.stages_by_host = {
            number
            for number, choice in enumerate(choices, start=1)
            if choice.update is UpdatePlace.HOST
        }
        self._weights: dict[int, int] = {}
        # Intervals in which a tensor is in memory: from, to, size; the end is in this step.
        self._intervals: list[tuple[int, int, int]] = []
        self._constant_bytes = self._chain.input_bytes
        self._place(order)
        self._let_leave(order.sent)
        self._add_gradients_of_outputs()
        self.needs_bytes = [self._constant_bytes] * len(self.operations)
        for position, operation in enumerate(self.operations):
            self.needs_bytes[position] += operation.takes_bytes
        for start, end, size_bytes in self._intervals:
            self._add_need(start, end, size_bytes)
        self._fetch_ahead(weights_ahead, activations_ahead)

    @property
    def fits(self) -> bool:
        """Whether every operation fits when all that leaves has left."""
        return max(self.needs_bytes) <= self._problem.memory_bytes

    def _place(self, order: StepOrder) -> None:
        """Place operations, and find the uses of all tensors."""
        chain = self._chain
        latest: dict[int, int] = {}
        latest_saved: dict[int, int] = {}
        uses_of: dict[tuple[StageTensor, int], list[int]] = {}
        for position, (kind, number) in enumerate(order.operations):
            stage = chain.stage(number)
            if kind is _UPDATE:
                self.operations.append(Placed(kind, number, stage.update_ns))
                for name in (_W, _S, _G):
                    uses_of.setdefault((name, number), []).append(position)
                continue
            uses_of.setdefault((_W, number), []).append(position)
            if number > 1:
                self.helds[latest[number - 1]].uses.append(position)
            if kind is _BACKWARD:
                self._place_backward(position, number, latest, latest_saved)
                uses_of.setdefault((_G, number), []).append(position)
                continue
            is_all = kind is TrainingEventKind.FORWARD_ALL
            size_bytes = stage.saved_bytes if is_all else stage.output_bytes
            extra_bytes = saving_overhead(stage) if is_all else stage.forward_overhead_bytes
            self.operations.append(
                Placed(
                    kind,
                    number,
                    stage.forward_ns,
                    size_bytes + extra_bytes,
                    size_bytes,
                )
            )
            latest[number] = len(self.helds)
            if is_all:
                latest_saved[number] = len(self.helds)
            name = _SAVED if is_all else _OUTPUT
            self.helds.append(Held(name, number, size_bytes, [position]))
        for (name, number), uses in sorted(uses_of.items(), key=lambda item: item[0][1]):
            stage = chain.stage(number)
            sizes = {
                _W: stage.weight_bytes,
                _S: stage.optimizer_state_bytes,
                _G: stage.gradient_of_weights_bytes,
            }
            if stage.is_trained:
                self._weights.setdefault(number, len(self.helds))
                self.helds.append(Held(name, number, sizes[name], uses, name is _G))

    def _place_backward(
        self, position: int, number: int, latest: dict[int, int], latest_saved: dict[int, int]
    ) -> None:
        chain, stage = self._chain, self._chain.stage(number)
        left = chain.gradient_bytes(number - 1) if number > 1 else 0
        made = chain.backward_output_bytes(number)
        working = made + max(stage.backward_overhead_bytes, left - made)
        gradient = stage.gradient_of_weights_bytes
        kept = gradient if stage.is_trained else 0
        self.operations.append(
            Placed(_BACKWARD, number, stage.backward_ns, working + gradient, left + kept)
        )
        saved = self.helds[latest_saved[number]]
        saved.uses.append(position)
        saved.ends_by_itself = True
        if number > 1 and self.helds[latest[number - 1]].name is _OUTPUT:
            self.helds[latest[number - 1]].ends_by_itself = True

    def _add_gradients_of_outputs(self) -> None:
        """Add the gradients of outputs between two backward operations."""
        backward = {
            placed.stage: position
            for position, placed in enumerate(self.operations)
            if placed.kind is _BACKWARD
        }
        for number in range(1, len(self._chain)):
            size_bytes = self._chain.gradient_bytes(number)
            self.operations[backward[number]].leaves_bytes -= size_bytes
            if size_bytes:
                self._intervals.append((backward[number + 1] + 1, backward[number], size_bytes))

    def _let_leave(self, sent: frozenset[tuple[StageTensor, int]]) -> None:
        for number, held in enumerate(self.helds):
            if held.name.is_activation:
                self._let_activation_leave(number, held, (held.name, held.stage) in sent)
            elif held.name is _G:
                self._let_gradient_leave(number, held)
            elif held.name is _W:
                self._let_weights_leave(number, held)
            else:
                self._let_states_leave(number, held)

    def _let_activation_leave(self, number: int, held: Held, is_sent: bool) -> None:
        uses = held.uses
        gaps = list(pairwise(uses))
        gap = max(gaps, key=lambda item: item[1] - item[0], default=(0, 0))
        if is_sent and held.size_bytes and gap[1] - gap[0] > 1:
            self.operations[uses[0]].sends.append(number)
            self.operations[gap[0]].frees.append(number)
            # The operation that makes it takes its memory by itself.
            self._intervals.append((uses[0] + 1, gap[0], held.size_bytes))
            self._await(number, gap[1], uses[-1])
        else:
            self._intervals.append((uses[0] + 1, uses[-1], held.size_bytes))
        self.operations[uses[-1]].frees.append(number)

    def _let_gradient_leave(self, number: int, held: Held) -> None:
        count = len(self.operations)
        backward = next(place for place in held.uses if self.operations[place].kind is _BACKWARD)
        if self._choices[held.stage - 1].update is UpdatePlace.HOST:
            self.operations[backward].sends.append(number)
            self.by_host.add(number)
            return
        update = next(place for place in held.uses if self.operations[place].kind is _UPDATE)
        self.operations[update].frees.append(number)
        start = backward + 1
        if update < backward:
            start -= count
            self.used_bytes += held.size_bytes
        self._intervals.append((start, update, held.size_bytes))

    def _let_states_leave(self, number: int, held: Held) -> None:
        (update,) = held.uses
        count = len(self.operations)
        if not self._choices[held.stage - 1].states_away or count < 2 or not held.size_bytes:
            self._constant_bytes += held.size_bytes
            return
        self.operations[update].waits.append(number)
        self.operations[update].sends.append(number)
        self.operations[update].frees.append(number)
        self._await(number, update, update)

    def _let_weights_leave(self, number: int, held: Held) -> None:
        choice = self._choices[held.stage - 1]
        count = len(self.operations)
        is_host = choice.update is UpdatePlace.HOST
        updates = [place for place in held.uses if self.operations[place].kind is _UPDATE]
        last = {_BACKWARD, _UPDATE} if choice.update is UpdatePlace.AT_ONCE else {_BACKWARD}
        gaps = []
        for place, after in zip(held.uses, [*held.uses[1:], held.uses[0] + count], strict=True):
            is_after = self.operations[place].kind in last
            leaves = choice.away_after if is_after else choice.away_between
            is_empty = not held.size_bytes or after - place < 2
            if (is_host and is_after) or (leaves and not is_empty):
                gaps.append((place, after))
        if is_host:
            # The first use in a step waits for the update on the host, which the prefetch does
            # where there is anything to bring.
            self.operations[held.uses[0]].waits.append(number)
        for update in updates:
            self.operations[update].waits.append(number)
            if gaps:
                self.operations[update].sends.append(number)
        if not gaps:
            self._constant_bytes += held.size_bytes
            return
        for place, after in gaps:
            self.operations[place].frees.append(number)
            starts = [start for start, _ in gaps]
            end = min(start for start in (*starts, *(s + count for s in starts)) if start >= after)
            shift = count if after >= count else 0
            self._await(number, after - shift, end - shift)

    def _await(self, number: int, need: int, end: int) -> None:
        """Bring a tensor for a use, from which it stays to the end of another one."""
        self.fetches.append(Fetch(number, need, need))
        self._intervals.append((need, end, self.helds[number].size_bytes))

    def _add_need(self, start: int, end: int, size_bytes: int) -> None:
        count = len(self.needs_bytes)
        for position in range(start, end + 1):
            self.needs_bytes[position % count] += size_bytes

    def _fetch_ahead(self, weights_ahead: int, activations_ahead: int) -> None:
        """Move triggers ahead, in the order of the uses, and find what is there at first."""
        limit_bytes, count = self._problem.memory_bytes, len(self.operations)
        needs_bytes = self.needs_bytes
        self.used_bytes += self._constant_bytes
        for start, end, size_bytes in self._intervals:
            if start < count <= end:
                self.used_bytes += size_bytes
        self.fetches.sort(key=lambda fetch: fetch.need)
        for fetch in self.fetches:
            held = self.helds[fetch.held]
            ahead = activations_ahead if held.name.is_activation else weights_ahead
            gone = self._gone_before(fetch)
            while fetch.trigger > max(gone + 1, fetch.need - ahead):
                position = (fetch.trigger - 1) % count
                if needs_bytes[position] + held.size_bytes > limit_bytes:
                    break
                needs_bytes[position] += held.size_bytes
                fetch.trigger -= 1
            if fetch.trigger < 0:
                self.used_bytes += held.size_bytes
        self.fetches.sort(key=lambda fetch: (fetch.trigger, fetch.need))
        for place, fetch in enumerate(self.fetches):
            self.operations[fetch.need].fetches.append(place)

    def _gone_before(self, fetch: Fetch) -> int:
        """Return the position after which the tensor is gone before it is fetched."""
        count = len(self.operations)
        places = [
            place for place in self.helds[fetch.held].uses
            if fetch.held in self.operations[place].frees
        ]  # fmt: skip
        before = [place for place in places if place < fetch.need]
        return max(before) if before else max(places) - count
