r"""Annealing of strategies and recomputations of a sharded graph together.

The search of `solvers.remat_graph.annealing.method` over staged schedules, with strategies that
change as well. What it minimizes is the time plus a price on the memory above the limit. Half of
the moves are of strategies: one choice, with all operators that follow, goes to another strategy,
and up to :math:`2^r - 1` choices around it go to what then costs least beside the others, `r` drawn
evenly from 0 to 5; of all strategies, or of those that take no more memory. A fourth of these moves
have a recomputation added or dropped with them. The other half evicts, drops and shifts
recomputations; parameters and inputs are never computed again.

Time and memory of each state are exact 64-bit integers, updated where something changes: a strategy
takes time linear in the entries of its tables that are looked at, and in the stages during which
the values of its operators are in memory. The result is the same for a seed and a number of moves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from jettison.instances.remat_sharding.operator import Role
from jettison.instances.remat_sharding.problem import RematSharding
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_sharding.schedule import ShardedSchedule
from jettison.solvers import _kernels
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.params import Params

_FORBIDDEN = -1


@dataclass(frozen=True, kw_only=True)
class JointParams(Params):
    """Parameters of the annealing of strategies and recomputations together.

    Attributes
    ----------
    joint_rounds
        Rounds from one start, each three times as long as the one before.
    most_joint_moves
        Moves from one start, at most.
    joint_moves_at_once
        Moves between two looks at the clock.
    moves_of_a_joint_move
        Moves of annealing with strategies fixed that take as long as one here.
    """

    joint_rounds: int = 4
    most_joint_moves: int = 2_000_000
    joint_moves_at_once: int = 2_000
    moves_of_a_joint_move: int = 6


JOINT = JointParams()


class JointAnnealing:
    """Annealing that goes on from plans found elsewhere, with the best plan found.

    Parameters
    ----------
    problem
        The instance and its memory.
    seed
        Seed of the annealing.
    clock
        The time limit, and what counts the work.
    params
        How long it goes on from a plan.

    Attributes
    ----------
    plan
        The fastest plan of a start that fits; None before the first.
    time_ns
        Its time.
    """

    def __init__(
        self, problem: RematSharding, seed: int, clock: Clock, params: JointParams = JOINT
    ) -> None:
        self.plan: ShardedSchedule | None = None
        self.time_ns: int | None = None
        self._problem = problem
        self._seed = seed
        self._clock = clock
        self._params = params
        self._search: _kernels.JointAnneal | None = None
        sharded = problem.instance
        self._leaders = [group[0] for group in sharded.groups]

    @property
    def moves(self) -> int:
        """The moves that were tried."""
        return 0 if self._search is None else self._search.tried

    def start_from(self, plan: ShardedSchedule) -> bool:
        """Begin the rounds again from a plan, which may exceed the memory.

        Returns
        -------
        bool
            Whether it is staged, as plans to start from have to be.
        """
        replay = plan.replay(self._problem.instance)
        if not ScheduleClass.STAGED.covers(replay.schedule_class):
            return False
        start = np.array([plan.strategies[leader] for leader in self._leaders], dtype=np.int32)
        if self._search is None:
            self._search = _kernels.JointAnneal(
                **joint_arrays(self._problem),
                start=start,
                memory_bytes=self._problem.memory_bytes,
                floor_ns=0,
                rounds=self._params.joint_rounds,
                seed=self._seed,
            )
        self._search.start_from(start, np.array(plan.computations, dtype=np.int32))
        return True

    def anneal(self, floor_ns: int, rounds: int) -> bool:
        """Anneal until so many rounds since the start have ended; tell if the plan is better.

        Parameters
        ----------
        floor_ns
            Lower bound on the time, which ends it when it is reached.
        rounds
            Rounds from the start.
        """
        search, before = self._search, self.time_ns
        if search is None:
            return False
        search.set_floor_ns(floor_ns)
        end = search.tried + self._params.most_joint_moves
        while not search.is_over and search.rounds_ended < rounds and search.tried < end:
            left_s, tried = self._clock.left_s, search.tried
            if not left_s:
                break
            # Where the time limit ends the run, the state by then counts.
            with suppress(TimeoutError):
                search.run(self._params.joint_moves_at_once, None if math.isinf(left_s) else left_s)
            self._clock.spend(self._params.moves_of_a_joint_move * (search.tried - tried))
        if search.time_ns is not None and (before is None or search.time_ns < before):
            self._keep(search)
        return self.time_ns != before

    def _keep(self, search: _kernels.JointAnneal) -> None:
        sharded = self._problem.instance
        of_leader = dict(zip(self._leaders, search.places, strict=True))
        strategies = tuple(of_leader[leader] for leader in sharded.leader)
        self.plan = ShardedSchedule.from_computations(sharded, strategies, search.computations)
        self.time_ns = search.time_ns


def joint_arrays(problem: RematSharding) -> dict[str, np.ndarray]:
    """Return a sharded graph by the names of the kernel's arguments; linear in its tables."""
    sharded = problem.instance
    number = {group[0]: g for g, group in enumerate(sharded.groups)}
    choice = [number[leader] for leader in sharded.leader]
    inside: dict[int, list[Sequence[Sequence[int | None]]]] = {}
    ends: list[int] = []
    table: list[int] = []
    for (j, i), costs in sharded.tables.items():
        if choice[j] == choice[i]:
            inside.setdefault(i, []).append(costs)
        elif any(cost != 0 for row in costs for cost in row):
            ends += (j, i)
            table += [_FORBIDDEN if cost is None else cost for row in costs for cost in row]
    cost_ns: list[list[int]] = []
    for i, operator in enumerate(sharded.operators):
        of_operator = []
        for k, strategy in enumerate(operator.strategies):
            within = [costs[k][k] for costs in inside.get(i, ())]
            is_forbidden = strategy.is_forbidden or None in within
            of_operator.append(
                _FORBIDDEN if is_forbidden else strategy.cost_ns + sum(cost or 0 for cost in within)
            )
        cost_ns.append(of_operator)
    for group in sharded.groups:
        # What one of a group must not have, none has.
        for k in range(len(cost_ns[group[0]])):
            if any(cost_ns[i][k] == _FORBIDDEN for i in group):
                for i in group:
                    cost_ns[i][k] = _FORBIDDEN
    operators = sharded.operators
    return {
        "choice": np.array(choice, dtype=np.int32),
        "places": np.array(
            [len(operators[group[0]].strategies) for group in sharded.groups], dtype=np.int32
        ),
        "cost_ns": np.array([cost for row in cost_ns for cost in row], dtype=np.int64),
        "size_bytes": np.array(
            [item.memory_bytes for operator in operators for item in operator.strategies],
            dtype=np.int64,
        ),
        "table_ends": np.array(ends, dtype=np.int32),
        "table": np.array(table, dtype=np.int64),
        "keep": np.array(
            [operator.keep or operator.role is Role.PARAMETER for operator in operators],
            dtype=np.uint8,
        ),
        "computed_once": np.array(
            [operator.role.is_computed_once for operator in operators], dtype=np.uint8
        ),
        "input_start": np.cumsum([0, *map(len, sharded.inputs)], dtype=np.int32),
        "inputs": np.array([j for row in sharded.inputs for j in row], dtype=np.int32),
    }
