"""Schedules of the graph of a chain, read as schedules of the chain and judged there."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from jettison import Chain, ScheduleClass
from jettison.instances.remat_graph.chain_to_graph import graph_memory_bytes
from jettison.remat_graph import GraphOperation, GraphOperationKind, GraphSchedule, chain_to_graph
from jettison.schedules.core.replay import Rule
from tests.drawing.chains import chain_of, chains, random_chain, with_random_gradients
from tests.remat_chain.oracles.from_graph import chain_schedule_of_graph

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


@settings(max_examples=200)
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


class _Walk:
    """A random schedule of the graph that keeps no F while another F or a B runs."""

    def __init__(self, chain: Chain, generator: random.Random) -> None:
        self._count = len(chain)
        self._generator = generator
        self._graph = chain_to_graph(chain)
        self._position = {node.name.split()[0]: n for n, node in enumerate(self._graph.nodes)}
        self._resident: set[str] = set()
        self._found: list[GraphOperation] = []
        self._loss = generator.choice((0.0, 0.03, 0.1))
        for number in range(len(chain), 0, -1):
            self._backward(number)

    def schedule(self) -> GraphSchedule:
        return GraphSchedule(tuple(self._found))

    def _compute(self, name: str) -> None:
        self._found.append(GraphOperation(GraphOperationKind.COMPUTE, self._position[name]))
        self._resident.add(name)

    def _free(self, name: str) -> None:
        if name in self._resident:
            self._found.append(GraphOperation(GraphOperationKind.FREE, self._position[name]))
            self._resident.remove(name)

    def _lose(self, share: float, kept: str = "") -> None:
        for name in sorted(self._resident):
            if name[0] in "SA" and name != kept and self._generator.random() < share:
                self._free(name)

    def _backward(self, number: int) -> None:
        names = (f"S{number}", f"A{number}", f"A{number - 1}")
        wanted = [name for name in names if name in self._position]
        while not self._resident.issuperset(wanted):
            self._need(self._generator.choice(wanted))
        self._compute(f"B{number}")
        self._free(f"B{number + 1}")
        if self._generator.random() < 0.8:
            self._free(f"S{number}")
            self._free(f"A{number}")
        self._lose(3 * self._loss)

    def _need(self, name: str) -> None:
        if name in self._resident:
            return
        number, below = int(name[1:]), f"A{int(name[1:]) - 1}"
        while number > 1 and below not in self._resident:
            self._need(below)
        self._compute(f"F{number}")
        made = [f"S{number}", f"A{number}"] if self._generator.random() < 0.6 else [name]
        self._generator.shuffle(made)
        for item in made:
            self._lose(self._loss, kept=below)
            if item in self._position:
                self._compute(item)
        if self._generator.random() < 0.3:
            self._free(below)
        self._free(f"F{number}")
        self._lose(self._loss)


def test_within_its_reserve_a_schedule_of_the_graph_fits_the_chain_and_takes_no_longer() -> None:
    generator = random.Random(8)
    fitting = 0
    classes: set[ScheduleClass] = set()
    for number in range(500):
        chain = random_chain(generator, generator.randint(1, 5))
        if number % 2:
            chain = with_random_gradients(generator, chain, 6)
        schedule = _Walk(chain, generator).schedule()
        on_graph = schedule.replay(chain_to_graph(chain))
        assert {item.rule for item in on_graph.violations} <= {Rule.UNFINISHED}
        replay = chain_schedule_of_graph(chain, schedule).replay(chain)
        assert replay.valid
        assert replay.time_ns <= on_graph.time_ns
        reserve_bytes = graph_memory_bytes(chain, 0)
        if on_graph.peak_bytes < 2 * reserve_bytes:
            fitting += 1
            classes.add(replay.schedule_class)
            assert replay.peak_bytes + reserve_bytes <= on_graph.peak_bytes
    assert fitting > 50
    assert ScheduleClass.PERSISTENT_WITH_DROPS in classes
