"""Baselines that leave the link idle: schedules without transfers."""

from __future__ import annotations

from dataclasses import replace

from jettison.instances.core.units import format_bytes
from jettison.instances.remat_offload.problem import RematOffloadChain
from jettison.schedules.remat_offload.schedule import OffloadSchedule
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_chain.baselines import store_all_schedule
from jettison.solvers.remat_chain.least_memory import least_persistent_memory
from jettison.solvers.remat_chain.needs import ChainNeeds
from jettison.solvers.remat_chain.rotor_exact import EXACT_SEARCH, ExactSearchParams, refine


def solve_rotor_alone(
    problem: RematOffloadChain, options: SolveOptions, params: ExactSearchParams = EXACT_SEARCH
) -> Outcome:
    """Return the fastest persistent schedule without transfers, if one fits; see `refine`.

    Neither its bound nor its proof that nothing fits holds for schedules with transfers.
    """
    chain, memory_bytes = problem.instance, problem.memory_bytes
    least = least_persistent_memory(chain)[0]
    if memory_bytes < least:
        return _too_small("rotor", least)
    # What the search would tell of are schedules of a chain without a link.
    asked = replace(options.quiet(), on_progress=options.on_progress)
    best, termination, slots = refine(ChainNeeds(chain), memory_bytes, asked, params)
    return Outcome(
        termination=termination,
        schedule=OffloadSchedule(best.schedule.operations),
        work={"slots": slots, "states": best.states},
    )


def solve_store_all(problem: RematOffloadChain, options: SolveOptions) -> Outcome:
    """Return the schedule that saves everything in memory, if it fits."""
    del options
    least = problem.instance.store_all_peak_bytes
    if problem.memory_bytes < least:
        return _too_small("store-all", least)
    schedule = OffloadSchedule(store_all_schedule(problem.instance).operations)
    return Outcome(termination=Termination.COMPLETED, schedule=schedule)


def _too_small(method: str, least_bytes: int) -> Outcome:
    return Outcome(
        termination=Termination.COMPLETED,
        note=f"{method} needs {format_bytes(least_bytes)} ({least_bytes} bytes) on this instance",
    )
