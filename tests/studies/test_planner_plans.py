"""Plans as a user of a planner gets them: by a budget or a rule, with the peak that comes out."""

from __future__ import annotations

import pytest

from jettison.instances.remat_graph.graph import Graph, Node
from jettison.studies.planner_plans import KNAPSACKS, TorchBudgets, plan_by_rule

MIB = 2**20


def layers(count: int) -> Graph:
    """Return products with rectifiers; the backward pass of each reads what they made."""
    nodes: list[Node] = []
    before: tuple[str, ...] = ()
    for layer in range(count):
        product, active = f"mm{layer}", f"relu{layer}"
        nodes += [
            Node(
                name=product,
                duration_ns=100 + layer,
                output_bytes=MIB,
                inputs=before,
                operator_name="aten.mm.default",
            ),
            Node(
                name=active,
                duration_ns=10,
                output_bytes=MIB,
                inputs=(product,),
                operator_name="aten.relu.default",
            ),
        ]
        before = (active,)
    gradient = before
    for layer in reversed(range(count)):
        name = f"back{layer}"
        read = dict.fromkeys((*gradient, f"relu{layer}"))
        nodes.append(
            Node(
                name=name,
                duration_ns=200,
                output_bytes=MIB,
                inputs=tuple(read),
                backward=True,
                keep=layer == 0,
                operator_name="aten.mm.default",
            )
        )
        gradient = (name,)
    return Graph("layers", tuple(nodes))


@pytest.mark.parametrize("planner", KNAPSACKS)
def test_a_budget_of_one_computes_no_product_again_and_one_of_zero_all_that_is_read(
    planner: str,
) -> None:
    graph = layers(6)
    budgets = TorchBudgets(graph, planner)
    assert budgets.at(1).time_ns == graph.base_time_ns
    # All six products and rectifiers once again: the backward pass reads every rectifier.
    again_ns = sum(node.duration_ns for node in graph.nodes if not node.backward)
    assert budgets.at(0).time_ns == graph.base_time_ns + again_ns
    assert budgets.at(0).setting == "0"


def test_a_smaller_budget_never_saves_time() -> None:
    budgets = TorchBudgets(layers(8), "torch-dp")
    times = [budgets.at(budget).time_ns for budget in (0, 0.1, 0.3, 0.5, 0.7, 0.9, 1)]
    assert times == sorted(times, reverse=True)


def test_the_knapsack_saves_what_it_is_told_to_be_dear() -> None:
    graph = layers(6)
    # The last product is taken to be free, then the first.
    last_free, first_free = (
        TorchBudgets(graph, "torch-dp", [0 if node.name == free else 7 for node in graph.nodes])
        for free in ("mm5", "mm0")
    )
    # Five of six fit; computing the cheapest one again, mm0, takes 5 less than mm5.
    difference_ns = last_free.at(0.85).time_ns - first_free.at(0.85).time_ns
    assert difference_ns == 5


def test_a_rule_that_is_about_nothing_in_a_step_has_no_plan() -> None:
    graph = layers(6)
    assert plan_by_rule(graph, "attention") is None
    second = plan_by_rule(graph, "second-product")
    assert second is not None
    assert second.time_ns > graph.base_time_ns
