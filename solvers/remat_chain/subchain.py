r"""Fastest persistent schedule of consecutive stages of a chain, between tensors that stay.

It is :math:`C(s,t,m)` of `rotor` for any :math:`s \le t`, where :math:`m` holds neither the input
of stage s nor what else is kept: in exact bytes, or the best that the search of `rotor_exact` has
found by the time limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from jettison.instances.remat_chain.chain import Stage
from jettison.schedules.remat_chain.schedule import ChainOperation, ChainOperationKind
from jettison.solvers import _kernels
from jettison.solvers.core.clock import Clock
from jettison.solvers.remat_chain.least_memory import chain_schedule
from jettison.solvers.remat_chain.needs import ChainNeeds
from jettison.solvers.remat_chain.rotor_exact import SEARCH_GRID, SearchGridParams


def subchain_operations(
    needs: ChainNeeds,
    first: int,
    last: int,
    available_bytes: int,
    time_limit_s: float | None = None,
    params: SearchGridParams = SEARCH_GRID,
) -> tuple[ChainOperation, ...] | None:
    r"""Return the operations from the first forward to the last backward of some stages.

    Parameters
    ----------
    needs
        The thresholds of the whole chain.
    first, last
        The stages, counted from 1; without any the schedule is empty.
    available_bytes
        The memory for all but the input of stage `first`; the gradient of stage `last` counts.
    time_limit_s
        Wall-clock seconds for the search.
    params
        The first grid, and the memory that the tables may use.

    Returns
    -------
    tuple of ChainOperation, or None
        None if no persistent schedule fits.
    """
    if first > last:
        return ()
    span = slice(first - 1, last)
    thresholds = (
        needs.input_bytes[span],
        needs.saved_bytes[span],
        np.ascontiguousarray(needs.forward_all[span, span]),
        np.ascontiguousarray(needs.forward_none[span, span]),
    )
    least_bytes, least = _kernels.least_memory(*thresholds)
    if available_bytes < least_bytes:
        return None
    known = chain_schedule(least).operations
    stages = needs.chain.stages[span]
    faster: list[tuple[int, int]] = []
    # The search needs memory to divide. Where there is none, no tensor with a size can be kept.
    if available_bytes:
        search = _kernels.PersistentSearch(
            np.array([stage.forward_ns for stage in stages], dtype=np.int64),
            np.array([stage.backward_ns for stage in stages], dtype=np.int64),
            *thresholds,
            available_bytes,
            sum(_duration_ns(operation, stages) for operation in known),
            params.first_search_slots
            or max(params.fewest_search_slots, int(params.search_slots_per_stage * len(stages))),
            params.most_search_slots,
            params.most_search_bytes,
        )
        faster = _sequence(search, time_limit_s)
    return tuple(
        replace(operation, stage=operation.stage + first - 1)
        for operation in (chain_schedule(faster).operations if faster else known)
    )


def _sequence(
    search: _kernels.PersistentSearch, time_limit_s: float | None
) -> list[tuple[int, int]]:
    clock = Clock(time_limit_s)
    try:
        while not search.is_complete:
            search.refine(None if time_limit_s is None else clock.left_s)
    except (TimeoutError, MemoryError):
        # The best schedule found by then fits as well.
        return search.sequence
    return search.sequence


def _duration_ns(operation: ChainOperation, stages: Sequence[Stage]) -> int:
    stage = stages[operation.stage - 1]
    is_backward = operation.kind is ChainOperationKind.BACKWARD
    return stage.backward_ns if is_backward else stage.forward_ns
