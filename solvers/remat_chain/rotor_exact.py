r"""Fastest persistent schedule of a chain, exact to the byte and nanosecond, by pruned grids.

The recurrence of `rotor`, :math:`C(s,t,m)`, is bounded on grids of finer and finer slots, from two
sides. The *inside* bound of the sub-chain :math:`s,\dots,t` in a slot of memory sizes is the
program with sizes rounded down. The *outside* bound is the least time that any solution which has
this sub-chain in this slot spends on everything else. It is computed from the root down: each part
of a choice has the outside bound of its parent, plus the inside bound of the other part:

.. math::

    O(s', t, m - a^{s'-1}) &\le O(s,t,m) + \sum_{k=s}^{s'-1} u_f^k + C(s, s'-1, m) \\
    O(s, s'-1, m)          &\le O(s,t,m) + \sum_{k=s}^{s'-1} u_f^k + C(s', t, m - a^{s'-1}) \\
    O(s+1, t, m - \bar a^s) &\le O(s,t,m) + u_f^s + u_b^s

Where inside and outside together reach the time of a schedule that is known, no faster schedule has
that sub-chain in that slot, and the next grid leaves it out; the same holds for a single choice.
This is the inside-outside pruning of parsing, from coarse to fine (Charniak et al., 2006, have it
with probabilities; here both bounds are proved, so that no optimum is lost). The sub-chains that
are left soon fit into step functions in exact bytes: :math:`C(s,t,\cdot)` never grows with
:math:`m`. ``_native/remat_chain/pruned_grid.hpp`` and ``exact_program.hpp`` beside it have the
rules and their proofs.

The first grid takes time :math:`O(N^3 S)`. For the rest no bound better than the number of
reachable memory sizes is known; ``benchmarks/exact_search.py`` measures it. Beyond some 700 stages,
2 GiB no longer hold a first grid that is fine enough to drop much, and the answer is a bracket.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from jettison.instances.remat_chain.problem import RematChain
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_chain.schedule import ChainSchedule
from jettison.solvers import _kernels
from jettison.solvers.core.bound import Bound, Evidence
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import Outcome, Progress, SolveOptions
from jettison.solvers.core.params import Params
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_chain.cut_bound import with_cut_bound
from jettison.solvers.remat_chain.larger_gradients import bracketed_where_gradients_are_larger
from jettison.solvers.remat_chain.least_memory import (
    chain_schedule,
    duration_ns,
    least_memory,
    persistent_infeasibility,
)
from jettison.solvers.remat_chain.needs import ChainNeeds
from jettison.solvers.remat_chain.rotor import RotorParams, fastest_known, solve_rotor


@dataclass(frozen=True, kw_only=True)
class SearchGridParams(Params):
    """Parameters of the exact search: its first grid and its limits; its optimum is the same.

    The first grid should be coarse enough to be cheap, for it is the only one that has to hold
    everything, and fine enough to drop most of it.

    Attributes
    ----------
    first_search_slots
        Slots of the first grid of the exact search; 0 for as many as suit sizes and memory.
    fewest_search_slots
        Fewest slots of the first grid of the exact search, where they are to suit.
    search_slots_per_stage
        Most slots of the first grid of the exact search for each stage, where they are to suit.
    most_search_slots
        Slots of the finest grid of the exact search; what is left after it is solved in exact
        bytes. In practice a few thousand suffice.
    most_search_bytes
        Largest size of all tables of the exact search together.
    """

    at_least: ClassVar[Mapping[str, float]] = {"first_search_slots": 0}

    first_search_slots: int = 0
    fewest_search_slots: int = 64
    search_slots_per_stage: float = 1.5
    most_search_slots: int = 2**28
    most_search_bytes: int = 2 * 2**30


SEARCH_GRID = SearchGridParams()


@dataclass(frozen=True, kw_only=True)
class ExactSearchParams(SearchGridParams):
    """Parameters of the exact search of a whole chain.

    Attributes
    ----------
    search_slots_per_input
        Slots of an input of mean size in the first grid of the exact search. Where it takes less,
        almost nothing is dropped.
    """

    search_slots_per_input: int = 2


EXACT_SEARCH = ExactSearchParams()


@dataclass(frozen=True, kw_only=True)
class RotorExactParams(ExactSearchParams, RotorParams):
    """Parameters of rotor-exact: its search, and grids of rotor on the longest chains.

    Attributes
    ----------
    most_stages
        On longer chains the first grid that fits in memory is too coarse to drop anything; `rotor`
        is asked in its place.
    """

    most_stages: int = 700


ROTOR_EXACT = RotorExactParams()


@dataclass(frozen=True, slots=True)
class Search:
    """Outcome of one exact search: a lower bound and a schedule.

    Attributes
    ----------
    lower_bound_ns
        Lower bound on the time of persistent schedules.
    schedule
        The fastest schedule found that fits.
    time_ns
        Its time; the optimum if `is_complete`.
    slots
        Slots of the finest grid.
    states
        Pairs of sub-chain and slot that were bounded, and corners of step functions.
    is_complete
        Whether bound and time meet.
    """

    lower_bound_ns: int
    schedule: ChainSchedule
    time_ns: int
    slots: int
    states: int
    is_complete: bool


def search_persistent_optimum(
    needs: ChainNeeds,
    memory_bytes: int,
    known: ChainSchedule,
    options: SolveOptions,
    params: ExactSearchParams = EXACT_SEARCH,
    bound_of: Callable[[int], Bound] | None = None,
) -> tuple[Search, Termination]:
    """Narrow the bracket around the optimum, grid after grid; return it and why the search ended.

    Parameters
    ----------
    needs
        The thresholds of the instance, which say what may be checkpointed.
    memory_bytes
        The limit, the input included; at least the least memory that meets the thresholds.
    known
        A schedule that fits; only faster ones are sought.
    options
        Gap, time limit, and the callbacks.
    params
        The first grid, and the memory that the tables may use.
    bound_of
        Makes a bound of its time, to be told; None where nobody is told of bounds.
    """
    clock = Clock(options.time_limit_s)
    chain = needs.chain
    best = Search(
        lower_bound_ns=chain.base_time_ns,
        schedule=known,
        time_ns=duration_ns(known, chain),
        slots=0,
        states=0,
        is_complete=False,
    )
    with Ending() as ending:
        search = _start(needs, memory_bytes, best.time_ns, params)
        while True:
            with Ending() as refining:
                search.refine(None if options.time_limit_s is None else clock.left_s)
            before, best = best, _bracket(search, best)
            if options.on_schedule is not None and best.time_ns < before.time_ns:
                options.on_schedule(best.schedule, best.schedule.replay(chain, memory_bytes))
            if options.on_bound is not None and bound_of is not None:
                options.on_bound(bound_of(best.lower_bound_ns))
            if options.on_progress is not None:
                options.on_progress(Progress(clock.seconds, best.time_ns, best.lower_bound_ns))
            if best.is_complete:
                return best, Termination.COMPLETED
            if options.is_close_enough(best.time_ns, best.lower_bound_ns, chain.base_time_ns):
                return best, Termination.GAP_REACHED
            if not refining.termination.is_regular:
                return best, refining.termination
    return best, ending.termination


def refine(
    needs: ChainNeeds,
    memory_bytes: int,
    options: SolveOptions,
    params: ExactSearchParams = EXACT_SEARCH,
) -> tuple[Search, Termination, int]:
    """Search from the schedule of least memory; return the result, why it ended, and the slots.

    Parameters
    ----------
    needs
        The thresholds of the instance.
    memory_bytes
        The limit, the input included; at least the least memory that meets the thresholds.
    options
        Gap, time limit, and the callbacks.
    params
        The first grid, and the memory that the tables may use.
    """
    known = least_memory(needs)[1]
    best, termination = search_persistent_optimum(needs, memory_bytes, known, options, params)
    return best, termination, best.slots


def solve_rotor_exact(
    problem: RematChain, options: SolveOptions, params: RotorExactParams = ROTOR_EXACT
) -> Outcome:
    """Return the fastest persistent schedule, exact to the byte and the nanosecond; see `refine`.

    Beyond 700 stages the first grid that fits in memory is too coarse to drop anything. There the
    bracket of `rotor` is returned in its place.

    Returns
    -------
    Outcome
        With a bound valid for persistent schedules and the cut bound, which is valid for all; or a
        proof that no persistent schedule fits. All of it in exact integers.
    """
    if len(problem.instance) > params.most_stages:
        return solve_rotor(problem, options, params)
    return bracketed_where_gradients_are_larger(
        problem, options, lambda chosen, options: _solve(chosen, options, params)
    )


def _solve(problem: RematChain, options: SolveOptions, params: RotorExactParams) -> Outcome:
    refusal = persistent_infeasibility(problem.instance, problem.memory_bytes)
    if refusal is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refusal)
    clock = Clock(options.time_limit_s)
    needs = ChainNeeds(problem.instance)
    known = fastest_known(problem.instance, options)
    best, termination = search_persistent_optimum(
        needs, problem.memory_bytes, known, options, params, _bound
    )
    outcome = Outcome(
        termination=termination,
        schedule=best.schedule,
        bounds=(_bound(best.lower_bound_ns),),
        work={"slots": best.slots, "states": best.states},
    )
    return with_cut_bound(outcome, problem, options, clock, params)


def _bound(time_ns: int) -> Bound:
    return Bound(
        time_ns=time_ns,
        valid_for=ScheduleClass.PERSISTENT,
        evidence=Evidence.EXACT,
        method="rotor-exact",
    )


def _start(
    needs: ChainNeeds, memory_bytes: int, known_ns: int, params: ExactSearchParams
) -> _kernels.PersistentSearch:
    chain = needs.chain
    available = memory_bytes - chain.input_bytes
    # A grid needs some memory to divide. Where there is none, half a byte serves as well: a tensor
    # with a size does not fit into it, and one without a size does.
    scale = 1
    if available == 0:
        available, scale = 1, 2
    first_slots = params.first_search_slots or _first_slots(needs, available, params)
    times = np.array([(stage.forward_ns, stage.backward_ns) for stage in chain], dtype=np.int64)
    return _kernels.PersistentSearch(
        np.ascontiguousarray(times[:, 0]),
        np.ascontiguousarray(times[:, 1]),
        scale * needs.input_bytes,
        scale * needs.saved_bytes,
        scale * needs.forward_all,
        scale * needs.forward_none,
        available,
        known_ns,
        first_slots,
        params.most_search_slots,
        params.most_search_bytes,
    )


def _first_slots(needs: ChainNeeds, available: int, params: ExactSearchParams) -> int:
    """Return the first number of slots: an input of mean size takes two, where limits allow it.

    Two tables with that many, at 4 bytes an entry, take at most three quarters of the memory; so do
    the eight tables of the program with drops.
    """
    count = len(needs.chain)
    kinds = needs.forward_all.size // count**2
    total = int(needs.input_bytes.sum(dtype=object))
    wanted = params.search_slots_per_input * count * available // max(total, 1)
    wanted = max(
        params.fewest_search_slots, min(wanted, int(params.search_slots_per_stage * count))
    )
    return max(1, min(wanted, 3 * params.most_search_bytes // (16 * kinds * count * (count + 1))))


def _bracket(search: _kernels.PersistentSearch, before: Search) -> Search:
    sequence = search.sequence
    return Search(
        lower_bound_ns=max(before.lower_bound_ns, search.lower_bound_ns),
        schedule=chain_schedule(sequence) if sequence else before.schedule,
        time_ns=search.time_ns,
        slots=search.slots,
        states=search.states,
        is_complete=search.is_complete or search.time_ns == before.lower_bound_ns,
    )
