r"""Successors of a label in the exact search, and lower bounds on the end of the round.

Operations that free memory, offloads and discards, are issued as part of the step that first allows
them. No optimum is lost:

1. *They come as early as possible.* Moved forward in the list, a discard or an offload starts no
   later, and so nothing after it does. An offload of t has to follow the operation that brings t or
   the last recomputation that reads it before, and the offload that is before it on its queue;
   a discard only the former two. So behind each computation come discards of what it leaves idle
   or reads, then offloads, the first one of these feature maps, the others of any idle ones.
2. *What has a copy on the host is not offloaded again.* A discard in its place returns the memory
   earlier and leaves the link free, and the earlier copy is complete earlier.
3. *What has been prefetched is not dropped before something reads it*, nor is what was recomputed
   discarded: without both operations there is more memory, and the copy stays on the host.

A lower bound on the end: the operators still to run, one after another; and of feature maps that
are absent before their first use, those without a copy are recomputed, of the others each is
prefetched or recomputed. Prefetches due before backward operator j follow each other, and then the
backward pass from j on. With what share of each is recomputed left free, the best shares are found
by taking the least recomputation per copy first; a sum of both is a bound of the maximum.
"""

from __future__ import annotations

from collections.abc import Iterator

from jettison.schedules.multi_model.operation import MultiModelAction, MultiModelOperation
from jettison.solvers.multi_model.exact.round_label import RoundLabel
from jettison.solvers.multi_model.exact.training_round import TrainingRound


