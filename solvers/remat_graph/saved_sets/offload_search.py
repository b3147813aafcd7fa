"""Search for the best offloaded set of a graph with a link, with a lower bound for all of them.

1. The best saved set without a link, and what is given, are measured: transfers are planned
   (`plan_transfers`) and the set is replayed.
2. The model of offloaded sets (`formulations.remat_graph.offloaded_set`) is solved, at first with
   the nodes where a set that saves everything needs most memory. Where the replay of its set
   exceeds the memory, or its transfers take too long, nodes are added, and the model is solved
   again. Each dual bound holds for the class. A model of all nodes is exact, and says when
   transfers begin and end; small graphs have it at once.
3. Every set on the way is improved: single values are saved, offloaded or dropped, as long as that
   brings the step into the memory or makes it faster. What need not move stays in the end.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from jettison.formulations.remat_graph.offloaded_set import OffloadedSetModel
from jettison.instances.core.errors import InputError
from jettison.instances.core.link import Link
from jettison.instances.remat_graph.graph import Graph
from jettison.schedules.remat_graph.offloaded_set import (
    OffloadedReplay,
    OffloadedSet,
    replay_offloaded_set,
)
from jettison.schedules.remat_graph.saved_set import check_forward_first
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.params import Params
from jettison.solvers.remat_graph.saved_sets.link_plan import plan_transfers
from jettison.solvers.remat_graph.saved_sets.model_rounds import ModelRounds
from jettison.solvers.remat_graph.saved_sets.search import (
    SAVED_SETS,
    SavedSetParams,
    SavedSetSearch,
)

# Saved and offloaded forward nodes.
Sets = tuple[frozenset[int], frozenset[int]]
# Bytes above the limit, time, and bytes that move: smaller is better, from left to right.
_Key = tuple[float, int, int]


@dataclass(frozen=True, kw_only=True)
class OffloadParams(Params):
    """Parameters of the search.

    Attributes
    ----------
    rounds
        Models that are solved at most.
    rows_at_once
        Nodes that are added to a model at most.
    all_rows
        Graphs with no more nodes get the model of all nodes at once.
    measured
        Sets that the local search measures at most, after each model.
    work
        Work of HiGHS for one model (`jettison.solvers.milp.highs_work`).
    """

    rounds: int = 8
    rows_at_once: int = 3
    all_rows: int = 16
    measured: int = 1_000
    work: int = 60_000


OFFLOADED_SETS = OffloadParams()


@dataclass(frozen=True, slots=True, kw_only=True)
class BestOffloadedSet:
    """Best offloaded set that was found, and what is known of all others.

    Attributes
    ----------
    plan, replay
        The set with its transfers, and the replay, which accepts it.
    bound_ns
        No offloaded set that fits makes a faster step, where computations do not wait for the
        link and it works beside first computations only; by a floating-point solver.
    models, measured
        Models that were solved, and sets that were measured.
    """

    plan: OffloadedSet
    replay: OffloadedReplay
    bound_ns: int
    models: int
    measured: int


class OffloadedSetSearch:
    """Search for offloaded sets of one graph in one amount of memory.

    Parameters
    ----------
    graph
        A graph whose forward nodes come first.
    memory_bytes
        The memory of the device.
    link
        The link to the host.
    can_be_saved
        Forward nodes that may be saved or offloaded.
    never_again
        Forward nodes that may not be computed again.
    never_moved
        Forward nodes that may not be offloaded.
    params
        Parameters; `saved` are those of the search without a link.

    Raises
    ------
    InputError
        If forward nodes do not come first, or a node is a result of another one.
    """

    def __init__(
        self,
        graph: Graph,
        memory_bytes: int,
        link: Link,
        can_be_saved: Collection[int],
        *,
        never_again: Collection[int] = (),
        never_moved: Collection[int] = (),
        params: OffloadParams = OFFLOADED_SETS,
        saved: SavedSetParams = SAVED_SETS,
    ) -> None:
        self._graph = graph
        self._memory_bytes = memory_bytes
        self._link = link
        self._params = params
        self._forward = check_forward_first(graph)
        once = (node for node in graph.computed_once if node < self._forward)
        self._never = frozenset((*never_again, *once))
        self._may = frozenset(can_be_saved) | self._never
        self._moves = frozenset(
            i for i in self._may - frozenset(never_moved) if not graph.nodes[i].keep
        )
        self._still = SavedSetSearch(graph, memory_bytes, can_be_saved, never_again, saved)
        self._known: dict[Sets, tuple[_Key, OffloadedSet, OffloadedReplay] | int] = {}
        self._best: tuple[_Key, OffloadedSet, OffloadedReplay] | None = None
        self._rounds = ModelRounds(graph, params.work)

    @property
    def is_refuted(self) -> bool:
        """Whether a model has proved that no set fits, by a floating-point solver."""
        return self._rounds.is_refuted

    @property
    def is_finished(self) -> bool:
        """Whether the search came to its end, and not to its time limit."""
        return self._rounds.is_finished

    @property
    def bound_ns(self) -> int:
        """Best lower bound so far."""
        return self._rounds.bound_ns

    @property
    def least_peak_bytes(self) -> int:
        """Least peak of the sets that were measured."""
        assert self._best is not None
        return self._best[2].peak_bytes

    def run(
        self, starts: Iterable[Sets] = (), time_limit_s: float | None = 60.0
    ) -> BestOffloadedSet | None:
        """Return the best offloaded set; None if none was found that fits.

        Parameters
        ----------
        starts
            Saved and offloaded nodes that are measured first.
        time_limit_s
            Seconds after which no other model is begun; None for no limit.
        """
        clock = Clock(time_limit_s)
        nothing = frozenset[int]()
        everything = (self._may, nothing)
        for start in (everything, (self._never, nothing), *starts):
            self._measure(start)
        if not self._is_settled:
            self._still.run(time_limit_s=None if time_limit_s is None else clock.left_s / 2)
            self._measure((self._still.least_set, nothing))
            self._solve_models(everything, clock)
        return self._answer()

    def _answer(self) -> BestOffloadedSet | None:
        assert self._best is not None
        if self._best[0][0] > 0:
            return None
        _, plan, _ = self._stay(self._best)
        replay = replay_offloaded_set(self._graph, plan, self._link, self._memory_bytes)
        assert replay.is_valid
        return BestOffloadedSet(
            plan=plan,
            replay=replay,
            bound_ns=min(self.bound_ns, replay.time_ns),
            models=self._rounds.num_models,
            measured=len(self._known),
        )

    @property
    def _is_settled(self) -> bool:
        key = None if self._best is None else self._best[0]
        return key is not None and key[0] == 0 and key[1] <= self.bound_ns

    def _measure(self, sets: Sets) -> tuple[_Key, OffloadedSet, OffloadedReplay] | int:
        """Return key, plan and replay of sets, or a node at which a transfer is late."""
        found = self._known.get(sets)
        if found is None:
            plan = plan_transfers(self._graph, *sets, self._link)
            found = plan if isinstance(plan, int) else self._replayed(plan)
            self._known[sets] = found
        return found

    def _replayed(self, plan: OffloadedSet) -> tuple[_Key, OffloadedSet, OffloadedReplay]:
        replay = replay_offloaded_set(self._graph, plan, self._link)
        assert replay.is_valid, replay.violations
        nodes = self._graph.nodes
        key = (
            max(0, replay.peak_bytes - self._memory_bytes),
            replay.time_ns,
            sum(nodes[i].output_bytes for i in plan.offloaded),
        )
        found = (key, plan, replay)
        if self._best is None or key < self._best[0]:
            self._best = found
        return found

    def _solve_models(self, everything: Sets, clock: Clock) -> None:
        self._improve(everything)
        chosen: set[int] = set()
        if len(self._graph) <= self._params.all_rows:
            chosen.update(range(len(self._graph)))
        else:
            self._add_nodes(chosen, everything)
        for _ in range(self._params.rounds):
            if self._is_settled:
                return
            if clock.left_s <= 0:
                self._rounds.is_finished = False
                return
            sets = self._solve(chosen, clock)
            if sets is None:
                return
            self._improve(sets)
            if not self._add_nodes(chosen, sets):
                return

    def _add_nodes(self, chosen: set[int], sets: Sets) -> bool:
        """Add the nodes where sets need too much, and tell whether there were new ones."""
        before = len(chosen)
        found = self._measure(sets)
        if isinstance(found, int):
            chosen.add(found)
            return len(chosen) > before
        replay, limit = found[2], self._memory_bytes
        over = [t for t, here in enumerate(replay.node_bytes) if here > limit and t not in chosen]
        over.sort(key=lambda t: (-replay.node_bytes[t], t))
        chosen.update([t for t in over if t < self._forward][:1])
        chosen.update([t for t in over if t >= self._forward][: self._params.rows_at_once])
        again = [t for t, here in enumerate(replay.again_bytes) if here > limit]
        if len(chosen) == before and again:
            worst = max(again, key=lambda t: (replay.again_bytes[t], -t))
            chosen.update({worst, max(self._forward, worst - 1)})
        return len(chosen) > before

    def _solve(self, chosen: set[int], clock: Clock) -> Sets | None:
        built = OffloadedSetModel(
            self._memory_bytes,
            self._link,
            chosen,
            self._may,
            self._never,
            frozenset(range(self._forward)) - self._moves,
        ).build(self._graph)
        solution = self._rounds.solve(built, clock, holds_for_all=True)
        if solution.values is None:
            return None
        saved, offloaded = built.sets(solution.values)
        if len(chosen) == len(self._graph):
            windows = {i: built.window(solution.values, i) for i in offloaded}
            plan = plan_transfers(self._graph, saved, offloaded, self._link, windows)
            if not isinstance(plan, int):
                self._replayed(plan)
        return saved, offloaded

    def _improve(self, start: Sets) -> None:
        """Save, offload or drop single values, as long as that helps."""
        found = self._measure(start)
        current, left = start, self._params.measured
        while left > 0:
            better = None
            for sets in self._neighbours(current):
                other = self._measure(sets)
                left -= 1
                if not isinstance(other, int) and (isinstance(found, int) or other[0] < found[0]):
                    better = sets, other
                    break
                if left <= 0:
                    break
            if better is None:
                return
            current, found = better

    def _neighbours(self, sets: Sets) -> Iterable[Sets]:
        saved, offloaded = sets
        nodes = self._graph.nodes
        for i in sorted(
            self._may, key=lambda i: (-nodes[i].duration_ns, -nodes[i].output_bytes, i)
        ):
            if i in self._moves and i not in offloaded:
                yield saved - {i}, offloaded | {i}
            if i not in saved:
                yield saved | {i}, offloaded - {i}
            if i not in self._never and (i in saved or i in offloaded):
                yield saved - {i}, offloaded - {i}

    def _stay(
        self, best: tuple[_Key, OffloadedSet, OffloadedReplay]
    ) -> tuple[_Key, OffloadedSet, OffloadedReplay]:
        """Return the set with all that moves for nothing on the device, the largest first."""
        nodes = self._graph.nodes
        for i in sorted(best[1].offloaded, key=lambda i: (-nodes[i].output_bytes, i)):
            other = self._measure((best[1].saved | {i}, best[1].offloaded - {i}))
            if not isinstance(other, int) and other[0] < best[0]:
                best = other
        return best


def best_offloaded_set(
    graph: Graph,
    memory_bytes: int,
    link: Link,
    can_be_saved: Collection[int],
    *,
    time_limit_s: float | None = 60.0,
    params: OffloadParams = OFFLOADED_SETS,
) -> BestOffloadedSet:
    """Return the best offloaded set that was found within an amount of memory.

    Raises
    ------
    InputError
        If no set was found that fits; with the least peak that was seen.
    """
    search = OffloadedSetSearch(graph, memory_bytes, link, can_be_saved, params=params)
    found = search.run((), time_limit_s)
    if found is None:
        raise InputError(
            f"no set of saved and offloaded values was found within {memory_bytes} bytes",
            field="memory",
            expected=f"give {search.least_peak_bytes} bytes or more, by the model",
        )
    return found
