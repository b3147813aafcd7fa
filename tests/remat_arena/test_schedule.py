"""Addressed schedules: their replay, their buffers, and their files."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from jettison.instances.core.errors import InputError
from jettison.instances.remat_graph.graph import Graph, Node
from jettison.schedules.core.replay import Rule
from jettison.schedules.core.schedule_file import load_schedule, save_schedule
from jettison.schedules.remat_arena.address_map import plot_address_map
from jettison.schedules.remat_arena.buffers import buffers_of, live_peak_bytes
from jettison.schedules.remat_arena.schedule import AddressedSchedule
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.remat_arena.buffer_placement import PLACEMENT, place_all
from tests.drawing.graphs import random_graph
from tests.remat_graph.result_graphs import graph_of_runs, graph_with_results

# a (2 bytes) is read by b (1 byte, 1 of workspace) and by c (3 bytes).
GRAPH = Graph(
    "three",
    (
        Node(name="a", duration_ns=1, output_bytes=2),
        Node(name="b", duration_ns=1, output_bytes=1, inputs=("a",), workspace_bytes=1),
        Node(name="c", duration_ns=1, output_bytes=3, inputs=("a", "b"), keep=True),
    ),
)
SCHEDULE = GraphSchedule.from_computations(GRAPH, [0, 1, 2])


def with_offsets(values: tuple[int, ...], workspaces: tuple[int, ...]) -> AddressedSchedule:
    return AddressedSchedule(SCHEDULE.operations, values, workspaces)


def test_the_map_shows_each_buffer_at_its_address_for_as_long_as_it_lives() -> None:
    # a is read by c and stays to the end; b has its value and, for one computation, its workspace.
    figure = plot_address_map(
        GRAPH, with_offsets((0, 2, 3), (0, 3, 0)), title="three", limit_bytes=6
    )
    values, again, workspaces = (
        {tuple(path.get_extents().extents.tolist()) for path in group.get_paths()}
        for group in figure.axes[0].collections
    )
    assert values == {(0, 0, 3, 2), (1, 2, 3, 3), (2, 3, 3, 6)}
    assert again == set()
    assert workspaces == {(1, 3, 2, 4)}
    (limit,) = figure.axes[0].lines
    assert list(limit.get_ydata()) == [6, 6]


def random_sequence(graph: Graph, chance: random.Random) -> GraphSchedule:
    """Return a schedule that computes earlier nodes again, now and then, in topological order."""
    computed: list[int] = []
    for node in range(len(graph)):
        if not graph.comes_in_a_run(node) and not graph.results_after:
            computed += [other for other in range(node) if chance.random() < 0.3]
        computed.append(node)
    return GraphSchedule.from_computations(graph, computed)


def test_a_plan_without_overlaps_is_valid_and_its_peak_is_its_highest_end() -> None:
    # c stands on a and b; the workspace of b is where c comes.
    replay = with_offsets((0, 2, 3), (0, 3, 0)).replay(GRAPH, 6)
    assert replay.valid
    assert replay.peak_bytes == 6
    assert replay.live_peak_bytes == 6
    assert replay.fragmentation_bytes == 0


def test_what_lies_higher_than_needed_is_fragmentation() -> None:
    replay = with_offsets((0, 2, 5), (0, 3, 0)).replay(GRAPH, 8)
    assert replay.valid
    assert replay.peak_bytes == 8
    assert replay.fragmentation_bytes == 2


@pytest.mark.parametrize(
    ("values", "workspaces", "limit", "rules"),
    [
        ((0, 1, 3), (0, 3, 0), 9, [Rule.ADDRESS_TAKEN]),
        # The workspace lies in the value of a, and c partly in both.
        ((0, 2, 3), (0, 1, 0), 9, [Rule.ADDRESS_TAKEN]),
        ((0, 2, 1), (0, 3, 0), 9, [Rule.ADDRESS_TAKEN, Rule.ADDRESS_TAKEN]),
        ((0, 2, 3), (0, 3, 0), 5, [Rule.OUT_OF_MEMORY]),
    ],
)
def test_the_replay_names_overlaps_and_what_ends_above_the_arena(
    values: tuple[int, ...], workspaces: tuple[int, ...], limit: int, rules: list[Rule]
) -> None:
    replay = with_offsets(values, workspaces).replay(GRAPH, limit)
    assert [violation.rule for violation in replay.violations] == rules


def test_offsets_off_the_alignment_are_named_and_sizes_are_rounded_up() -> None:
    aligned = replace(with_offsets((0, 4, 8), (0, 8, 0)), alignment_bytes=4)
    replay = aligned.replay(GRAPH, 12)
    assert replay.valid
    assert (replay.peak_bytes, replay.aligned_peak_bytes, replay.live_peak_bytes) == (12, 12, 6)
    odd = replace(aligned, value_offsets=(0, 4, 9))
    assert [item.rule for item in odd.replay(GRAPH, 16).violations] == [Rule.MISALIGNED]


def test_a_sequence_that_breaks_a_rule_is_judged_without_its_addresses() -> None:
    broken = AddressedSchedule(SCHEDULE.operations[1:], (0, 0), (0, 0))
    assert not broken.replay(GRAPH, 100).valid


def test_offsets_have_to_be_as_many_as_computations_and_no_less_than_zero() -> None:
    with pytest.raises(InputError, match="value_offsets"):
        with_offsets((0, 2), (0, 3, 0))
    with pytest.raises(InputError, match=r"workspace_offsets\[1\]"):
        with_offsets((0, 2, 3), (0, -3, 0))
    with pytest.raises(InputError, match="alignment_bytes"):
        replace(with_offsets((0, 2, 3), (0, 3, 0)), alignment_bytes=0)


def test_the_load_of_the_buffers_is_the_peak_of_the_replay() -> None:
    for seed in range(30):
        chance = random.Random(seed)
        graph = random_graph(chance, 9)
        if seed % 3 == 0:
            graph = graph_of_runs(seed) if seed % 2 else graph_with_results(seed)
        schedule = random_sequence(graph, chance)
        replay = schedule.replay(graph)
        assert replay.valid, seed
        buffers = buffers_of(graph, schedule.operations)
        assert live_peak_bytes(buffers) == replay.peak_bytes, seed
        placed = place_all(buffers, PLACEMENT, Clock(None))
        addressed = AddressedSchedule.of(schedule, dict(zip(buffers, placed.offsets, strict=True)))
        judged = addressed.replay(graph, placed.arena_bytes)
        assert judged.valid, (seed, judged.violations)
        assert judged.peak_bytes == placed.arena_bytes
        assert judged.time_ns == replay.time_ns
        assert judged.schedule_class is replay.schedule_class


def test_results_of_a_run_stay_where_the_operator_made_them() -> None:
    graph = graph_of_runs(3)
    order = list(range(len(graph)))
    schedule = GraphSchedule.from_computations(graph, order)
    buffers = buffers_of(graph, schedule.operations)
    operator, results = next(iter(graph.results_after.items()))
    made = [item for item in buffers if item.computation in results and not item.is_workspace]
    assert made
    assert {item.start for item in made} == {operator}


def test_a_file_has_the_addresses(tmp_path: Path) -> None:
    schedule = with_offsets((0, 2, 3), (0, 3, 0))
    path = tmp_path / "placed.json"
    save_schedule(schedule, GRAPH, path)
    assert load_schedule(path, GRAPH) == schedule
