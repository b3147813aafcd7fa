"""Dynamic tensor rematerialization where operators have several results."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from jettison.instances.generators.layered_graph import LayeredGraphs
from jettison.instances.importers.dtr_graph import import_dtr_log
from jettison.instances.importers.dtr_log import read_dtr_log
from jettison.instances.remat_graph.graph import Graph, Node
from jettison.instances.remat_graph.problem import RematGraph
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.remat_graph.baselines.dtr import solve_dtr, solve_dtr_eq, solve_dtr_local
from jettison.solvers.remat_graph.baselines.eviction_heuristics import (
    ComponentCost,
    Dependencies,
    LocalCost,
    NeighbourhoodCost,
)
from tests.remat_graph.result_graphs import graph_with_results

OPTIONS = SolveOptions(time_limit_s=None)
METHODS = (solve_dtr, solve_dtr_eq, solve_dtr_local)


def overhead_percent(graph: Graph, memory_bytes: int, solve: object = solve_dtr) -> float:
    """Return what the schedule costs beyond the step, replayed."""
    outcome = solve(RematGraph(graph, memory_bytes), OPTIONS)  # type: ignore[operator]
    assert outcome.schedule is not None, outcome.note
    replay = outcome.schedule.replay(graph, memory_bytes)
    assert replay.valid
    return float(100 * (replay.time_ns - graph.base_time_ns) / graph.base_time_ns)


def computations(graph: Graph, memory_bytes: int) -> tuple[int, ...]:
    """Return what `dtr` computes."""
    outcome = solve_dtr(RematGraph(graph, memory_bytes), OPTIONS)
    assert outcome.schedule is not None, outcome.note
    assert outcome.schedule.replay(graph, memory_bytes).valid
    return outcome.schedule.computations


def test_a_result_that_takes_no_time_costs_the_operator_that_makes_it() -> None:
    # At push 7 of 9 bytes are stored, and 3 are needed. now = 54; norm (3 bytes) and saved (2) were
    # accessed at 50, cheap (2) at 54: 50 / (3 * 4), 50 / (2 * 4) and 4 / (2 * 1): cheap goes, and
    # comes back for 4 ns. As a node of its own that takes no time saved would have gone; norm is
    # free behind act, and so 50 ns would have been spent on saved.
    graph = Graph(
        "statistics",
        (
            Node(name="norm", duration_ns=50, output_bytes=3),
            Node(name="saved", duration_ns=0, output_bytes=2, inputs=("norm",), result_of="norm"),
            Node(name="cheap", duration_ns=4, output_bytes=2),
            Node(name="push", duration_ns=0, output_bytes=3),
            Node(name="act", duration_ns=1, output_bytes=0, inputs=("norm",)),
            Node(name="end", duration_ns=1, output_bytes=0, inputs=("saved", "cheap")),
        ),
    )
    assert computations(graph, 9) == (0, 1, 2, 3, 4, 2, 5)
    unmarked = Graph("unmarked", tuple(replace(node, result_of=None) for node in graph.nodes))
    assert computations(unmarked, 9) == (0, 1, 2, 3, 4, 0, 1, 5)


def test_an_operator_that_runs_again_makes_all_results_that_are_still_read() -> None:
    # push needs all 5 bytes, so that a and b go. When a is made again, b is as well (2 + 1 + 1
    # bytes), and its reader does not run the operator a third time; c has no reader left.
    graph = Graph(
        "pair",
        (
            Node(name="pair", duration_ns=10, output_bytes=2),
            Node(name="a", duration_ns=0, output_bytes=1, inputs=("pair",), result_of="pair"),
            Node(name="b", duration_ns=0, output_bytes=1, inputs=("pair",), result_of="pair"),
            Node(name="c", duration_ns=0, output_bytes=1, inputs=("pair",), result_of="pair"),
            Node(name="push", duration_ns=1, output_bytes=5),
            Node(name="end a", duration_ns=1, output_bytes=0, inputs=("a",)),
            Node(name="end b", duration_ns=1, output_bytes=0, inputs=("b",)),
        ),
    )
    assert computations(graph, 5) == (0, 1, 2, 3, 4, 0, 1, 2, 5, 6)
    # With a of 2 bytes in 4 there is no room for b beside pair and a, and pair runs a third time.
    wide = replace(graph.nodes[1], output_bytes=2)
    push = replace(graph.nodes[4], output_bytes=4)
    tight = Graph("tight", (graph.nodes[0], wide, *graph.nodes[2:4], push, *graph.nodes[5:]))
    assert computations(tight, 4) == (0, 1, 2, 3, 4, 0, 1, 5, 0, 2, 6)


def test_an_operator_whose_results_are_all_lost_is_paid_for_once() -> None:
    graph = graph_of_pairs()
    names = graph.position_of
    cost = NeighbourhoodCost(Dependencies(graph))
    for name in ("split", "left", "right"):
        cost.evicted(names[name])
    # in (1), split (10, once for itself, left and right) and join (100), which is there.
    assert cost.cost_ns(names["in"], None) == 1 + 10
    # Results of one operator are no neighbours: only what the operator reads and what reads them.
    assert cost.cost_ns(names["left"], None) == 10
    cost.evicted(names["in"])
    assert cost.cost_ns(names["left"], None) == 10 + 1
    cost.made(names["split"])
    # The value of the operator is there, yet its inputs are what the operator reads.
    assert cost.cost_ns(names["left"], None) == 10 + 1
    assert cost.cost_ns(names["join"], None) == 100 + 10 + 1


def graph_of_pairs() -> Graph:
    """Return in -> split, with results left and right, -> join."""
    return Graph(
        "pairs",
        (
            Node(name="in", duration_ns=1, output_bytes=1),
            Node(name="split", duration_ns=10, output_bytes=2, inputs=("in",)),
            Node(name="left", duration_ns=0, output_bytes=1, inputs=("split",), result_of="split"),
            Node(name="right", duration_ns=0, output_bytes=1, inputs=("split",), result_of="split"),
            Node(name="join", duration_ns=100, output_bytes=1, inputs=("left", "right")),
        ),
    )


def test_a_component_is_not_split_when_a_value_of_its_middle_is_made_again() -> None:
    # a -> b -> c, all lost, then b made: e* of b is a and c. d reads c: e* of d is c alone, but a
    # is still in the component of c.
    graph = Graph(
        "path",
        tuple(
            Node(
                name=name,
                duration_ns=10**place,
                output_bytes=1,
                inputs=("abcd"[place - 1],) if place else (),
            )
            for place, name in enumerate("abcd")
        ),
    )
    components, exact = (kind(Dependencies(graph)) for kind in (ComponentCost, NeighbourhoodCost))
    for cost in (components, exact):
        for value in (0, 1, 2):
            cost.evicted(value)
        assert cost.cost_ns(3, None) == 1111
        cost.made(1)
        assert cost.cost_ns(1, None) == 111
    assert exact.cost_ns(3, None) == 1100
    assert components.cost_ns(3, None) == 1101


def lost_around(graph: Graph, value: int, lost: set[int]) -> set[int]:
    """Return e* of a value, a step at a time for as often as there are values."""

    def is_child(one: int, other: int) -> bool:
        return one in graph.inputs[graph.operators[other]]

    found = set()
    for follows in (is_child, lambda one, other: is_child(other, one)):
        reached = {value}
        for _ in graph.nodes:
            reached |= {other for other in lost if any(follows(one, other) for one in reached)}
        found |= reached
    return found


class Blobs:
    """The components of h_DTR^eq as plain sets that only grow together."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.blobs: list[set[int]] = []

    def are_neighbours(self, one: int, other: int) -> bool:
        """Whether the operator of one of them reads the other."""
        return any(
            second in self.graph.inputs[self.graph.operators[first]]
            for first, second in ((one, other), (other, one))
        )

    def touching(self, value: int) -> list[set[int]]:
        return [
            blob for blob in self.blobs if any(self.are_neighbours(value, other) for other in blob)
        ]

    def evicted(self, value: int) -> None:
        touching = self.touching(value)
        self.blobs = [blob for blob in self.blobs if blob not in touching]
        self.blobs.append({value}.union(*touching))

    def made(self, value: int) -> None:
        self.blobs = [blob - {value} for blob in self.blobs]

    def cost_ns(self, value: int) -> int:
        values = {value}.union(*self.touching(value))
        operators = {self.graph.operators[other] for other in values}
        return sum(self.graph.nodes[operator].duration_ns for operator in operators)