class RoundMoves:
    """Generator of the labels of one round.

    Parameters
    ----------
    problem
        The round.
    """

    def __init__(self, problem: TrainingRound) -> None:
        self._round = problem
        self._all = (1 << len(problem.tensors)) - 1
        tensors = problem.tensors
        self._by_ratio = sorted(
            range(len(tensors)),
            key=lambda n: tensors[n].recompute_ns / max(tensors[n].swap_ns, 1),
        )
        # Feature maps that the next round may find in memory.
        self._of_next_round = sum(
            1 << number for number, tensor in enumerate(tensors) if tensor.first_backward is None
        )
        # By operators issued, the feature maps that are still to be in memory before some backward
        # operator: without those that have been used or are not idle yet.
        self._needed = [
            sum(problem.arriving[position] for position in range(issued, len(problem.backward)))
            for issued in range(len(problem.backward) + 1)
        ]
        self._made = [0]
        for mask in problem.ending:
            self._made.append(self._made[-1] | mask)
        self._from_before = self._all & ~self._made[-1]

    def first(self, idle: int, hosted: int) -> Iterator[RoundLabel]:
        """Yield the labels at the start of a round, after discards and offloads."""
        label = RoundLabel.at_the_start(self._round, idle, hosted)
        if label.stored_bytes <= self._round.memory_bytes:
            yield from self._with_departures(label, idle)

    def least_ns(self, idle: int, hosted: int) -> int:
        """Return a lower bound on the round from a state."""
        return self._estimated(RoundLabel.at_the_start(self._round, idle, hosted)).least_ns

    def is_complete(self, label: RoundLabel) -> bool:
        """Tell whether a label may be the end of the round."""
        return (
            label.forwards == len(self._round.forward)
            and label.backwards == len(self._round.backward)
            and not label.idle & ~self._of_next_round
        )

    def left_for_the_next(self, label: RoundLabel) -> tuple[int, int]:
        """Return what the next round finds in memory and on the host, in its own numbers."""
        if self._round.is_alone:
            return 0, 0
        first = self._from_before.bit_length()
        return label.idle >> first, label.hosted >> first

    def after(self, label: RoundLabel) -> Iterator[RoundLabel]:
        """Yield the labels that follow by one operation."""
        problem = self._round
        if label.forwards < len(problem.forward):
            yield from self._forward(label)
        is_over = label.forwards == len(problem.forward)
        if label.backwards < len(problem.backward) and (is_over or not problem.is_alone):
            yield from self._backward(label)
        in_use = problem.in_use[label.backwards]
        absent = ~label.idle & ~in_use & (self._from_before | self._made[label.forwards])
        there = label.idle | in_use
        for number, tensor in enumerate(problem.tensors):
            if absent >> number & 1:
                if label.hosted >> number & 1:
                    yield from self._prefetch(label, number)
                if not tensor.sources & ~there:
                    yield from self._recompute(label, number)

    def _forward(self, label: RoundLabel) -> Iterator[RoundLabel]:
        position = label.forwards
        work, mask = self._round.forward[position], self._round.ending[position]
        after = label.successor(
            MultiModelOperation(MultiModelAction.FORWARD, self._round.forward_array, position)
        )
        earliest_ns = max(label.started_ns, label.computed_ns)
        if not after.take(
            earliest_ns, work.peak_bytes - label.forward_bytes, self._round.memory_bytes
        ):
            return
        end_ns = after.started_ns + work.run_ns
        after.forwards, after.computed_ns, after.idle = position + 1, end_ns, label.idle | mask
        after.forward_bytes = work.active_bytes
        if self._round.is_alone and after.forwards == len(self._round.forward):
            after.forward_bytes, after.backward_bytes = 0, work.active_bytes
        after.give_back(end_ns, work.peak_bytes - work.active_bytes - self._round.size_bytes(mask))
        for number in members(mask):
            after.ready_ns[number] = after.busy_ns[number] = end_ns
        after.raise_times()
        yield from self._with_departures(after, mask)

    def _backward(self, label: RoundLabel) -> Iterator[RoundLabel]:
        position = label.backwards
        work, mask = self._round.backward[position], self._round.arriving[position]
        if mask & ~label.idle:
            return
        after = label.successor(
            MultiModelOperation(MultiModelAction.BACKWARD, self._round.backward_array, position)
        )
        earliest_ns = max(
            label.started_ns,
            label.computed_ns,
            *(label.ready_ns[number] for number in members(mask)),
        )
        taken_bytes = work.peak_bytes - label.backward_bytes - self._round.size_bytes(mask)
        if not after.take(earliest_ns, taken_bytes, self._round.memory_bytes):
            return
        end_ns = after.started_ns + work.run_ns
        after.backwards, after.computed_ns, after.idle = position + 1, end_ns, label.idle & ~mask
        after.backward_bytes = work.active_bytes
        after.give_back(end_ns, work.peak_bytes - work.active_bytes)
        after.raise_times()
        yield self._estimated(after)

    def _recompute(self, label: RoundLabel, number: int) -> Iterator[RoundLabel]:
        tensor = self._round.tensors[number]
        after = label.successor(
            MultiModelOperation(MultiModelAction.RECOMPUTE, tensor.array, tensor.place)
        )
        read = tensor.sources & label.idle
        earliest_ns = max(
            label.started_ns,
            label.computed_ns,
            *(label.ready_ns[source] for source in members(read)),
        )
        taken_bytes = tensor.size_bytes + tensor.recompute_bytes
        if not after.take(earliest_ns, taken_bytes, self._round.memory_bytes):
            return
        end_ns = after.started_ns + tensor.recompute_ns
        after.computed_ns, after.idle = end_ns, label.idle | 1 << number
        after.give_back(end_ns, tensor.recompute_bytes)
        for source in members(read):
            after.busy_ns[source] = max(after.busy_ns[source], end_ns)
        after.ready_ns[number] = after.busy_ns[number] = end_ns
        after.raise_times()
        yield from self._with_departures(after, read, 1 << number & ~label.hosted)

    def _prefetch(self, label: RoundLabel, number: int) -> Iterator[RoundLabel]:
        tensor = self._round.tensors[number]
        after = label.successor(
            MultiModelOperation(MultiModelAction.PREFETCH, tensor.array, tensor.place)
        )
        earliest_ns = max(label.started_ns, label.prefetched_ns, label.hosted_ns[number])
        if not after.take(earliest_ns, tensor.size_bytes, self._round.memory_bytes):
            return
        end_ns = after.started_ns + tensor.swap_ns
        after.prefetched_ns, after.idle = end_ns, label.idle | 1 << number
        after.ready_ns[number] = after.busy_ns[number] = end_ns
        after.raise_times()
        yield self._estimated(after)

    def _with_departures(
        self, label: RoundLabel, touched: int, brought: int = 0
    ) -> Iterator[RoundLabel]:
        """Yield a label, and those that follow from it by discards and offloads."""
        for discarded in _subsets(touched):
            after = label
            if discarded:
                after = self._discard(label, discarded)
            yield self._estimated(after)
            yield from self._with_offloads(after, (touched & ~discarded | brought))

    def _discard(self, label: RoundLabel, mask: int) -> RoundLabel:
        tensors = [self._round.tensors[number] for number in members(mask)]
        after = label.successor(
            MultiModelOperation(MultiModelAction.DISCARD, tensors[0].array, tensors[0].place)
        )
        after.before = label.before
        after.operations = (
            *label.operations,
            *(
                MultiModelOperation(MultiModelAction.DISCARD, tensor.array, tensor.place)
                for tensor in tensors
            ),
        )
        after.idle = label.idle & ~mask
        for number in members(mask):
            after.give_back(label.busy_ns[number], self._round.tensors[number].size_bytes)
        after.raise_times()
        return after

    def _with_offloads(self, label: RoundLabel, first: int) -> Iterator[RoundLabel]:
        for number in members(first & ~label.hosted):
            tensor = self._round.tensors[number]
            after = label.successor(
                MultiModelOperation(MultiModelAction.OFFLOAD, tensor.array, tensor.place)
            )
            after.before = label.before
            after.operations = (*label.operations, *after.operations)
            start_ns = max(label.started_ns, label.offloaded_ns, label.ready_ns[number])
            end_ns = start_ns + tensor.swap_ns
            after.offloaded_ns = after.hosted_ns[number] = end_ns
            after.idle, after.hosted = label.idle & ~(1 << number), label.hosted | 1 << number
            after.give_back(max(end_ns, label.busy_ns[number]), tensor.size_bytes)
            after.raise_times()
            yield self._estimated(after)
            yield from self._with_offloads(after, after.idle)

    def _estimated(self, label: RoundLabel) -> RoundLabel:
        """Return the label with its lower bound on the end of the round set."""
        problem = self._round
        forward_ns = problem.forward_left_ns[label.forwards]
        backward_ns = problem.backward_left_ns[label.backwards]
        computed_ns = max(label.computed_ns, label.started_ns) + forward_ns + backward_ns
        absent = self._needed[label.backwards] & ~label.idle
        absent &= self._from_before | self._made[label.forwards]
        for number in members(absent & ~label.hosted):
            computed_ns += problem.tensors[number].recompute_ns
        least_ns = max(computed_ns, label.offloaded_ns, label.prefetched_ns)
        copied = absent & label.hosted
        if copied:
            linked_ns = max(
                label.prefetched_ns,
                min(label.hosted_ns[number] for number in members(copied)),
            )
            for last in members(copied):
                due = problem.tensors[last].first_backward
                assert due is not None
                end_ns = linked_ns + problem.backward_left_ns[due]
                least_ns = max(least_ns, self._balanced(computed_ns, end_ns, copied, due))
        before_ns = 0 if label.before is None else label.before.least_ns
        label.least_ns = max(least_ns, before_ns)
        return label

    def _balanced(self, computed_ns: int, linked_ns: int, copied: int, due: int) -> int:
        """Return the least end if each copied feature map due is prefetched or recomputed."""
        tensors = self._round.tensors
        items = [
            number
            for number in self._by_ratio
            if copied >> number & 1 and (tensors[number].first_backward or 0) <= due
        ]
        linked_ns += sum(tensors[number].swap_ns for number in items)
        for number in items:
            if linked_ns <= computed_ns:
                break
            tensor = tensors[number]
            if linked_ns - tensor.swap_ns < computed_ns + tensor.recompute_ns:
                # The share x of it that is recomputed: c + x r = l - x s.
                moved_ns = (linked_ns - computed_ns) * tensor.recompute_ns
                return computed_ns - -moved_ns // (tensor.recompute_ns + tensor.swap_ns)
            linked_ns -= tensor.swap_ns
            computed_ns += tensor.recompute_ns
        return max(computed_ns, linked_ns)


def members(mask: int) -> Iterator[int]:
    """Yield the numbers in a bit mask."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def _subsets(mask: int) -> Iterator[int]:
    """Yield all subsets of a bit mask, the empty one first."""
    subset = 0
    while True:
        yield subset
        if subset == mask:
            return
        subset = (subset - mask) & mask
