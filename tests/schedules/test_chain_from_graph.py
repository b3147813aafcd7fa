"""Schedules of the graph of a chain, read as schedules of the chain and judged there."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from jettison.instances.chain import Chain
from jettison.instances.chain_to_graph import chain_to_graph
from jettison.schedules.chain_from_graph import chain_schedule_of_graph
from jettison.schedules.graph_schedule import GraphSchedule
from jettison.schedules.replay import Rule
from tests.strategies import chains
from tests.tiny import chain_of

# Nodes: F1 S1 A1 are 0 1 2, F2 S2 A2 are 3 4 5, F3 S3 are 6 7, B3 B2 B1 are 8 9 10.
THREE = chain_of(1, (10, 1, 6, 0, 0), (20, 1, 6, 0, 0), (1, 0, 0, 0, 0))


def converted(*computations: int) -> list[str]:
    schedule = GraphSchedule.from_computations(chain_to_graph(THREE), computations)
    return [str(operation) for operation in chain_schedule_of_graph(THREE, schedule).operations]


def test_a_step_without_recomputation_saves_everything() -> None:
    expected = ["F_all 1", "F_all 2", "F_all 3", "B 3", "B 2", "B 1"]
    assert converted(*range(11)) == expected


def test_the_last_forward_before_a_backward_saves() -> None:
    # F1 hands on A1 first and runs again for S1, before B2 reads what S2 holds of a^1.
    expected = ["F_ck 1", "F_all 2", "F_all 3", "B 3", "B 2", "F_all 1", "B 1"]
    assert converted(0, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 10) == expected


def test_a_stage_that_is_computed_anew_before_it_is_read_is_dropped() -> None:
    # F2 hands on A2 only, and A1 is made again before F2 runs for S2.
    expected = ["F_ck 1", "F_none 2", "F_all 3", "B 3", "F_all 1", "F_all 2", "B 2", "B 1"]
    assert converted(0, 2, 3, 5, 6, 7, 8, 0, 1, 2, 3, 4, 9, 10) == expected


def test_a_backward_that_runs_twice_is_taken_once() -> None:
    expected = ["F_all 1", "F_all 2", "F_all 3", "B 3", "B 2", "B 1"]
    graph = chain_to_graph(THREE)
    schedule = GraphSchedule.from_computations(graph, (*range(8), 8, 9, 8, 9, 10))
    found = chain_schedule_of_graph(THREE, schedule)
    assert [str(operation) for operation in found.operations] == expected


@st.composite
def computations(draw: st.DrawFn) -> tuple[Chain, GraphSchedule]:
    """Draw a chain and computations of its graph, each with its missing inputs made before it."""
    chain = draw(chains(min_stages=2))
    graph = chain_to_graph(chain)
    backward = [place for place, node in enumerate(graph.nodes) if node.backward]
    order: list[int] = []
    resident: set[int] = set()

    def compute(node: int) -> None:
        for source in graph.inputs[node]:
            if source not in resident:
                compute(source)
        order.append(node)
        resident.add(node)

    for node in backward:
        dropped = draw(st.sets(st.sampled_from(range(backward[0]))))
        resident -= dropped
        compute(node)
    return chain, GraphSchedule.from_computations(graph, order)


@settings(deadline=None, max_examples=200)
@given(computations())
def test_without_a_limit_every_schedule_of_the_graph_is_one_of_the_chain(
    drawn: tuple[Chain, GraphSchedule],
) -> None:
    chain, schedule = drawn
    graph_replay = schedule.replay(chain_to_graph(chain))
    # Nothing of the graph is left to be computed but A and S that nobody read.
    assert all(violation.rule is Rule.UNFINISHED for violation in graph_replay.violations)
    replay = chain_schedule_of_graph(chain, schedule).replay(chain)
    assert replay.violations == ()
    assert chain.base_time_ns <= replay.time_ns <= graph_replay.time_ns
