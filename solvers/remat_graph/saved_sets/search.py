"""Search for the best saved set of a graph in an amount of memory, with a lower bound for all sets.

1. Candidates that are known (everything, nothing, what is given) are measured.
2. The model of saved sets (`formulations.remat_graph.saved_set`), at first with rows for the nodes
   where a set that saves everything needs most memory, is solved. Where its set exceeds the limit
   while a node runs for the first time, that node gets a row, and the model is solved again. Each
   dual bound holds for all saved sets.
3. If its set exceeds the limit only while something is computed again, the model is solved with
   less memory in its rows, by that much, from then on without a bound.
4. Every set on the way is repaired and improved: single values are saved or dropped, then pairs are
   exchanged, as long as the set fits and gets faster. A share of this counts measured sets, and no
   seconds.

Sets are measured by `measure_saved_set`; the best one is confirmed by the replay of its schedule.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from jettison.formulations.remat_graph.saved_set import SavedSetModel
from jettison.instances.core.errors import InputError
from jettison.instances.remat_graph.graph import Graph
from jettison.schedules.core.replay import Replay
from jettison.schedules.remat_graph.lazy_schedule import lazy_computations
from jettison.schedules.remat_graph.saved_set import (
    SavedSetRun,
    check_forward_first,
    measure_saved_set,
)
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.params import Params
from jettison.solvers.remat_graph.saved_sets.model_rounds import ModelRounds

# Set and measure.
Found = tuple[frozenset[int], SavedSetRun]


@dataclass(frozen=True, kw_only=True)
class SavedSetParams(Params):
    """Parameters of the search.

    Attributes
    ----------
    rounds
        Models that are solved at most.
    rows_at_once
        Rows that are added to a model at most.
    measured
        Sets that the local search measures at most, after each model.
    work
        Work of HiGHS for one model (`jettison.solvers.milp.highs_work`).
    """

    rounds: int = 12
    rows_at_once: int = 3
    measured: int = 1_500
    work: int = 60_000


SAVED_SETS = SavedSetParams()


@dataclass(frozen=True, slots=True, kw_only=True)
class BestSavedSet:
    """Best saved set that was found, and what is known of all others.

    Attributes
    ----------
    saved
        Positions of the forward nodes that are saved and read in the backward pass.
    schedule, replay
        Its schedule, and the replay, which accepts it.
    bound_ns
        No saved set that fits makes a faster step; by a floating-point solver.
    models, measured
        Models that were solved, and sets that were measured.
    """

    saved: frozenset[int]
    schedule: GraphSchedule
    replay: Replay
    bound_ns: int
    models: int
    measured: int


class SavedSetSearch:
    """Search for saved sets of one graph in one amount of memory.

    Parameters
    ----------
    graph
        A graph whose forward nodes come first.
    memory_bytes
        The limit.
    can_be_saved
        Forward nodes that may be saved.
    never_again
        Those among them that may not be computed again, and are saved wherever they are needed; so
        are those of `Graph.computed_once`.
    params
        Parameters.

    Raises
    ------
    InputError
        If forward nodes do not come first, or a node is a result of another one.
    """

    def __init__(
        self,
        graph: Graph,
        memory_bytes: int,
        can_be_saved: Collection[int],
        never_again: Collection[int] = (),
        params: SavedSetParams = SAVED_SETS,
    ) -> None:
        self._graph = graph
        self._memory_bytes = memory_bytes
        self._params = params
        self._forward = check_forward_first(graph)
        once = (node for node in graph.computed_once if node < self._forward)
        self._never = frozenset((*never_again, *once))
        self._all = frozenset(range(self._forward))
        self._may = sorted(set(can_be_saved) | self._never)
        self._choices = [node for node in self._may if node not in self._never]
        self._known: dict[frozenset[int], SavedSetRun] = {}
        self._best: Found | None = None
        self._least: Found | None = None
        self._rounds = ModelRounds(graph, params.work)

    @property
    def least_peak_bytes(self) -> int:
        """Least peak of the sets that were measured."""
        return self._measure(self.least_set)[1].peak_bytes

    @property
    def least_set(self) -> frozenset[int]:
        """Set with that peak; what may not be computed again, before any set was measured."""
        return self._never if self._least is None else self._least[0]

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

    def run(
        self, starts: Iterable[Collection[int]] = (), time_limit_s: float | None = 60.0
    ) -> BestSavedSet | None:
        """Return the best saved set; None if none was found that fits.

        Parameters
        ----------
        starts
            Sets that are measured first.
        time_limit_s
            Seconds after which no other model is begun; None for no limit.
        """
        clock = Clock(time_limit_s)
        everything = self._measure(frozenset(self._may))
        self._measure(self._never)
        for start in starts:
            self._measure(frozenset(start) | self._never)
        if everything[1].peak_bytes > self._memory_bytes:
            self._solve_models(everything, clock)
        return self._answer()

    def _answer(self) -> BestSavedSet | None:
        if self._best is None:
            return None
        saved, run = self._best
        computations = lazy_computations(self._graph, self._all - saved)
        schedule = GraphSchedule.from_computations(self._graph, computations)
        replay = schedule.replay(self._graph, self._memory_bytes)
        assert replay.valid
        assert (replay.time_ns, replay.peak_bytes) == (run.time_ns, run.peak_bytes)
        return BestSavedSet(
            saved=self._read_in_the_backward_pass(saved, computations),
            schedule=schedule,
            replay=replay,
            bound_ns=min(self.bound_ns, run.time_ns),
            models=self._rounds.num_models,
            measured=len(self._known),
        )

    def _read_in_the_backward_pass(
        self, saved: frozenset[int], computations: Sequence[int]
    ) -> frozenset[int]:
        reads = {
            source for node in computations[self._forward :] for source in self._graph.inputs[node]
        }
        return saved & reads

    def _measure(self, saved: frozenset[int]) -> Found:
        run = self._known.get(saved)
        if run is None:
            run = measure_saved_set(self._graph, lazy_computations(self._graph, self._all - saved))
            self._known[saved] = run
            if run.peak_bytes <= self._memory_bytes and (
                self._best is None or run.time_ns < self._best[1].time_ns
            ):
                self._best = saved, run
            if self._least is None or run.peak_bytes < self._least[1].peak_bytes:
                self._least = saved, run
        return saved, run

    def _solve_models(self, everything: Found, clock: Clock) -> None:
        limits = dict.fromkeys(self._worst(everything[1].first_bytes, []), self._memory_bytes)
        holds_for_all = True
        for _ in range(self._params.rounds):
            if self._is_settled:
                return
            if clock.left_s <= 0:
                self._rounds.is_finished = False
                return
            found = self._solve(limits, clock, holds_for_all)
            if found is None:
                return
            run = found[1]
            self._improve(found)
            over = self._worst(run.first_bytes, limits)
            if over:
                given = min(limits.values())
                limits.update(dict.fromkeys(over, given))
            elif run.peak_bytes > self._memory_bytes:
                excess = run.peak_bytes - self._memory_bytes
                limits = {node: limit - excess for node, limit in limits.items()}
                holds_for_all = False
            else:
                return

    @property
    def _is_settled(self) -> bool:
        return self._best is not None and self._best[1].time_ns <= self.bound_ns

    def _worst(self, first_bytes: tuple[int, ...], but: Collection[int]) -> list[int]:
        """Return the nodes that exceed the limit most, a few of each pass."""
        over = [
            node
            for node, here in enumerate(first_bytes)
            if here > self._memory_bytes and node not in but
        ]
        over.sort(key=lambda node: (-first_bytes[node], node))
        most = self._params.rows_at_once
        forward = [node for node in over if node < self._forward][:1]
        return forward + [node for node in over if node >= self._forward][:most]

    def _solve(self, limits: dict[int, int], clock: Clock, holds_for_all: bool) -> Found | None:
        built = SavedSetModel(limits, self._may, self._never).build(self._graph)
        solution = self._rounds.solve(built, clock, holds_for_all=holds_for_all)
        if solution.values is None:
            return None
        return self._measure(built.saved_set(solution.values) | self._never)

    def _improve(self, start: Found) -> None:
        """Flip single values and exchange pairs, as long as that helps."""
        current, left = start, self._params.measured
        while left > 0:
            better = None
            for saved in self._neighbours(current[0]):
                found = self._measure(saved)
                left -= 1
                if self._key(found[1]) < self._key(current[1]):
                    better = found
                    break
                if left <= 0:
                    break
            if better is None:
                return
            current = better

    def _key(self, run: SavedSetRun) -> tuple[int, int]:
        return max(0, run.peak_bytes - self._memory_bytes), run.time_ns

    def _neighbours(self, saved: frozenset[int]) -> Iterable[frozenset[int]]:
        nodes = self._graph.nodes
        by_time = sorted(self._choices, key=lambda i: (-nodes[i].duration_ns, i))
        for node in by_time:
            yield saved ^ {node}
        inside = sorted((i for i in by_time if i in saved), key=lambda i: nodes[i].duration_ns)
        outside = [i for i in by_time if i not in saved]
        for added in outside:
            for dropped in inside:
                if nodes[dropped].output_bytes and nodes[added].output_bytes:
                    yield (saved | {added}) - {dropped}


def best_saved_set(
    graph: Graph,
    memory_bytes: int,
    can_be_saved: Collection[int],
    *,
    never_again: Collection[int] = (),
    starts: Iterable[Collection[int]] = (),
    time_limit_s: float | None = 60.0,
    params: SavedSetParams = SAVED_SETS,
) -> BestSavedSet:
    """Return the best saved set that was found within an amount of memory.

    Raises
    ------
    InputError
        If no set was found that fits; with the least peak that was seen.
    """
    search = SavedSetSearch(graph, memory_bytes, can_be_saved, never_again, params)
    found = search.run(starts, time_limit_s)
    if found is None:
        raise InputError(
            f"no set of saved values was found within {memory_bytes} bytes",
            field="memory",
            expected=f"give {search.least_peak_bytes} bytes or more, by the model",
        )
    return found
