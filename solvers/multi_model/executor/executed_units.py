r"""Executor of decisions: times the operations of a unit whose decisions have been made.

Offloads are issued right after the last forward use. For each prefetch it is known between which
computations it is issued (`PrefetchPlanner`). The round is simulated in time; within these limits a
prefetch is issued where it starts no later than the next computation and does not delay it, at the
latest right before the computation that reads it.

On a link that both directions share, the decisions are planned twice: with the rate of a direction
that works alone, and with half of the total, which a direction always has. Both plans are replayed
on the link, and the faster one is meant. Each is valid there, because what an operation waits for
in the order of issue does not depend on times.

No deadlock: an operation that waits for memory waits for copies that are under way. When they are
complete, memory beside it holds at most its need with every prefetch that can be issued before it,
which is at most the limit.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass, replace

from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.instances.multi_model.sub_array_key import Key
from jettison.schedules.multi_model.operation import MultiModelAction, MultiModelOperation
from jettison.schedules.multi_model.schedule import Round, TrainingUnit
from jettison.schedules.multi_model.shared_unit_replay import SharedUnitReplay
from jettison.solvers.multi_model.decisions import Fate, UnitDecisions
from jettison.solvers.multi_model.executor.kept_sources import KeptSources
from jettison.solvers.multi_model.executor.order import ArrayPlaces, Computation, RoundOrder
from jettison.solvers.multi_model.executor.prefetches import Prefetch, PrefetchPlanner


@dataclass(frozen=True, slots=True)
class ExecutedUnit:
    """Unit with all of its operations, and the time of its iteration."""

    unit: TrainingUnit
    time_ns: int


class UnitExecutor:
    """Executor of decisions for one unit of a problem.

    Parameters
    ----------
    problem
        The problem.
    sizes
        Models in each sub-array of the unit, one or two entries.

    Raises
    ------
    InputError
        If there is no profile of a size.
    """

    def __init__(self, problem: MultiModelTraining, sizes: Sequence[Key]) -> None:
        self.sizes = tuple(sizes)
        self.arrays = tuple(problem.sub_array(size) for size in sizes)
        self._memory_bytes = problem.memory_bytes
        self._static_bytes = sum(array.static_bytes for array in self.arrays)
        self._places = [ArrayPlaces(array) for array in self.arrays]
        self._problem = problem
        self._swaps_ns = [problem.swap_ns(array) for array in self.arrays]
        # Of a shared link, times of copies that have half of its total.
        self._swaps_beside_ns = self._swaps_ns
        if problem.link.is_shared:
            slower = replace(problem, bandwidth=problem.link.always_available)
            self._swaps_beside_ns = [slower.swap_ns(array) for array in self.arrays]

    def execute(self, decisions: UnitDecisions) -> ExecutedUnit | None:
        r"""Return the unit with its operations, whose replay is valid; None where it cannot fit.

        With the decisions that take the least memory there is one whenever some schedule exists.

        Notes
        -----
        Time :math:`O(n (t + r))` for n computations and t transfers in a round, of which r are
        under way at the same time; on a shared link, twice that and two replays.
        """
        if not self._problem.link.is_shared:
            return self._planned(decisions, self._swaps_ns)
        fastest: ExecutedUnit | None = None
        for swaps_ns in (self._swaps_ns, self._swaps_beside_ns):
            plan = self._planned(decisions, swaps_ns)
            if plan is None:
                return None
            if fastest is not None and plan.unit == fastest.unit:
                break
            time_ns = SharedUnitReplay(self._problem).run((plan.unit,)).unit_ends_ns[0]
            if fastest is None or time_ns < fastest.time_ns:
                fastest = ExecutedUnit(plan.unit, time_ns)
        return fastest

    def _planned(
        self, decisions: UnitDecisions, swaps_ns: Sequence[Sequence[int]]
    ) -> ExecutedUnit | None:
        """Return the unit with its operations, for copies that take these times."""
        rounds: list[Round] = []
        time_ns = 0
        for number in range(len(self.arrays)):
            if number == 1 and self._is_symmetric(decisions):
                rounds.append(tuple(map(_of_the_other, rounds[0])))
                time_ns *= 2
                break
            executed = self._execute_round(decisions, number, swaps_ns)
            if executed is None:
                return None
            rounds.append(executed.operations)
            time_ns += executed.time_ns
        return ExecutedUnit(TrainingUnit(self.sizes, tuple(rounds)), time_ns)

    def _is_symmetric(self, decisions: UnitDecisions) -> bool:
        """Tell whether the second round is the first one with the sub-arrays exchanged."""
        parts = (self.sizes, decisions.fates, decisions.forward_before, decisions.prompts)
        return all(not part or part[0] == part[1] for part in parts)

    def _execute_round(
        self, decisions: UnitDecisions, number: int, swaps_ns: Sequence[Sequence[int]]
    ) -> _ExecutedRound | None:
        stored_bytes = self._static_bytes
        if len(self.arrays) == 2:
            array = self.arrays[number]
            stored_bytes += array.carried_bytes + sum(
                tensor.size_bytes
                for tensor, fate in zip(array.tensors, decisions.fates[number], strict=True)
                if fate is Fate.KEEP
            )
        if stored_bytes > self._memory_bytes:
            return None
        order = self._fitting_order(decisions, number, stored_bytes)
        if order is None:
            return None
        planner = PrefetchPlanner(self.arrays[number], number, swaps_ns[number], self._memory_bytes)
        prefetches = planner.place(
            order.computations, decisions.prompts[number] if decisions.prompts else {}
        )
        return _Simulation(
            order.computations,
            prefetches,
            swaps_ns,
            self._places,
            stored_bytes,
            self._memory_bytes,
        ).run()

    def _fitting_order(
        self, decisions: UnitDecisions, number: int, stored_bytes: int
    ) -> RoundOrder | None:
        """Return the computations of a round, with the recomputed sources that stay."""
        plain = RoundOrder(stored_bytes, None)
        if Fate.RECOMPUTE not in decisions.fates[number]:
            order = self._order(decisions, number, plain)
            return order if self._fits(order) else None
        without = self._order(_all_swapped(decisions), number, plain)
        if not self._fits(without):
            return None
        order = self._order(decisions, number, self._with_sources_kept(without, stored_bytes))
        if self._fits(order):
            return order
        first = self._order(decisions, number, RoundOrder(stored_bytes, None))
        if not self._fits(first):
            return None
        return self._order(decisions, number, self._with_sources_kept(first, stored_bytes))

    def _fits(self, order: RoundOrder) -> bool:
        return max(item.need_bytes for item in order.computations) <= self._memory_bytes

    def _with_sources_kept(self, first: RoundOrder, stored_bytes: int) -> RoundOrder:
        """Return an empty order in which those sources stay that fit beside another order."""
        needs_bytes = [item.need_bytes for item in first.computations]
        kept = KeptSources(first.recomputations, needs_bytes, self._memory_bytes)
        return RoundOrder(stored_bytes, kept)

    def _order(self, decisions: UnitDecisions, number: int, order: RoundOrder) -> RoundOrder:
        """Add the computations of the round in which sub-array `number` runs backward."""
        backward, forward = self._places[number], self._places[len(self.arrays) - 1 - number]
        is_pair = len(self.arrays) == 2
        other = 1 - number if is_pair else 0
        fates = decisions.fates[number]
        idle = {place for place, fate in enumerate(fates) if fate is Fate.KEEP}
        done = 0
        for position in range(len(backward.array.backward)):
            before = len(forward.array.forward)
            if is_pair:
                before = decisions.forward_before[number][position]
            while done < before:
                order.add_forward(other, forward, decisions.fates[other], done)
                done += 1
            order.add_backward(number, backward, idle, fates, position)
        for position in range(done, len(forward.array.forward)):
            order.add_forward(other, forward, decisions.fates[other], position)
        return order


def _all_swapped(decisions: UnitDecisions) -> UnitDecisions:
    """Return the decisions with a swap in place of each recomputation."""
    return replace(
        decisions,
        fates=tuple(
            tuple(Fate.SWAP if fate is Fate.RECOMPUTE else fate for fate in fates)
            for fates in decisions.fates
        ),
    )


def _of_the_other(operation: MultiModelOperation) -> MultiModelOperation:
    return MultiModelOperation(operation.action, 1 - operation.array, operation.position)


@dataclass(frozen=True, slots=True)
class _ExecutedRound:
    operations: Round
    time_ns: int


class _Simulation:
    """Simulation of the queues and the memory of one round, in exact nanoseconds."""

    def __init__(
        self,
        computations: Sequence[Computation],
        prefetches: Sequence[Prefetch],
        swaps_ns: Sequence[Sequence[int]],
        places: Sequence[ArrayPlaces],
        stored_bytes: int,
        memory_bytes: int,
    ) -> None:
        self._computations = computations
        self._prefetches = prefetches
        self._swaps_ns = swaps_ns
        self._places = places
        self._stored_bytes = stored_bytes
        self._limit_bytes = memory_bytes
        # Memory that returns later, as (when, bytes), by time.
        self._returns: list[tuple[int, int]] = []
        self._started_ns = self._computed_ns = self._offloaded_ns = self._prefetched_ns = 0
        # When copies on the host are complete, and when prefetched feature maps are back.
        self._hosted_ns: dict[tuple[int, int], int] = {}
        self._back_ns: dict[int, int] = {}
        self._issued: list[MultiModelOperation] = []

    def run(self) -> _ExecutedRound:
        upcoming = 0
        for position, item in enumerate(self._computations):
            start_ns = None
            while upcoming < len(self._prefetches):
                prefetch = self._prefetches[upcoming]
                if prefetch.trigger > position:
                    break
                prefetch_ns = self._prefetch_start(prefetch)
                if prefetch.use > position:
                    ready_ns = self._ready(item)
                    start_ns = self._free_from(ready_ns, item.taken_bytes)
                    if prefetch_ns > start_ns or start_ns < self._free_from(
                        ready_ns, item.taken_bytes + prefetch.size_bytes
                    ):
                        break
                self._prefetch(prefetch, prefetch_ns)
                start_ns = None
                upcoming += 1
            if start_ns is None:
                start_ns = self._free_from(self._ready(item), item.taken_bytes)
            self._compute(item, start_ns)
        end_ns = max(self._computed_ns, self._offloaded_ns, self._prefetched_ns)
        return _ExecutedRound(tuple(self._issued), end_ns)

    def _ready(self, item: Computation) -> int:
        """Return when a computation can start if memory suffices."""
        ready_ns = max(self._started_ns, self._computed_ns)
        operation = item.operation
        tensors = self._places[operation.array]
        if operation.action is MultiModelAction.BACKWARD:
            read: Sequence[int] = tensors.arriving[operation.position]
        elif operation.action is MultiModelAction.RECOMPUTE:
            read = tensors.array.tensors[operation.position].sources
        else:
            return ready_ns
        for place in read:
            ready_ns = max(ready_ns, self._back_ns.get(place, 0))
        return ready_ns

    def _prefetch_start(self, prefetch: Prefetch) -> int:
        earliest_ns = max(
            self._started_ns,
            self._prefetched_ns,
            self._hosted_ns.get((prefetch.array, prefetch.place), 0),
        )
        return self._free_from(earliest_ns, prefetch.size_bytes)

    def _compute(self, item: Computation, start_ns: int) -> None:
        operation = item.operation
        self._take(start_ns, item.taken_bytes)
        end_ns = start_ns + item.run_ns
        self._computed_ns = end_ns
        self._give_back(end_ns, item.returned_bytes)
        self._issued.append(operation)
        for place in item.offloads:
            size_bytes = self._places[operation.array].array.tensors[place].size_bytes
            self._offloaded_ns = (
                max(self._offloaded_ns, end_ns) + self._swaps_ns[operation.array][place]
            )
            self._hosted_ns[operation.array, place] = self._offloaded_ns
            self._give_back(self._offloaded_ns, size_bytes)
            self._issued.append(
                MultiModelOperation(MultiModelAction.OFFLOAD, operation.array, place)
            )
        for place in item.discards:
            self._issued.append(
                MultiModelOperation(MultiModelAction.DISCARD, operation.array, place)
            )

    def _prefetch(self, prefetch: Prefetch, start_ns: int) -> None:
        self._take(start_ns, prefetch.size_bytes)
        self._prefetched_ns = start_ns + prefetch.swap_ns
        self._back_ns[prefetch.place] = self._prefetched_ns
        self._issued.append(
            MultiModelOperation(MultiModelAction.PREFETCH, prefetch.array, prefetch.place)
        )

    def _free_from(self, earliest_ns: int, size_bytes: int) -> int:
        """Return the first time from `earliest_ns` on at which `size_bytes` are free."""
        now_ns = earliest_ns
        over_bytes = self._stored_bytes + size_bytes - self._limit_bytes
        for when_ns, returned_bytes in self._returns:
            if over_bytes <= 0:
                break
            now_ns = max(now_ns, when_ns)
            over_bytes -= returned_bytes
        return now_ns

    def _take(self, now_ns: int, size_bytes: int) -> None:
        """Take memory that is free at `now_ns`, which never decreases from call to call."""
        returned = 0
        for when_ns, size in self._returns:
            if when_ns > now_ns:
                break
            self._stored_bytes -= size
            returned += 1
        del self._returns[:returned]
        self._stored_bytes += size_bytes
        self._started_ns = now_ns

    def _give_back(self, when_ns: int, size_bytes: int) -> None:
        if size_bytes:
            insort(self._returns, (when_ns, size_bytes))
