"""Runs of HiGHS on the integer program of a reduced sharding problem."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace

from jettison.formulations.milp.array_model import Floats
from jettison.formulations.sharding.ilp import ShardingIlp, sharding_ilp
from jettison.formulations.sharding.pairwise_choice import Limit
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.status import Answer, Termination
from jettison.solvers.core.work import moves_of
from jettison.solvers.milp.highs_in_time import solve_in_time
from jettison.solvers.milp.highs_of_a_method import highs_options
from jettison.solvers.milp.solution import Progress
from jettison.solvers.sharding.incumbent import ShardingIncumbent
from jettison.solvers.sharding.presolve.reduced_graph import ReducedGraph


def solve_rest(
    graph: ReducedGraph,
    below_ns: int,
    incumbent: ShardingIncumbent,
    clock: Clock,
    options: SolveOptions,
    first_rows: int,
    work: dict[str, int],
) -> None:
    """Find the cheapest choice of a graph if it costs less than `below_ns`.

    Unless the time is up, the bound that rests on HiGHS is that cost afterwards, or `below_ns`.
    Where HiGHS cannot tell costs apart (`IntegerScale`) the bound stays below.

    Parameters
    ----------
    graph
        The problem, reduced, with at least one node.
    below_ns
        The graph contains every choice that costs less.
    incumbent
        Receives choices and bounds.
    clock, options
        Those of the method.
    first_rows
        Rows of memory in the first model, the tightest ones.
    work
        Counts of the effort; those of models, columns and branches are raised.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C.
    """
    data, nodes = graph.written()
    tightest = sorted(range(len(data.limits)), key=lambda row: _slack(data.limits[row]))
    rows = set(tightest[:first_rows])
    covers: list[tuple[tuple[int, int], ...]] = []
    while not incumbent.is_settled and clock.left_s:
        built = sharding_ilp(
            replace(data, limits=[data.limits[row] for row in sorted(rows)]), covers
        )
        stop = threading.Event()

        def watch(
            progress: Progress, built: ShardingIlp = built, stop: threading.Event = stop
        ) -> None:
            if progress.dual_bound is not None:
                incumbent.believe_cost(min(below_ns, built.bound_ns(progress.dual_bound)))
            if incumbent.is_settled:
                stop.set()

        def take(values: Floats, built: ShardingIlp = built) -> None:
            incumbent.take(graph.decode_places(nodes, built.choice(values)))

        solution = solve_in_time(
            built.model,
            replace(
                highs_options(options, clock, gap=0),
                work_limit=clock.work_limit(built.model.num_columns),
            ),
            watch,
            on_incumbent=take,
            stop=stop,
        )
        clock.spend(moves_of(built.model.num_columns, solution.work))
        work["models"] += 1
        work["columns"] = max(work["columns"], built.model.num_columns)
        work["branches"] += solution.nodes
        if solution.termination is Termination.INTERRUPTED and not stop.is_set():
            raise KeyboardInterrupt
        if solution.answer is Answer.INFEASIBLE:
            incumbent.believe_cost(below_ns)
            return
        if solution.values is not None:
            take(solution.values)
        if solution.dual_bound is not None:
            incumbent.believe_cost(min(below_ns, built.bound_ns(solution.dual_bound)))
        if solution.values is None or not solution.termination.is_regular:
            return
        strategies = built.choice(solution.values)
        exceeded = {
            row
            for row, limit in enumerate(data.limits)
            if _used(limit, strategies) > limit.capacity
        }
        if not exceeded:
            return
        if exceeded <= rows:
            covers.extend(cover_of(data.limits[row], strategies) for row in sorted(exceeded))
        rows |= exceeded


def _slack(limit: Limit) -> int:
    return limit.capacity - sum(map(max, limit.usages.values()))


def _used(limit: Limit, strategies: Sequence[int]) -> int:
    return sum(usages[strategies[node]] for node, usages in limit.usages.items())


def cover_of(limit: Limit, strategies: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Return a cover of a memory limit: sets of strategies, one per node, that exceed it together.

    Nodes of a choice above the limit are taken, largest usage first, until their usages exceed the
    limit. The set of a node has its strategy and all others that use at least as much.
    """
    used = 0
    cover: list[tuple[int, int]] = []
    for node, usages in sorted(
        limit.usages.items(), key=lambda item: -item[1][strategies[item[0]]]
    ):
        own = usages[strategies[node]]
        used += own
        cover += [(node, a) for a, usage in enumerate(usages) if usage >= own]
        if used > limit.capacity:
            break
    return tuple(cover)
