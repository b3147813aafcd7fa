r"""Order of the computations of one round, and the memory that each needs.

The order is that of the passes. Right before a backward operator its recomputed feature maps are
computed, and before those all their sources that are no longer in memory, each once and in the
order in which they were first made. Sources are dropped after the last recomputation that reads
them, unless they stay for their own use (`KeptSources`). A source that is idle in memory or in
backward use is read where it is; one on the host whose own backward use comes first is prefetched
for the recomputation and stays.

The *need* of a computation is the memory while it runs, with all offloads complete, and swapped
feature maps brought back only for the computation that reads them first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from jettison.instances.multi_model.sub_array import IdleTensor, SubArray, Work
from jettison.schedules.multi_model.operation import MultiModelAction, MultiModelOperation
from jettison.solvers.multi_model.decisions import Fate
from jettison.solvers.multi_model.executor.kept_sources import KeptSources, RecomputationSpans


@dataclass(slots=True)
class Computation:
    """Computation of a round.

    Attributes
    ----------
    operation
        The operation that is issued.
    run_ns
        Its duration.
    taken_bytes, returned_bytes
        Memory that it takes at its start, and that returns at its end, discards included.
    need_bytes
        Memory in use while it runs.
    offloads, discards
        The feature maps of its sub-array that leave after it.
    fetches
        Feature maps of the backward pass that come back for it.
    """

    operation: MultiModelOperation
    run_ns: int
    taken_bytes: int
    returned_bytes: int
    need_bytes: int
    offloads: list[int] = field(default_factory=list)
    discards: list[int] = field(default_factory=list)
    fetches: list[int] = field(default_factory=list)


class ArrayPlaces:
    """Feature maps of a sub-array by the operators at which they become idle or are used again."""

    def __init__(self, array: SubArray) -> None:
        self.array = array
        self.leaving: list[list[int]] = [[] for _ in array.forward]
        self.arriving: list[list[int]] = [[] for _ in array.backward]
        for place, tensor in enumerate(array.tensors):
            self.leaving[tensor.last_forward].append(place)
            self.arriving[tensor.first_backward].append(place)


class RoundOrder:
    """Builder of the order of the computations of one round.

    Parameters
    ----------
    stored_bytes
        Memory in use before the first computation.
    kept_sources
        The choice of the recomputed sources that stay; None if none does.

    Attributes
    ----------
    computations
        The computations so far, in order.
    stored_bytes
        Memory in use after them.
    recomputations
        The recomputations among them.
    """

    def __init__(self, stored_bytes: int, kept_sources: KeptSources | None) -> None:
        self.computations: list[Computation] = []
        self.stored_bytes = stored_bytes
        self.recomputations = RecomputationSpans()
        self._kept_sources = kept_sources

    def add_forward(
        self, number: int, places: ArrayPlaces, fates: Sequence[Fate], position: int
    ) -> None:
        """Add a forward operator of sub-array `number`; feature maps not kept leave after it."""
        array = places.array
        work = array.forward[position]
        before_bytes = array.forward[position - 1].active_bytes if position else 0
        added = self._add(MultiModelAction.FORWARD, number, position, work, before_bytes, 0)
        for place in places.leaving[position]:
            size_bytes = array.tensors[place].size_bytes
            fate = fates[place]
            if fate is not Fate.RECOMPUTE:
                added.returned_bytes -= size_bytes
            if fate is Fate.KEEP:
                self.stored_bytes += size_bytes
            else:
                (added.offloads if fate is Fate.SWAP else added.discards).append(place)

    def _add(
        self,
        action: MultiModelAction,
        number: int,
        position: int,
        work: Work,
        before_bytes: int,
        arriving_bytes: int,
    ) -> Computation:
        taken_bytes = work.peak_bytes - before_bytes - arriving_bytes
        added = Computation(
            operation=MultiModelOperation(action, number, position),
            run_ns=work.run_ns,
            taken_bytes=taken_bytes,
            returned_bytes=work.peak_bytes - work.active_bytes,
            need_bytes=self.stored_bytes + taken_bytes,
        )
        self.computations.append(added)
        self.stored_bytes += work.active_bytes - before_bytes - arriving_bytes
        return added

    def add_backward(
        self, number: int, places: ArrayPlaces, idle: set[int], fates: Sequence[Fate], position: int
    ) -> None:
        """Add a backward operator, with the recomputations and the prefetches that it needs.

        Parameters
        ----------
        idle
            The feature maps that are idle in memory; kept up to date.
        """
        array = places.array
        work = array.backward[position]
        if position:
            before_bytes = array.backward[position - 1].active_bytes
        else:
            before_bytes = array.carried_bytes
        arriving = places.arriving[position]
        gone = [place for place in arriving if place not in idle]
        fetched = [place for place in gone if fates[place] is Fate.SWAP]
        if len(fetched) < len(gone):
            wanted = {place for place in gone if fates[place] is Fate.RECOMPUTE}
            self._recompute(number, array, idle, fates, position, wanted)
            fetched = [place for place in fetched if place not in idle]
        arriving_bytes = sum(array.tensors[place].size_bytes for place in arriving)
        self.stored_bytes += sum(array.tensors[place].size_bytes for place in fetched)
        added = self._add(
            MultiModelAction.BACKWARD, number, position, work, before_bytes, arriving_bytes
        )
        added.fetches += fetched
        self.recomputations.backward_at.append(len(self.computations) - 1)
        idle.difference_update(arriving)

    def _recompute(
        self,
        number: int,
        array: SubArray,
        idle: set[int],
        fates: Sequence[Fate],
        position: int,
        wanted: set[int],
    ) -> None:
        """Add the recomputations before a backward operator, sources included."""
        tensors = array.tensors
        gone = set(wanted)
        open_places = list(wanted)
        while open_places:
            for source in tensors[open_places.pop()].sources:
                if source in gone or source in idle or _is_used(tensors[source], position):
                    continue
                if fates[source] is Fate.SWAP and tensors[source].first_backward >= position:
                    continue
                gone.add(source)
                open_places.append(source)
        order = sorted(gone)
        last_reader = {source: place for place in order for source in tensors[place].sources}
        staying = wanted | self._staying(tensors, gone - wanted, fates, position)
        begun = len(self.computations)
        computed_at = {place: begun + rank for rank, place in enumerate(order)}
        for place in order:
            last = computed_at[last_reader[place]] if place not in wanted else begun + len(order)
            self.recomputations.add(place, computed_at[place], last)
            tensor = tensors[place]
            fetched = [
                source
                for source in tensor.sources
                if source not in idle and not _is_used(tensors[source], position)
            ]
            self.stored_bytes += sum(tensors[source].size_bytes for source in fetched)
            idle.update(fetched)
            taken_bytes = tensor.size_bytes + tensor.recompute_bytes
            added = Computation(
                operation=MultiModelOperation(MultiModelAction.RECOMPUTE, number, place),
                run_ns=tensor.recompute_ns,
                taken_bytes=taken_bytes,
                returned_bytes=tensor.recompute_bytes,
                need_bytes=self.stored_bytes + taken_bytes,
                fetches=fetched,
            )
            self.stored_bytes += tensor.size_bytes
            idle.add(place)
            added.discards = [
                source
                for source in tensor.sources
                if source in gone and source not in staying and last_reader[source] == place
            ]
            for source in added.discards:
                size_bytes = tensors[source].size_bytes
                added.returned_bytes += size_bytes
                self.stored_bytes -= size_bytes
                idle.remove(source)
            self.computations.append(added)

    def _staying(
        self,
        tensors: Sequence[IdleTensor],
        sources: set[int],
        fates: Sequence[Fate],
        position: int,
    ) -> set[int]:
        """Return the recomputed sources that stay for their own use; the next use goes first."""
        if self._kept_sources is None:
            return set()
        candidates = sorted(
            (tensors[place].first_backward, place)
            for place in sources
            if fates[place] is Fate.RECOMPUTE and tensors[place].first_backward > position
        )
        return {
            place
            for first_backward, place in candidates
            if self._kept_sources.keep(place, tensors[place].size_bytes, position, first_backward)
        }


def _is_used(tensor: IdleTensor, position: int) -> bool:
    """Tell whether a feature map is in backward use before the backward operator at `position`."""
    return tensor.first_backward < position <= tensor.last_backward
