r"""anneal: simulated annealing over the recomputations of a graph.

A staged schedule is a set of recomputations :math:`(t, v)`, :math:`v < t`: node `v` is computed
again in the stage in which `t` is computed for the first time. All computations run in ascending
order of (stage, node). A value lives from its computation to its last read before its node is
computed again; the last value of a kept node lives to the end, one that nothing reads only while it
is computed. Whatever the set is, every input is in memory when it is needed: only the time and the
memory change. With :math:`m_e` the memory that computation `e` uses (the values alive, its own one
and its workspace) the search minimizes

.. math:: \sum_e C_{v(e)} + \lambda \sum_e \max(0, m_e - B),

where the price :math:`\lambda` is adapted so that between a fifth and a half of the states fit.
The moves:

* evict: a value alive above the limit and not read there is recomputed for its next use, and with
  it up to :math:`2^r - 1` of the ancestors that are no longer in memory, `r` the smaller of two
  even draws; the other inputs stay for longer;
* drop: a recomputation is taken out, and in turn all that nobody reads any more;
* shift: a recomputation moves to another stage;
* drop and evict in one.

The temperature falls geometrically, from the mean duration to 0.002 times that, in rounds that
become three times as long each. A round starts from the best schedule known, every other one at a
fifth of the temperature. If the first round finds no schedule that fits, the search for the least
peak takes over (`least_peak`), from the peak without recomputation down to the first state that
fits.

Whether a move is accepted at the temperature :math:`T` is drawn ahead of it, as the most energy
:math:`E - T \ln u` that it may lead to, `u` even in (0, 1]. While the ancestors to recompute are
collected, time and excess can be bounded from below: every one of them takes its time and is a
computation more, and only the first one, which was evicted, frees memory. So most sets are refused
before anything is changed. What an earlier recomputation made up for by becoming useless is not
counted against a set.

Annealing can start from a given schedule: the rounds begin again from it, the first one at the
lower temperature. A schedule that does not fit is repaired by that round.

To add or remove a recomputation takes time linear in the number of stages during which the values
concerned live, and in that of the computations of those stages that are above the limit, plus the
squared degree of the node. A move takes one or two microseconds with up to a thousand nodes and
about five with five thousand, but up to a tenth of a millisecond or more while much is above the
limit.

Times and bytes are exact 64-bit integers: sizes add up to less than 2^60, a node is computed at
most once in each stage, and there are at most 2^20 computations, of which the memory above the
limit is summed up in bytes (in larger units, rounded up, where sizes add up to 2^42 or more). The
result is the same for a seed if no time limit ends the search.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.core.any_schedule import Schedule
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers import _kernels
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import Outcome, Progress, SolveOptions
from jettison.solvers.core.params import Params
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_graph.kernel_arrays import graph_arrays
from jettison.solvers.remat_graph.memory_floor import memory_for_everything, too_little_memory


@dataclass(frozen=True, kw_only=True)
class AnnealParams(Params):
    """Parameters of annealing: the number of its rounds.

    Attributes
    ----------
    rounds
        Rounds, in each of which the temperature falls; each is three times as long as the last.
    moves_at_once
        Moves between two looks at the clock.
    """

    rounds: int = 7
    moves_at_once: int = 5_000


ANNEAL = AnnealParams()


def solve_anneal(
    problem: RematGraph, options: SolveOptions, params: AnnealParams = ANNEAL
) -> Outcome:
    """Return the fastest staged schedule found, or a note that none was.

    A staged start is known from the beginning, and the first round starts from it.
    Only sizes prove that nothing fits; a search in vain proves nothing.
    """
    settled = too_little_memory(problem) or memory_for_everything(problem)
    if settled is not None:
        return settled
    graph = problem.instance
    clock = Clock(options.time_limit_s)
    search = annealing_of(problem, options.seed, graph.base_time_ns, params.rounds)
    start = _staged(graph, options.start)
    if start is not None:
        search.start_from(np.array(start.computations, dtype=np.int32))
    termination = run_annealing(
        search,
        graph.base_time_ns,
        options,
        clock,
        moves_at_once=params.moves_at_once,
        graph=graph,
    )
    work = {"moves": search.tried}
    if search.time_ns is None:
        return Outcome(
            termination=termination,
            work=work,
            note="no schedule was found that fits; that does not prove that there is none",
        )
    return Outcome(
        termination=termination,
        schedule=GraphSchedule.from_computations(graph, search.computations),
        work=work,
    )


def _staged(graph: Graph, start: Schedule | None) -> GraphSchedule | None:
    """Return a start that annealing can begin from: its states are staged."""
    if not isinstance(start, GraphSchedule):
        return None
    is_staged = ScheduleClass.STAGED.covers(start.replay(graph).schedule_class)
    return start if is_staged else None


def annealing_of(
    problem: RematGraph, seed: int, floor_ns: int, rounds: int = ANNEAL.rounds
) -> _kernels.RematAnneal:
    """Return the kernel's search for a problem before its first move; `floor_ns` ends it."""
    return _kernels.RematAnneal(
        **graph_arrays(problem.instance),
        memory_bytes=problem.memory_bytes,
        floor_ns=floor_ns,
        rounds=rounds,
        seed=seed,
    )


def run_annealing(
    search: _kernels.RematAnneal,
    floor_ns: int,
    options: SolveOptions,
    clock: Clock,
    most_moves: float = math.inf,
    moves_at_once: int = ANNEAL.moves_at_once,
    graph: Graph | None = None,
) -> Termination:
    """Search until all rounds or moves are over, the time is up or the user interrupts.

    With the graph, `options.on_schedule` hears of each better schedule.
    """
    told_ns: int | None = None
    with Ending() as ending:
        while not search.is_over and search.tried < most_moves:
            search.run(moves_at_once, None if options.time_limit_s is None else clock.left_s)
            time_ns = search.time_ns
            if graph is not None and options.on_schedule is not None and time_ns != told_ns:
                schedule = GraphSchedule.from_computations(graph, search.computations)
                options.on_schedule(schedule, schedule.replay(graph))
                told_ns = time_ns
            if options.on_progress is not None:
                options.on_progress(Progress(clock.seconds, time_ns, floor_ns))
            if time_ns is not None and options.is_close_enough(time_ns, floor_ns, floor_ns):
                return Termination.GAP_REACHED
    return ending.termination
