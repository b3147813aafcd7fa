"""Selective checkpointing by rules, on layers drawn by hand."""

from __future__ import annotations

import random
from dataclasses import replace

from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.remat_graph import GraphSchedule
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.remat_graph.planners.repeated_blocks import forward_blocks
from jettison.solvers.remat_graph.planners.selective import (
    attention_cores,
    solve_selective_attention,
    solve_selective_blocks,
    solve_selective_products,
)
from tests.drawing.named_steps import LAYER, layered_step, named_step

OPTIONS = SolveOptions(time_limit_s=None)
LAYERS = 3
STEP = layered_step(random.Random(1), LAYERS)


def computed_again(graph: Graph, outcome: Outcome) -> set[str]:
    assert isinstance(outcome.schedule, GraphSchedule)
    order = outcome.schedule.computations
    return {graph.nodes[node].name for node in order if order.count(node) > 1}


def least_that_fits(graph: Graph, solve: object) -> Outcome:
    """Return the answer in the least memory in which there is one."""
    assert callable(solve)
    least, most = graph.least_peak_bound_bytes, graph.store_all_peak_bytes
    while least < most:
        middle = (least + most) // 2
        fits = solve(RematGraph(graph, middle), OPTIONS).schedule is not None
        least, most = (least, middle) if fits else (middle + 1, most)
    found = solve(RematGraph(graph, most), OPTIONS)
    assert isinstance(found, Outcome)
    return found


def test_the_core_of_an_attention_is_what_lies_before_the_weighted_values() -> None:
    # A layer is mm, bmm, softmax, bmm, mm, relu: the first bmm and the softmax are the core.
    expected = tuple(
        frozenset({layer * len(LAYER) + 1, layer * len(LAYER) + 2}) for layer in range(LAYERS)
    )
    assert attention_cores(STEP) == expected


def test_only_cores_of_attentions_are_computed_again_the_first_ones() -> None:
    again = computed_again(STEP, least_that_fits(STEP, solve_selective_attention))
    assert again
    assert again <= {
        f"f{layer * len(LAYER) + place}" for layer in range(LAYERS) for place in (1, 2)
    }


def test_without_an_attention_it_says_so() -> None:
    names = (
        replace(node, operator_name="aten.relu.default") if node.operator_name else node
        for node in STEP.nodes
    )
    outcome = solve_selective_attention(
        RematGraph(replace(STEP, nodes=tuple(names)), "80%"), OPTIONS
    )
    assert outcome.schedule is None
    assert "two products of an attention" in (outcome.note or "")


def test_products_are_saved_but_every_nth() -> None:
    # In a step of six products of parameters, n = 1 saves none of them and n = 7 all.
    for memory in range(STEP.least_peak_bound_bytes, STEP.store_all_peak_bytes, 7):
        outcome = solve_selective_products(RematGraph(STEP, memory), OPTIONS)
        if outcome.schedule is None:
            continue
        products = [f"f{layer * len(LAYER) + place}" for layer in range(LAYERS) for place in (0, 4)]
        again = [name in computed_again(STEP, outcome) for name in products]
        # The last values may be there still, since the backward pass begins with them.
        rules = [[number % every == 0 for number in range(1, 7)] for every in range(1, 8)]
        assert any(
            all(not is_again or rule for is_again, rule in zip(again, rule_of, strict=True))
            for rule_of in rules
        )


def test_blocks_are_found_where_the_fewest_bytes_cross() -> None:
    blocks = forward_blocks(STEP)
    assert len(blocks) >= LAYERS - 1
    assert {len(block) for block in blocks} == {len(LAYER)}


def test_blocks_that_the_graph_names_are_taken() -> None:
    named = replace(STEP, repeated_blocks=((("f0", "f1", "d1"), ("f6", "f7", "d7")),))
    assert forward_blocks(named) == (frozenset({0, 1}), frozenset({6, 7}))


def test_what_leaves_a_block_is_saved() -> None:
    named = replace(
        STEP,
        repeated_blocks=(
            tuple(
                tuple(f"f{layer * len(LAYER) + place}" for place in range(len(LAYER)))
                for layer in range(LAYERS)
            ),
        ),
    )
    again = computed_again(named, least_that_fits(named, solve_selective_blocks))
    assert again
    # The last value of each layer is what the next one reads.
    assert again.isdisjoint(
        f"f{layer * len(LAYER) + len(LAYER) - 1}" for layer in range(LAYERS - 1)
    )


def test_without_blocks_it_says_so() -> None:
    lonely = named_step(random.Random(2), 3)
    outcome = solve_selective_blocks(RematGraph(lonely, "95%"), OPTIONS)
    assert outcome.schedule is None
    assert "needs blocks that repeat" in (outcome.note or "")
