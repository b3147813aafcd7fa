from __future__ import annotations

import pytest

from jettison.instances.core.errors import InputError
from jettison.instances.generators.sharded_mlp import sharded_mixed, sharded_mlp
from jettison.instances.generators.sharded_step import (
    COLUMNS,
    GRID,
    ROWS,
    WHOLE,
    Layout,
    resharding_ns,
)
from jettison.instances.generators.sharded_transformer import sharded_transformer
from jettison.instances.remat_sharding.operator import Role


def test_the_perceptron_of_the_paper_has_26_operators() -> None:
    # x, y, w1 to w6, dot1 to dot6, subtract, 6 gradients of weights, 5 of activations.
    graph = sharded_mlp(6)
    roles = [operator.role for operator in graph.operators]
    assert len(graph) == 26
    assert [roles.count(role) for role in Role] == [6, 2, 6, 12]
    assert sum(operator.keep for operator in graph.operators) == 6
    assert [operator.name for operator in graph.operators if operator.role is Role.BACKWARD][
        :4
    ] == [
        "subtract",
        "grad_w6",
        "grad_h5",
        "grad_w5",
    ]


@pytest.mark.parametrize(("layers", "count"), [(1, 41), (2, 77), (4, 149), (8, 293), (20, 725)])
def test_a_transformer_has_36_operators_for_each_layer(layers: int, count: int) -> None:
    graph = sharded_transformer(layers, strategies=2)
    assert len(graph) == count
    backward = [operator.role is Role.BACKWARD for operator in graph.operators]
    assert backward == sorted(backward)


@pytest.mark.parametrize("strategies", [1, 2, 3, 4])
def test_each_operator_has_as_many_strategies_as_asked_for(strategies: int) -> None:
    for graph in (
        sharded_mlp(2, strategies=strategies),
        sharded_mixed(2, strategies=strategies),
        sharded_transformer(1, strategies=strategies),
    ):
        assert {len(operator.strategies) for operator in graph.operators} == {strategies}


def test_a_product_costs_what_the_model_says() -> None:
    # 2 * 8192 * 2048^2 operations on 4 devices at 14,000 per ns: 1,227,134 ns. By rows a device
    # moves 2048 x 2048 of the input and of the output, and the whole weight, 4 bytes each, at 800
    # per ns: 62,915 ns.
    dot = sharded_mlp().operators[8]
    assert dot.name == "dot1"
    assert dot.strategies[0].name == "rows"
    assert dot.strategies[0].compute_ns == 1_227_134 + 62_915
    assert dot.strategies[0].communication_ns == 0
    assert dot.strategies[0].memory_bytes == 2048 * 2048 * 4
    # The inner dimension is cut: all-reduce of 8192 x 2048 x 4 bytes, twice 3/4 at 130 per ns.
    assert dot.strategies[2].name == "inner"
    assert dot.strategies[2].communication_ns == 10_000 + 2 * 387_167
    assert dot.strategies[2].memory_bytes == 8192 * 2048 * 4


def test_only_what_is_gathered_or_exchanged_costs_time() -> None:
    size_bytes = 4 * 130_000
    assert resharding_ns(size_bytes, WHOLE, GRID) == 0
    assert resharding_ns(size_bytes, ROWS, ROWS) == 0
    # All-gather of everything over 4 devices: 3/4 of 520,000 bytes at 130 per ns.
    assert resharding_ns(size_bytes, ROWS, WHOLE) == 10_000 + 3_000
    # Over 2 devices half of the matrix is gathered from quarters.
    assert resharding_ns(size_bytes, ROWS, Layout(2, 1)) == 10_000 + 1_000
    # All-to-all: half of the all-gather.
    assert resharding_ns(size_bytes, ROWS, COLUMNS) == 10_000 + 1_500


def test_what_cannot_be_made_is_refused() -> None:
    with pytest.raises(InputError, match="strategies"):
        sharded_mlp(strategies=5)
    with pytest.raises(InputError, match="layers"):
        sharded_mlp(0)
    with pytest.raises(InputError, match="batch"):
        sharded_mixed(batch=0)
    with pytest.raises(InputError, match="width"):
        sharded_transformer(width=32)
