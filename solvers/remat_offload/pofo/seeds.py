"""Schedules of the baselines, from which `pofo` starts.

All of them are offered to one incumbent, the cheap ones first, and each runs to its end: no clock
is a part of what they find, unless the time of the whole search is over. What cannot be faster than
the best so far is left out, so that together they take little longer than the dearest alone.
Transfers alone, without recomputation, come last (`phases`): only the first grids of their program.
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


def offer_seeds(incumbent: OffloadIncumbent, options: SolveOptions, clock: Clock) -> Iterator[None]:
    """Offer the schedules of all baselines but those of the program without recomputation.

    Raises
    ------
    TimeoutError
        If the time is over.
    KeyboardInterrupt
        On Ctrl-C, after the schedule that a baseline had by then.
    """
    problem = incumbent.problem
    chain = problem.instance
    # Offloading everything fits: so there is a schedule where no plan fits, and on Ctrl-C.
    incumbent.offer(offload_everything(chain))
    if chain.store_all_peak_bytes <= problem.memory_bytes:
        incumbent.offer(OffloadSchedule(store_all_schedule(chain).operations))
    yield
    with Ending() as ending:
        offer_opportunist(incumbent, _left_s(clock))
    pass_interrupt_on(ending.termination)
    yield
    alone = solve_rotor_alone(problem, replace(options.quiet(), time_limit_s=_left_s(clock)))
    if isinstance(alone.schedule, OffloadSchedule):
        incumbent.offer(alone.schedule)
    pass_interrupt_on(alone.termination)
    yield
    yield from offer_greedy(incumbent)
    with Ending() as ending:
        yield from offer_capped_sequences(incumbent, options, clock)
    pass_interrupt_on(ending.termination)
    yield


def offer_greedy(incumbent: OffloadIncumbent) -> Iterator[None]:
    """Offer GREEDY, that is capper without recomputation: rounding may hide it from the program."""
    offer_capped(incumbent, store_all_schedule(incumbent.problem.instance))
    yield


def _left_s(clock: Clock) -> float | None:
    """Return the time that is left, at least a little; None for no limit."""
    return None if math.isinf(clock.left_s) else max(clock.left_s, 1e-3)
