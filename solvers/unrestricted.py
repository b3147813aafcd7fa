r"""The fastest of RR-9302's sequences on a short chain, by search over memory contents.

RR-9302 (Section 4.1) shows that persistence can cost time and leaves the optimum without it open.
Here it is found on short chains by a shortest path, over the sequences of Table 1: they free memory
only by running an operation, so that schedules that drop values for nothing can be faster.

States
------
What is in memory: the gradient :math:`\delta^g`, and each stage :math:`k \le g` as a plain
:math:`a^k`, as :math:`\bar a^k`, or not at all; at most :math:`\sum_g 3^g` states. An arc is an
operation of Table 1 that fits, with its time. These arcs are left out, because a schedule without
them is as fast and needs no more memory:

* :math:`F^k` with :math:`k > g`. Nothing reads its output, and all it can do is to drop what is
  held of stage :math:`k - 1 \ge g`. Of a stage above :math:`g` nothing is ever held without such
  operations, for :math:`B^{k+1}` drops :math:`a^k` and :math:`B^k` drops :math:`\bar a^k`. And an
  :math:`\bar a^g` that is dropped before :math:`B^g` need not be held after :math:`B^{g+1}`: the
  :math:`F_{all}^g` that made it can be :math:`F_{ck}^g`, whose output serves the same reads,
  takes no more memory and is gone after :math:`B^{g+1}`; made later than that, it can be left out.
* :math:`F_\emptyset^1`: nothing computes :math:`a^0` again, and :math:`B^1` reads it.
* :math:`F_{ck}^k` where stage :math:`k` is held, and :math:`F_{all}^k` where :math:`\bar a^k` is:
  they change nothing. :math:`F_{ck}^g`: nothing reads a plain :math:`a^g`.

Estimate
--------
Let :math:`j` be the largest stage :math:`\le g` of which :math:`\bar a^j` is not held, and
:math:`c < j` the largest held below. The time that is left is at least

.. math::
    \sum_{k \le g} u_b^k + \max\Bigl( \sum_{k \le g,\; \bar a^k \text{ not held}} u_f^k,\;\;
    \sum_{c < k \le j} u_f^k + W_j \Bigr)

with the rerun bounds :math:`W` of `formulations.chain_cut`: each :math:`\bar a^k` has to be made;
:math:`F_{all}^j` needs the path from :math:`c` on, and what runs after it is not on that path. The
search (A*) opens the state with the least sum of time and estimate, again if it is reached sooner,
and seeks only schedules that are faster than the best persistent one. Whatever stops it, the least
such sum is a lower bound for all schedules.

Time and memory are exponential in the number of stages: a word holds a state of up to 29 stages,
and `MOST_STATES` of them are visited at most. All of it is exact in integers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from jettison.instances.chain import Chain
from jettison.instances.remat_chain import RematChain
from jettison.schedules.chain_schedule import ChainSchedule
from jettison.schedules.schedule_class import ScheduleClass
from jettison.solvers import _kernels
from jettison.solvers.bound import Bound, Evidence
from jettison.solvers.chain_cut_bound import ChainCuts
from jettison.solvers.chain_needs import ChainNeeds
from jettison.solvers.clock import Clock
from jettison.solvers.gap import most_open_ns
from jettison.solvers.least_chain_memory import (
    chain_schedule,
    least_memory_of_any_schedule,
    least_persistent_memory,
)
from jettison.solvers.outcome import Infeasibility, Outcome, Problem, Progress, SolveOptions
from jettison.solvers.rotor_exact import refine
from jettison.solvers.status import Termination

# About 100 bytes each, what waits in the queue included.
MOST_STATES = 5_000_000

Amounts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ContentsSearch:
    """What one search over memory contents proved.

    Attributes
    ----------
    lower_bound
        Nothing that was sought is below: nanoseconds, or bytes of a peak.
    schedule
        The best schedule that was sought, or None.
    states
        Memory contents that were met.
    is_complete
        Whether the search came to its end.
    """

    lower_bound: int
    schedule: ChainSchedule | None
    states: int
    is_complete: bool


def search_fastest(
    problem: RematChain,
    below_ns: int | None = None,
    *,
    most_states: int = MOST_STATES,
    time_limit_s: float | None = None,
) -> ContentsSearch:
    """Search the fastest of all schedules that fit, or of those below a time.

    If there is none, the lower bound is that time, or without one more than any schedule takes.

    Raises
    ------
    ValueError
        If the chain has more than 29 stages.
    """
    chain = problem.instance
    lower, _, sequence, states, is_complete = _kernels.fastest_schedule(
        _amounts(stage.forward_ns for stage in chain),
        _amounts(stage.backward_ns for stage in chain),
        *_sizes(chain),
        _rerun_bounds(problem),
        problem.memory_bytes,
        below_ns,
        most_states,
        time_limit_s,
    )
    return ContentsSearch(lower, _schedule(sequence), states, is_complete)


def search_smallest(
    chain: Chain,
    below_bytes: int,
    *,
    most_states: int = MOST_STATES,
    time_limit_s: float | None = None,
) -> ContentsSearch:
    """Search the least peak of all schedules with a peak below some bytes, whatever their time.

    If there is none, the lower bound is `below_bytes`. The search is the same with the largest need
    so far in place of the time; it starts at what single operations need.

    Raises
    ------
    ValueError
        If the chain has more than 29 stages.
    """
    lower, _, sequence, states, is_complete = _kernels.smallest_schedule(
        *_sizes(chain), below_bytes, most_states, time_limit_s
    )
    return ContentsSearch(lower, _schedule(sequence), states, is_complete)


def solve_unrestricted(problem: Problem, options: SolveOptions) -> Outcome:
    """Return the fastest of all schedules of a chain of at most 29 stages.

    Returns
    -------
    Outcome
        With a bound valid for all schedules, which meets the time unless a limit was hit; or a
        proof that no schedule at all fits, with the least memory of any. At a limit, the best
        schedule known: the persistent one from which the search starts.
    """
    assert isinstance(problem, RematChain)
    chain, memory_bytes = problem.instance, problem.memory_bytes
    if len(chain) > _kernels.MOST_STAGES:
        return Outcome(
            termination=Termination.NODE_LIMIT,
            note=f"memory contents of {len(chain)} stages are too many to search: at most "
            f"{_kernels.MOST_STAGES} are tried; use rotor-exact and cut-bound",
        )
    clock = Clock(options.time_limit_s)
    persistent_bytes = least_persistent_memory(chain)[0]
    if memory_bytes >= persistent_bytes:
        half = None if options.time_limit_s is None else options.time_limit_s / 2
        start, termination, _ = refine(
            ChainNeeds(chain), memory_bytes, replace(options, gap=0, time_limit_s=half)
        )
        if termination is Termination.INTERRUPTED:
            return _without_search(problem, start.schedule, termination)
        return _search(problem, start.schedule, options, clock)
    try:
        smallest = search_smallest(chain, persistent_bytes, time_limit_s=_left(clock))
    except KeyboardInterrupt:
        return _without_search(problem, None, Termination.INTERRUPTED)
    except MemoryError:
        return _without_search(problem, None, Termination.MEMORY_LIMIT)
    if smallest.lower_bound > memory_bytes:
        beyond_all = memory_bytes < least_memory_of_any_schedule(problem.instance)
        return Outcome(
            termination=Termination.COMPLETED,
            infeasibility=Infeasibility(
                valid_for=ScheduleClass.ALL if beyond_all else ScheduleClass.TABLE_1,
                least_memory_bytes=smallest.lower_bound,
                is_exact=smallest.is_complete,
            ),
            work={"states": smallest.states},
        )
    return _search(problem, smallest.schedule, options, clock)


def _search(
    problem: RematChain, known: ChainSchedule | None, options: SolveOptions, clock: Clock
) -> Outcome:
    """Seek a schedule that is faster than the one that is known by more than the gap."""
    chain = problem.instance
    below_ns = None
    if known is not None:
        known_ns = known.replay(chain).time_ns
        if known_ns == _cut_bound_ns(problem):
            return _without_search(problem, known, Termination.COMPLETED)
        below_ns = known_ns - most_open_ns(options.gap, known_ns, chain.base_time_ns)
    try:
        found = search_fastest(problem, below_ns, time_limit_s=_left(clock))
    except KeyboardInterrupt:
        return _without_search(problem, known, Termination.INTERRUPTED)
    except MemoryError:
        return _without_search(problem, known, Termination.MEMORY_LIMIT)
    lower_ns = max(found.lower_bound, _cut_bound_ns(problem))
    schedule = known if found.schedule is None else found.schedule
    time_ns = None if schedule is None else schedule.replay(chain).time_ns
    if options.on_progress is not None:
        options.on_progress(Progress(clock.seconds, time_ns, lower_ns))
    if time_ns == lower_ns:
        termination = Termination.COMPLETED
    elif found.is_complete:
        termination = Termination.GAP_REACHED
    else:
        termination = Termination.TIME_LIMIT if clock.left_s == 0 else Termination.NODE_LIMIT
    return Outcome(
        termination=termination,
        schedule=schedule,
        bounds=(_bound(lower_ns),),
        work={"states": found.states},
        note=None if schedule else "no schedule was found before the end of the search",
    )


def _without_search(
    problem: RematChain, known: ChainSchedule | None, termination: Termination
) -> Outcome:
    """Return what is known without the search, or before it was stopped."""
    return Outcome(
        termination=termination,
        schedule=known,
        bounds=(_bound(_cut_bound_ns(problem)),),
        note=None if known else "no schedule was found before the end of the search",
    )


def _bound(time_ns: int) -> Bound:
    return Bound(
        time_ns=time_ns,
        valid_for=ScheduleClass.TABLE_1,
        evidence=Evidence.EXACT,
        method="unrestricted",
    )


def _left(clock: Clock) -> float | None:
    return None if math.isinf(clock.left_s) else clock.left_s


def _cut_bound_ns(problem: RematChain) -> int:
    return problem.instance.base_time_ns + int(max(_rerun_bounds(problem)))


@lru_cache(maxsize=8)
def _rerun_bounds(problem: RematChain) -> Amounts:
    r"""Return :math:`W_1, \dots, W_N`, shape (N,); 0 where a stage fits in no way."""
    chain = problem.instance
    cuts = ChainCuts(chain, problem.memory_bytes)
    below_ns = [0]
    for number in range(1, len(chain) + 1):
        below_ns.append(cuts.rerun_ns(number, below_ns) or 0)
    return np.array(below_ns[1:], dtype=np.int64)


def _sizes(chain: Chain) -> tuple[Amounts, Amounts, Amounts, Amounts]:
    """Return the sizes of a^0..a^N and of what is saved, and what the operations need besides."""
    return (
        _amounts(chain.activation_bytes(number) for number in range(len(chain) + 1)),
        _amounts(stage.saved_bytes for stage in chain),
        _amounts(stage.forward_overhead_bytes for stage in chain),
        _amounts(
            chain.backward_output_bytes(number) + stage.backward_overhead_bytes
            for number, stage in enumerate(chain, start=1)
        ),
    )


def _amounts(values: Iterable[int]) -> Amounts:
    return np.array(list(values), dtype=np.int64)


def _schedule(sequence: list[tuple[int, int]]) -> ChainSchedule | None:
    return chain_schedule(sequence) if sequence else None