def test_components_are_sets_that_grow_together_and_hold_the_neighbourhood() -> None:
    different = 0
    for seed in range(60):
        draw = random.Random(seed)
        graph = graph_with_results(seed, 7) if seed % 3 else LayeredGraphs(nodes=12).draw(seed)
        dependencies = Dependencies(graph)
        components, blobs = ComponentCost(dependencies), Blobs(graph)
        exact, local = NeighbourhoodCost(dependencies), LocalCost(dependencies)
        present = set(range(len(graph)))
        for _ in range(30):
            value = draw.randrange(len(graph))
            for cost in (components, blobs, exact, local):
                if value in present:
                    cost.evicted(value)
                else:
                    cost.made(value)
            present ^= {value}
            for candidate in present:
                costs = [cost.cost_ns(candidate, None) for cost in (local, exact, components)]
                around = lost_around(graph, candidate, set(range(len(graph))) - present)
                operators = {graph.operators[other] for other in around}
                assert costs[1] == sum(graph.nodes[one].duration_ns for one in operators)
                assert costs[2] == blobs.cost_ns(candidate)
                assert all(less <= more for less, more in pairwise(costs))
                different += costs[1] < costs[2]
                for cost, found in zip((exact, components), costs[1:], strict=True):
                    assert cost.cost_ns(candidate, found) == found
                    assert not found or cost.cost_ns(candidate, found - 1) > found - 1
    assert different > 100


