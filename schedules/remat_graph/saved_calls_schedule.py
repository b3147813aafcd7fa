"""Schedule of a step whose regions are checkpointed and save some of their calls."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from jettison.instances.core.errors import InputError
from jettison.instances.remat_graph.checkpoint_regions import CheckpointRegions
from jettison.schedules.remat_graph.schedule import (
    GraphOperation,
    GraphOperationKind,
    GraphSchedule,
)

Call = tuple[int, int]


def saved_calls_schedule(step: CheckpointRegions, saved: AbstractSet[Call]) -> GraphSchedule:
    """Return what happens in a step whose policy saves these calls, and no others.

    A saved call keeps all its results from the forward pass until its place in the second run of
    its region; there it is not run, and from there on its results live as long as recomputed ones
    would. Everything else is as it is where nothing is saved: a region runs again as a whole, also
    what only saved calls read.

    Parameters
    ----------
    step
        The regions.
    saved
        Pairs of region and call, both counted from 0.

    Raises
    ------
    InputError
        If a call may not be saved, or would draw other random numbers: a call that draws and is
        saved may not come before one of its region that draws and runs again.
    """
    choices = set(step.choices)
    for region, number in sorted(saved):
        if (region, number) not in choices:
            raise InputError(
                f"call {number} of region {region} cannot be saved",
                field="saved",
                expected="choose among the calls that run again and that nothing writes to",
            )
    _check_draws(step, saved)
    dropped: set[int] = set()
    for region, number in saved:
        for node in step.regions[region].calls[number].nodes:
            again = step.computed_at[node][1]
            dropped.add(again)
            dropped.update(end for end in step.ended_at[node] if end < again)
    kinds = {True: GraphOperationKind.COMPUTE, False: GraphOperationKind.FREE}
    return GraphSchedule(
        tuple(
            GraphOperation(kinds[computes], node)
            for place, (computes, node) in enumerate(step.steps)
            if place not in dropped
        )
    )


def _check_draws(step: CheckpointRegions, saved: AbstractSet[Call]) -> None:
    for place, region in enumerate(step.regions):
        drawn = [
            number
            for number, call in enumerate(region.calls)
            if call.is_random and step.runs_again(call)
        ]
        kept = [(place, number) in saved for number in drawn]
        if kept != sorted(kept):
            raise InputError(
                f"a call that draws random numbers is saved, and a later one of {region.name} runs "
                "again, which would draw other numbers",
                field="saved",
                expected="save the later one too, or neither",
            )
