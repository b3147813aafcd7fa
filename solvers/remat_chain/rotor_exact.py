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

from dataclasses import dataclass

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
from jettison.solvers.remat_chain.least_memory import (
    chain_schedule,
    least_memory,
    persistent_infeasibility,
)
from jettison.solvers.remat_chain.needs import ChainNeeds
from jettison.solvers.remat_chain.rotor import fastest_known, solve_rotor

# Limit on all tables of the search together.
MOST_BYTES = 2 * 2**30
# The most slots that the kernel can count. In practice a few thousand suffice.
MOST_SLOTS = 2**28
# The first grid: coarse enough to be cheap, for it is the only one that has to hold everything, and
# fine enough to drop most of it. Where inputs take less than a slot, almost nothing is dropped.
FEWEST_SLOTS = 64
SLOTS_PER_INPUT = 2
SLOTS_PER_STAGE = 1.5


@dataclass(frozen=True, kw_only=True)
class RotorExactParams(Params):
    """Limits of the exact search.

    Attributes
    ----------
    most_stages
        On longer chains the first grid that fits in memory is too coarse to drop anything; `rotor`
        is asked in its place.
    most_slots
        Slots of the finest grid; what is left after it is solved in exact bytes.
    most_bytes
        Of all tables together.
    """

    most_stages: int = 700
    most_slots: int = MOST_SLOTS
    most_bytes: int = MOST_BYTES


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


@dataclass(frozen=True, slots=True)
class Effort:
    """First grid and limits of a search; the optimum does not depend on them.

    Attributes
    ----------
    first_slots
        Slots of the first grid; None for as many as suit the sizes and the memory.
    most_slots
        Slots of the finest grid; what is left after it is solved in exact bytes.
    most_bytes
        Limit on all tables together.
    """

    first_slots: int | None = None
    most_slots: int = MOST_SLOTS
    most_bytes: int = MOST_BYTES


def search_persistent_optimum(
    needs: ChainNeeds,
    memory_bytes: int,
    known: ChainSchedule,
    options: SolveOptions,
    effort: Effort | None = None,
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
        Gap, time limit, and the callback for progress.
    effort
        The first grid, and the memory that the tables may use.
    """
    clock = Clock(options.time_limit_s)
    effort = effort or Effort()
    chain = needs.chain
    best = Search(
        lower_bound_ns=chain.base_time_ns,
        schedule=known,
        time_ns=known.replay(chain, memory_bytes).time_ns,
        slots=0,
        states=0,
        is_complete=False,
    )
    with Ending() as ending:
        search = _start(needs, memory_bytes, best.time_ns, effort)
        while True:
            with Ending() as refining:
                search.refine(None if options.time_limit_s is None else clock.left_s)
            best = _bracket(search, best)
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
    needs: ChainNeeds, memory_bytes: int, options: SolveOptions
) -> tuple[Search, Termination, int]:
    """Search from the schedule of least memory; return the result, why it ended, and the slots.

    Parameters
    ----------
    needs
        The thresholds of the instance.
    memory_bytes
        The limit, the input included; at least the least memory that meets the thresholds.
    options
        Gap, time limit, and the callback for progress.
    """
    known = least_memory(needs)[1]
    best, termination = search_persistent_optimum(needs, memory_bytes, known, options)
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
    refusal = persistent_infeasibility(problem.instance, problem.memory_bytes)
    if refusal is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refusal)
    if len(problem.instance) > params.most_stages:
        return solve_rotor(problem, options)
    clock = Clock(options.time_limit_s)
    needs = ChainNeeds(problem.instance)
    effort = Effort(most_slots=params.most_slots, most_bytes=params.most_bytes)
    known = fastest_known(problem.instance, options)
    best, termination = search_persistent_optimum(
        needs, problem.memory_bytes, known, options, effort
    )
    outcome = Outcome(
        termination=termination,
        schedule=best.schedule,
        bounds=(
            Bound(
                time_ns=best.lower_bound_ns,
                valid_for=ScheduleClass.PERSISTENT,
                evidence=Evidence.EXACT,
                method="rotor-exact",
            ),
        ),
        work={"slots": best.slots, "states": best.states},
    )
    return with_cut_bound(outcome, problem, options, clock)


def _start(
    needs: ChainNeeds, memory_bytes: int, known_ns: int, effort: Effort
) -> _kernels.PersistentSearch:
    chain = needs.chain
    available = memory_bytes - chain.input_bytes
    # A grid needs some memory to divide. Where there is none, half a byte serves as well: a tensor
    # with a size does not fit into it, and one without a size does.
    scale = 1
    if available == 0:
        available, scale = 1, 2
    first_slots = effort.first_slots
    if first_slots is None:
        first_slots = _first_slots(needs, available, effort.most_bytes)
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
        effort.most_slots,
        effort.most_bytes,
    )


def _first_slots(needs: ChainNeeds, available: int, most_bytes: int) -> int:
    """Return the first number of slots: an input of mean size takes two, where limits allow it.

    Two tables with that many, at 4 bytes an entry, take at most three quarters of the memory; so do
    the eight tables of the program with drops.
    """
    count = len(needs.chain)
    kinds = needs.forward_all.size // count**2
    total = int(needs.input_bytes.sum(dtype=object))
    wanted = SLOTS_PER_INPUT * count * available // max(total, 1)
    wanted = max(FEWEST_SLOTS, min(wanted, int(SLOTS_PER_STAGE * count)))
    return max(1, min(wanted, 3 * most_bytes // (16 * kinds * count * (count + 1))))


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
