"""Sharded graphs: what they are, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from jettison import InputError, RematSharding, ShardedGraph, load, save
from jettison.instances.remat_sharding.chosen_strategies import reading_cost_ns, with_strategies
from jettison.remat_sharding import Operator, Resharding, Role, Strategy
from tests.remat_sharding.tiny_sharded import LONE_OPERATOR, TWO_LAYERS, strategies_of


def operator(name: str, *inputs: str, **given: object) -> Operator:
    """Make a forward operator of two strategies."""
    fields: dict[str, object] = {
        "role": Role.FORWARD,
        "strategies": strategies_of((4, 0, 2), (2, 1, 1)),
        **given,
    }
    return Operator(name=name, inputs=inputs, **fields)  # type: ignore[arg-type]


def test_a_file_holds_all_of_it(tmp_path: Path) -> None:
    path = tmp_path / "two.json"
    save(TWO_LAYERS, path)
    again = load(path)
    assert again == TWO_LAYERS
    assert again.sha256 == TWO_LAYERS.sha256


def test_the_name_is_no_part_of_the_content_and_a_cost_is() -> None:
    assert replace(TWO_LAYERS, name="other").sha256 == TWO_LAYERS.sha256
    assert replace(TWO_LAYERS, resharding=()).sha256 != TWO_LAYERS.sha256


def test_followers_have_the_choice_of_the_first_of_their_line() -> None:
    graph = ShardedGraph(
        "line",
        (operator("a"), operator("b", "a", follows="a"), operator("c", "b", follows="b")),
    )
    assert graph.leader == (0, 0, 0)
    assert graph.groups == ((0, 1, 2),)


def test_no_plan_is_faster_than_the_base_time() -> None:
    # Two followers of one choice: 4 + 2 or 3 + 9; and a table whose least cost is 1.
    graph = ShardedGraph(
        "base",
        (
            operator("a", strategies=strategies_of((4, 0, 1), (3, 0, 1))),
            operator("b", "a", strategies=strategies_of((2, 0, 1), (8, 1, 1)), follows="a"),
        ),
        (Resharding("a", "b", ((1, 5), (None, 1))),),
    )
    assert graph.base_time_ns == 7


def test_the_least_memory_has_the_parameters_before_an_operator_in_it() -> None:
    # g1 reads b1, x and h1, at least 3, 2 and 3 bytes, and is 4, beside both weights of 2 bytes.
    assert TWO_LAYERS.least_peak_bound_bytes == 16
    assert TWO_LAYERS.neediest_operator == "g1"
    kept = ShardedGraph(
        "kept",
        tuple(operator(name, keep=True, strategies=strategies_of((1, 0, 5))) for name in "ab"),
    )
    assert kept.least_peak_bound_bytes == 10
    assert kept.neediest_operator is None


def test_a_choice_of_strategies_leaves_a_graph() -> None:
    strategies = (1, 0, 0, 1, 1, 0, 0, 0, 0)
    graph = with_strategies(TWO_LAYERS, strategies)
    # h1 halved 4; a1 1; h2 whole 8 and 3 to gather a1; g2 the same; b1 8; g1 8.
    assert [node.duration_ns for node in graph.nodes] == [0, 0, 0, 4, 1, 11, 11, 8, 8]
    assert [node.output_bytes for node in graph.nodes] == [2, 4, 4, 3, 3, 6, 4, 6, 4]
    # Gradients are kept, and so are the weights.
    assert [node.name for node in graph.nodes if node.keep] == ["w1", "w2", "g2", "g1"]
    assert reading_cost_ns(TWO_LAYERS, 4, 5, strategies) == 3
    assert reading_cost_ns(TWO_LAYERS, 3, 8, strategies) == 0


@pytest.mark.parametrize(
    ("strategies", "message"),
    [
        ((1, 0, 0, 1, 1, 1, 1, 1), "8 entries"),
        ((2, 0, 0, 1, 1, 1, 1, 1, 1), "2 is not an allowed strategy of 'x'"),
        ((1, 0, 0, 1, 0, 1, 1, 1, 1), "'a1' follows 'h1' and has another strategy"),
        ((1, 1, 0, 1, 1, 1, 1, 1, 1), "'w1' cannot be resharded for 'h1'"),
    ],
)
def test_strategies_that_do_not_go_together_are_named(
    strategies: tuple[int, ...], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        with_strategies(TWO_LAYERS, strategies)


@pytest.mark.parametrize(
    ("operators", "resharding", "message"),
    [
        ((), (), "the graph is empty"),
        ((operator("a"), operator("a")), (), "'a' is also the name of"),
        ((operator("a", "b"),), (), "'b' is not an operator of the graph"),
        ((operator("a", "b"), operator("b", "a")), (), "a -> b -> a|b -> a -> b"),
        ((operator("a", "b"), operator("b")), (), "'b' comes after 'a', which needs it"),
        ((operator("a", follows="b"), operator("b")), (), "'b' is not an operator before 'a'"),
        (
            (operator("a"), operator("b", follows="a", strategies=strategies_of((1, 0, 1)))),
            (),
            "'b' has 1 strategies and follows 'a', which has 2",
        ),
        ((operator("a"), operator("b")), (Resharding("a", "b", ((0, 0),) * 2),), "does not read"),
        ((operator("a"), operator("b", "a")), (Resharding("a", "b", ((0, 0),)),), "does not match"),
        (
            (operator("a"), operator("b", "a")),
            (Resharding("a", "b", ((0, 0),) * 2),) * 2,
            "stands twice",
        ),
        (
            (operator("a"), operator("b", "a")),
            (Resharding("a", "b", ((None, None),) * 2),),
            "every pair of strategies of 'a' and 'b' is forbidden",
        ),
        (
            (operator("a"), operator("b", "a")),
            (Resharding("a", "b", ((0, -1),) * 2),),
            "-1 is negative",
        ),
        (
            (operator("a"), operator("b", "a")),
            (Resharding("a", "b", ((0, float("nan")),) * 2),),  # type: ignore[arg-type]
            "nan is not an integer",
        ),
    ],
)
def test_bad_graphs_are_refused_with_the_operator_named(
    operators: tuple[Operator, ...], resharding: tuple[Resharding, ...], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        ShardedGraph("bad", operators, resharding)


def test_an_operator_without_an_allowed_strategy_is_named() -> None:
    forbidden = Strategy(name="a", compute_ns=None, memory_bytes=1)
    with pytest.raises(InputError, match="'dot' has no strategy that is allowed"):
        operator("dot", strategies=(forbidden,))
    # Each has one, but not of the same place.
    allowed = Strategy(name="b", compute_ns=1, memory_bytes=1)
    first = operator("dot", strategies=(forbidden, allowed))
    second = operator(
        "add",
        "dot",
        follows="dot",
        strategies=(replace(allowed, name="a"), replace(forbidden, name="b")),
    )
    with pytest.raises(InputError, match="'add' has no strategy that is allowed for all"):
        ShardedGraph("bad", (first, second))


def test_parameters_read_nothing() -> None:
    with pytest.raises(InputError, match="'w' is a parameter and reads 'a'"):
        operator("w", "a", role=Role.PARAMETER)


@pytest.mark.parametrize(
    ("fastest", "message"),
    [
        ((0,), "1 entries"),
        ((1, 0, 0, 3, 3, 1, 1, 1, 1), "3 is not an allowed strategy of 'h1'"),
        ((1, 0, 0, 1, 0, 1, 1, 1, 1), "'a1' follows 'h1' and has another strategy"),
        ((1, 1, 0, 1, 1, 1, 1, 1, 1), "'w1' cannot be resharded for 'h1'"),
    ],
)
def test_a_fastest_plan_must_be_one(fastest: tuple[int, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(TWO_LAYERS, fastest=fastest)


def test_a_share_of_memory_is_of_the_fastest_plans_peak() -> None:
    # At the end w1 and w2 4 each, x 2, h1 3, g2 4, b1 3 and g1 4; at g2 and at b1 one less.
    peak = with_strategies(TWO_LAYERS, TWO_LAYERS.fastest).store_all_peak_bytes
    assert peak == 24
    assert RematSharding(TWO_LAYERS, "100%").memory_bytes == 24
    assert RematSharding(TWO_LAYERS, "50%").memory_bytes == 12
    assert RematSharding(TWO_LAYERS, 7).memory_bytes == 7


def test_memory_that_means_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="does not name it"):
        RematSharding(replace(LONE_OPERATOR, fastest=()), "50%")
    with pytest.raises(InputError, match="defined for chains only"):
        RematSharding(LONE_OPERATOR, "alpha=0.5")
    with pytest.raises(InputError, match="needs a sharded graph"):
        RematSharding("graph", 5)  # type: ignore[arg-type]
