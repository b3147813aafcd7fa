from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from jettison import InputError, ShardedGraph, load
from jettison.instances.generators.perceptron_program import perceptron
from jettison.instances.remat_sharding.chosen_strategies import with_strategies
from jettison.instances.remat_sharding.merged_choices import merged_choices
from jettison.instances.remat_sharding.sharded_graph import Table
from jettison.instances.tensor_programs.device_mesh import v100_mesh
from jettison.instances.tensor_programs.shard_program import shard_program
from jettison.remat_sharding import Operator, Resharding, Role, Strategy
from jettison.solvers.core.status import SolverError
from jettison.solvers.milp.highs import HighsOptions
from jettison.solvers.remat_sharding.fastest_plan import fastest_sharding, with_fastest

MESH = v100_mesh((4, 1))
BETWEEN = MESH.dimensions[0]


def time_ns(graph: ShardedGraph, strategies: tuple[int, ...]) -> int:
    return sum(node.duration_ns for node in with_strategies(graph, strategies).nodes)


def communication_only(batch: int, hidden: int) -> ShardedGraph:
    """Return 12 layers on four devices whose computations are free, but every product is split.

    Copies of everything would communicate nothing: what forbids them is that computing on one
    device only takes four times as long, and computing is not counted here.
    """
    graph = shard_program(perceptron(12, batch, hidden), MESH, "g")

    def free(strategy: Strategy, *, chooses: bool) -> Strategy:
        idle = chooses and "S" not in strategy.name
        return replace(strategy, compute_ns=None if idle else 0)

    operators = tuple(
        replace(
            operator,
            strategies=tuple(
                free(strategy, chooses=operator.operation == "dot_general")
                for strategy in operator.strategies
            ),
        )
        for operator in graph.operators
    )
    return replace(graph, operators=operators)


def without_moves(graph: ShardedGraph, moves_ns: set[int]) -> ShardedGraph:
    """Forbid the pairs whose cost is that of an all-to-all."""

    def table(costs: Table) -> Table:
        return tuple(tuple(None if cost in moves_ns else cost for cost in row) for row in costs)

    return replace(
        graph,
        resharding=tuple(replace(item, cost_ns=table(item.cost_ns)) for item in graph.resharding),
    )


def test_a_large_batch_is_split_and_the_gradients_are_added_up() -> None:
    # Data parallelism: twelve gradients of 128 x 128 numbers, and nothing else.
    graph = communication_only(batch=1024, hidden=128)
    expected = 12 * BETWEEN.all_reduce_ns(128 * 128 * 4)
    assert time_ns(graph, with_fastest(graph).fastest) == expected


def test_without_all_to_all_large_weights_are_split_and_activations_added_up() -> None:
    # Columns and rows of the weights in turn: six sums of 128 x 1024 numbers forward, five back.
    size = 128 * 1024 * 4
    moves_ns = {BETWEEN.all_to_all_ns(size), BETWEEN.all_to_all_ns(1024 * 1024 * 4)}
    graph = without_moves(communication_only(batch=128, hidden=1024), moves_ns)
    expected = 11 * BETWEEN.all_reduce_ns(size)
    assert time_ns(graph, with_fastest(graph).fastest) == expected


def test_an_all_to_all_makes_large_weights_cheaper_than_the_closed_form() -> None:
    # The batch is split, and each gradient of a weight contracts over the whole batch: one of its
    # operands is gathered, the other moved. Of the first layer the input is there in any form. With
    # b and B as in the formulas: (3/4 + 3/8) b B + 2 a for a layer, against 3/2 b B + a.
    size = 128 * 1024 * 4
    graph = communication_only(batch=128, hidden=1024)
    expected = 11 * BETWEEN.all_gather_ns(size) + 12 * BETWEEN.all_to_all_ns(size)
    assert time_ns(graph, with_fastest(graph).fastest) == expected
    assert expected < 11 * BETWEEN.all_reduce_ns(size)


@pytest.mark.parametrize("mesh", [(3,), (2, 2)])
@pytest.mark.parametrize("hidden", [36, 6000])
def test_the_fastest_plan_is_that_of_trying_all(mesh: tuple[int, ...], hidden: int) -> None:
    graph = shard_program(perceptron(1, 36, hidden), v100_mesh(mesh), "g")
    merged = merged_choices(graph)
    times = (merged.time_ns(places) for places in product(*(range(len(c)) for c in merged.cost_ns)))
    least_ns = min(time for time in times if time is not None)
    assert time_ns(graph, with_fastest(graph).fastest) == least_ns


@pytest.mark.parametrize("name", ["mlp-26", "mlp-26-no-parameters", "encoder-4l-mesh1x4"])
def test_the_plan_that_a_bundled_graph_names_is_a_fastest_one(name: str) -> None:
    graph = load(name)
    assert isinstance(graph, ShardedGraph)
    again = fastest_sharding(graph, HighsOptions(gap=0)).strategies
    assert again is not None
    assert time_ns(graph, graph.fastest) == time_ns(graph, again)


def test_a_run_that_stops_early_is_an_error_and_no_plan() -> None:
    graph = shard_program(perceptron(), v100_mesh((2, 4)), "g")
    with pytest.raises(SolverError, match="not proved"):
        with_fastest(graph, HighsOptions(gap=0.0, time_limit_s=1e-9))


def test_pairs_that_leave_no_choice_are_bad_input() -> None:
    def operator(name: str, *inputs: str) -> Operator:
        strategies = tuple(
            Strategy(name=f"s{place}", compute_ns=1, memory_bytes=1) for place in range(2)
        )
        return Operator(name=name, role=Role.FORWARD, inputs=inputs, strategies=strategies)

    # b and c are at the place of a, and c is not at the place of b.
    graph = ShardedGraph(
        "g",
        (operator("a"), operator("b", "a"), operator("c", "a", "b")),
        (
            Resharding("a", "b", ((0, None), (None, 0))),
            Resharding("a", "c", ((0, None), (None, 0))),
            Resharding("b", "c", ((None, 0), (0, None))),
        ),
    )
    with pytest.raises(InputError, match="no choice of strategies"):
        with_fastest(graph)
