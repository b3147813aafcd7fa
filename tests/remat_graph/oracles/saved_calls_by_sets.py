"""Fastest step of every set of saved calls, by counting bytes place by place."""

from __future__ import annotations

from itertools import chain, combinations

from jettison.instances.remat_graph.checkpoint_regions import CheckpointRegions


def fastest_saved_calls(step: CheckpointRegions, memory_bytes: int) -> int | None:
    """Return the least time of a step within the memory; None if no set of calls fits.

    Each set says for each place of the step whether its computation takes place, and for each
    value when it is there; sets in which a saved draw comes before a repeated one are left out.
    """
    candidates = [
        (region, number)
        for region, body in enumerate(step.regions)
        for number, call in enumerate(body.calls)
        if call.may_be_saved
        and call.nodes
        and sum(item == (True, call.nodes[0]) for item in step.steps) == 2
    ]
    subsets = chain.from_iterable(
        combinations(candidates, size) for size in range(len(candidates) + 1)
    )
    times = [
        time
        for subset in subsets
        if _keeps_numbers(step, set(subset))
        and (time := _time_within(step, set(subset), memory_bytes)) is not None
    ]
    return min(times, default=None)


def _keeps_numbers(step: CheckpointRegions, saved: set[tuple[int, int]]) -> bool:
    for region, body in enumerate(step.regions):
        was_saved = False
        for number, call in enumerate(body.calls):
            repeats = bool(call.nodes) and step.steps.count((True, call.nodes[0])) == 2
            if not call.is_random or not repeats:
                continue
            if was_saved and (region, number) not in saved:
                return False
            was_saved = was_saved or (region, number) in saved
    return True


def _time_within(
    step: CheckpointRegions, saved: set[tuple[int, int]], memory_bytes: int
) -> int | None:
    held = {node for region, number in saved for node in step.regions[region].calls[number].nodes}
    count = dict.fromkeys(range(len(step.graph)), 0)
    there: set[int] = set()
    time = 0
    for position, (computes, node) in enumerate(step.steps):
        facts = step.graph.nodes[node]
        if computes:
            count[node] += 1
            if count[node] == 2 and node in held:
                continue
            room = facts.output_bytes + facts.workspace_bytes
            room += sum(step.graph.nodes[other].output_bytes for other in there)
            if room > memory_bytes:
                return None
            time += facts.duration_ns
            there.add(node)
        elif node not in held or (True, node) not in step.steps[position:]:
            there.discard(node)
    return time
