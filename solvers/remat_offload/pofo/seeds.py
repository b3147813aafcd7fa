"""Schedules of the baselines, from which `pofo` starts.

All of them are offered to one incumbent, the cheap ones first, and each runs to its end, a fraction
of a second on most chains: no clock is a part of what they find, unless their time is over, which
is at least a second (`PofoParams`). What cannot be faster than the best so far is left out. Of
transfers alone, without recomputation, there are the greedy choice and the first grids of the
program.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from jettison.schedules.remat_offload.schedule import OffloadSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending, pass_interrupt_on
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.remat_chain.baselines import store_all_schedule
from jettison.solvers.remat_offload.autocapper import offer_capped, offer_capped_sequences
from jettison.solvers.remat_offload.baselines import solve_rotor_alone
from jettison.solvers.remat_offload.incumbent import OffloadIncumbent
from jettison.solvers.remat_offload.offload_everything import offload_everything
from jettison.solvers.remat_offload.opportunist import offer_opportunist
from jettison.solvers.remat_offload.pofo.phases import ProgramSearch


def offer_seeds(
    incumbent: OffloadIncumbent, options: SolveOptions, moving: ProgramSearch, clock: Clock
) -> None:
    """Offer the schedules of all baselines, or of as many as the time of `clock` is enough for.

    Parameters
    ----------
    incumbent
        Takes them.
    options
        Of the method.
    moving
        The search without recomputation, of which the first part is asked.
    clock
        The time for all of them.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C, after the schedule that a baseline had by then.
    """
    chain = incumbent.problem.instance
    # Offloading everything fits: so there is a schedule where no plan fits, and on Ctrl-C.
    incumbent.offer(offload_everything(chain))
    if chain.store_all_peak_bytes <= incumbent.problem.memory_bytes:
        incumbent.offer(OffloadSchedule(store_all_schedule(chain).operations))
    with Ending() as ending:
        for _ in _others(incumbent, options, moving, clock):
            if incumbent.is_optimal:
                break
            clock.require_time()
    pass_interrupt_on(ending.termination)


def offer_greedy(incumbent: OffloadIncumbent) -> Iterator[None]:
    """Offer GREEDY, that is capper without recomputation: rounding may hide it from the program."""
    offer_capped(incumbent, store_all_schedule(incumbent.problem.instance))
    yield


def _others(
    incumbent: OffloadIncumbent, options: SolveOptions, moving: ProgramSearch, clock: Clock
) -> Iterator[None]:
    yield
    with Ending() as ending:
        offer_opportunist(incumbent, _left_s(clock))
    pass_interrupt_on(ending.termination)
    yield
    asked = replace(options.quiet(), time_limit_s=_left_s(clock))
    alone = solve_rotor_alone(incumbent.problem, asked)
    if isinstance(alone.schedule, OffloadSchedule):
        incumbent.offer(alone.schedule)
    pass_interrupt_on(alone.termination)
    yield
    yield from offer_greedy(incumbent)
    yield from moving.first(clock)
    yield from offer_capped_sequences(incumbent, options, clock)


def _left_s(clock: Clock) -> float | None:
    """Return the time that is left, at least a little; None for no limit."""
    return None if math.isinf(clock.left_s) else max(clock.left_s, 1e-3)
