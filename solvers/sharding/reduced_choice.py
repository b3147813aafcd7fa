"""Conversion of a reduced sharding problem into the input of a model, and of choices back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jettison.formulations.sharding.pairwise_choice import Limit, PairwiseChoice
from jettison.solvers.sharding.presolve.state import Array, ShardingState


def choice_of(state: ShardingState) -> tuple[PairwiseChoice, list[int]]:
    """Return a reduced problem as a model's input, and the instance's node at each position."""
    nodes = sorted(state.alive)
    place_of = {node: place for place, node in enumerate(nodes)}

    def written(costs: Array) -> list[int | None]:
        return [None if cost >= state.forbidden else cost for cost in costs.tolist()]

    usages: list[dict[int, Sequence[int]]] = [{} for _ in state.capacity]
    for node in nodes:
        for first, end, usage in state.usage_columns(node):
            values = usage.tolist()
            for row in range(first, end):
                usages[row][place_of[node]] = values
    return (
        PairwiseChoice(
            [written(state.costs[node]) for node in nodes],
            {
                (place_of[first], place_of[second]): [written(row) for row in table]
                for (first, second), table in state.tables.items()
            },
            [
                Limit(f"{time}", capacity, used)
                for time, capacity, used in zip(state.times, state.capacity, usages, strict=True)
            ],
            state.offset,
        ),
        nodes,
    )


def decoded(
    state: ShardingState, nodes: Sequence[int], strategies: Sequence[int]
) -> tuple[int, ...]:
    """Return the choice of the instance from strategies at the positions of `choice_of`."""
    labels: Mapping[int, int] = {
        node: int(state.labels[node][strategy])
        for node, strategy in zip(nodes, strategies, strict=True)
    }
    return state.decode(dict(labels))