@pytest.mark.parametrize("solve", METHODS)
def test_on_random_operators_of_several_results_schedules_are_valid_in_their_memory(
    solve: object,
) -> None:
    found = 0
    for seed in range(150):
        graph = graph_with_results(seed, 9)
        least, most = graph.least_peak_bound_bytes, graph.store_all_peak_bytes
        assert overhead_percent_if_any(graph, most, solve) == 0
        for memory_bytes in range(least, most, max((most - least) // 3, 1)):
            found += overhead_percent_if_any(graph, memory_bytes, solve) is not None
    assert found > 100


def overhead_percent_if_any(graph: Graph, memory_bytes: int, solve: object) -> float | None:
    """Return the overhead in ns, or None where the method says why there is no schedule."""
    outcome = solve(RematGraph(graph, memory_bytes), OPTIONS)  # type: ignore[operator]
    if outcome.schedule is None:
        assert "nothing left to evict" in outcome.note or "gave up" in outcome.note
        return None
    replay = outcome.schedule.replay(graph, memory_bytes)
    assert replay.valid
    return float(replay.time_ns - graph.base_time_ns)


@pytest.fixture(scope="module")
def logged_steps(shared_data: Path) -> dict[str, tuple[Graph, int]]:
    """Two steps that the authors logged, and half of their peaks less their constants."""
    folder = shared_data / "dtr"
    if not folder.is_dir():
        pytest.skip(f"no logs of training steps in {folder}")
    files = {name: folder / f"{name}.log" for name in ("resnet32", "unet")}
    steps = {name: read_dtr_log(file.read_text()) for name, file in files.items()}
    return {
        name: (import_dtr_log(file), steps[name].peak_bytes // 2 - steps[name].constant_bytes)
        for name, file in files.items()
    }


# The simulator that the authors published finds, with h_DTR and eager eviction in half of the peak,
# constants included, 10.68 and 15.87 %. The second is 15.31 if an operator of which several results
# are lost counts once, and less if values that are made again are freed after their last use.
@pytest.mark.parametrize(("name", "percent"), [("resnet32", "10.68"), ("unet", "14.91")])
def test_dtr_does_as_the_simulator_of_its_authors(
    logged_steps: dict[str, tuple[Graph, int]], name: str, percent: str
) -> None:
    assert f"{overhead_percent(*logged_steps[name]):.2f}" == percent


@pytest.mark.parametrize("name", ["resnet32", "unet"])
def test_components_do_about_as_well_on_logged_steps_and_the_operator_alone_does_not(
    logged_steps: dict[str, tuple[Graph, int]], name: str
) -> None:
    graph, memory_bytes = logged_steps[name]
    exact, components, local = (overhead_percent(graph, memory_bytes, solve) for solve in METHODS)
    assert exact <= components < exact + 1
    assert local > 1.5 * exact
