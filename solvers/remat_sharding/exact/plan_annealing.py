"""Annealing of the recomputations of a sharded plan, with its strategies fixed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jettison.instances.remat_graph.problem import RematGraph
from jettison.instances.remat_sharding.problem import RematSharding
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_sharding.schedule import ShardedSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.remat_graph.annealing.beside_models import BesideParams, GraphAnnealing
from jettison.solvers.remat_sharding.exact.priced_graph import priced_graph


@dataclass(frozen=True, kw_only=True)
class PlanAnnealingParams(BesideParams):
    """Parameters of the annealing of a plan's recomputations.

    Attributes
    ----------
    price
        Duration of what must not be computed again, as a multiple of the time of the step.
        Recomputation may make a step several times as long, and the price leaves room for that.
    """

    price: int = 8


class ShardedAnnealing:
    """Annealing of recomputations for changing choices of strategies, with the best plan found.

    Parameters
    ----------
    problem
        The instance and its memory.
    seed
        Seed of the annealing.
    clock
        The time limit.
    offer
        Called with each valid plan that is faster than those before.
    params
        How long the recomputations of a plan are annealed.

    Attributes
    ----------
    plan
        The fastest plan known that fits, a point to start models from; None before the first.
    time_ns, schedule_class
        Its replayed time, and the narrowest class that it belongs to.
    """

    def __init__(
        self,
        problem: RematSharding,
        seed: int,
        clock: Clock,
        offer: Callable[[ShardedSchedule], object],
        params: PlanAnnealingParams,
    ) -> None:
        self.plan: ShardedSchedule | None = None
        self.time_ns: int | None = None
        self.schedule_class: ScheduleClass | None = None
        self._problem = problem
        self._seed = seed
        self._clock = clock
        self._params = params
        self._offer = offer
        self._searches: dict[tuple[int, ...], GraphAnnealing] = {}

    @property
    def moves(self) -> int:
        """Number of moves that were tried."""
        return sum(search.moves for search in self._searches.values())

    def improve_from(
        self, strategies: Sequence[int], computations: Sequence[int], floor_ns: int
    ) -> None:
        """Anneal the recomputations of a plan, which may exceed the memory.

        The strategies stay. Annealing has its share of the moves, as in `GraphAnnealing`.

        Parameters
        ----------
        strategies
            For each operator the index of its strategy.
        computations
            As `ShardedSchedule.from_computations` takes them.
        floor_ns
            Lower bound on the time.
        """
        self.take(strategies, computations)
        if self.time_ns is not None and self.time_ns <= floor_ns:
            return
        key = tuple(strategies)
        priced = priced_graph(self._problem.instance, key, self._params.price)
        known = self._searches.get(key)
        if known is None:
            on_graph = RematGraph(priced.graph, self._problem.memory_bytes)
            known = GraphAnnealing(on_graph, self._seed, self._clock, params=self._params)
            self._searches[key] = known
            known.find_first()
        known.improve_from(computations, floor_ns + priced.extra_ns)
        if known.schedule is not None:
            self.take(strategies, known.schedule.computations)

    def take(self, strategies: Sequence[int], computations: Sequence[int]) -> None:
        """Replay a plan, and keep it if it fits and is the fastest."""
        sharded, memory_bytes = self._problem.instance, self._problem.memory_bytes
        plan = ShardedSchedule.from_computations(sharded, strategies, computations)
        replay = plan.replay(sharded, memory_bytes)
        if replay.valid and (self.time_ns is None or replay.time_ns < self.time_ns):
            self.plan = plan
            self.time_ns, self.schedule_class = replay.time_ns, replay.schedule_class
            self._offer(plan)
