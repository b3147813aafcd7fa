"""Baselines that run beside a search on a graph, so that its answer is no worse than theirs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import pass_interrupt_on
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.search import Incumbent
from jettison.solvers.remat_graph.annealing.method import solve_anneal
from jettison.solvers.remat_graph.baselines.chen import (
    solve_ap_chen_greedy,
    solve_ap_chen_sqrt,
    solve_chen_greedy,
    solve_chen_sqrt,
)
from jettison.solvers.remat_graph.baselines.dtr import solve_dtr
from jettison.solvers.remat_graph.baselines.last_node import solve_last_node
from jettison.solvers.remat_graph.baselines.revolve import solve_linearized_griewank
from jettison.solvers.remat_graph.baselines.simple import solve_recompute_all

Baseline = Callable[[RematGraph, SolveOptions], Outcome]

# Those that are better or quicker first; storing everything is a matter of the memory alone.
CHEAP: tuple[Baseline, ...] = (
    solve_dtr,
    solve_ap_chen_sqrt,
    solve_chen_sqrt,
    solve_ap_chen_greedy,
    solve_last_node,
    solve_linearized_griewank,
    solve_chen_greedy,
    solve_recompute_all,
)


class BaselineStarts:
    """Baselines that run one after another while a search goes on.

    Parameters
    ----------
    problem, options, clock
        As for the method that they are the baselines of.
    incumbent
        Takes their schedules.
    moves_per_node
        What annealing has, for each node, before the next one begins.
    methods
        The baselines, in their order.
    """

    def __init__(
        self,
        problem: RematGraph,
        options: SolveOptions,
        clock: Clock,
        incumbent: Incumbent[GraphSchedule],
        moves_per_node: int,
        methods: Sequence[Baseline] = CHEAP,
    ) -> None:
        self._problem = problem
        self._options = options.quiet()
        self._clock = clock
        self._incumbent = incumbent
        self._moves_between = moves_per_node * len(problem.instance)
        self._pending = list(methods)
        self._granted = 0

    def grant(self, moves: int) -> None:
        """Run the next baseline when annealing has had its moves since the last one."""
        self._granted += moves
        if self._pending and self._granted >= self._moves_between:
            self._granted = 0
            self._run(self._pending.pop(0))

    def run_all(self) -> None:
        """Run all remaining baselines, and annealing as a baseline, in the time that is left."""
        while self._pending:
            self._run(self._pending.pop(0))
        self._run(solve_anneal)

    def _run(self, method: Baseline) -> None:
        left_s = self._clock.left_s
        if not left_s:
            return
        limit_s = None if math.isinf(left_s) else left_s
        outcome = method(self._problem, replace(self._options, time_limit_s=limit_s))
        pass_interrupt_on(outcome.termination)
        if isinstance(outcome.schedule, GraphSchedule):
            self._incumbent.offer(outcome.schedule)
