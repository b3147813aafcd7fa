"""The replay of graph schedules, their class, and when values are freed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain as joined
from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jettison import Graph, ScheduleClass
from jettison.remat_graph import GraphOperation, GraphOperationKind, GraphSchedule, Node
from tests.drawing.graphs import graphs

COMPUTE, FREE = GraphOperationKind.COMPUTE, GraphOperationKind.FREE

# x feeds y and z, y feeds z, and z must be there at the end.
TRIANGLE = Graph(
    name="triangle",
    nodes=(
        Node(name="x", duration_ns=2, output_bytes=3),
        Node(name="y", duration_ns=5, output_bytes=4, inputs=("x",), workspace_bytes=2),
        Node(name="z", duration_ns=1, output_bytes=1, inputs=("x", "y"), keep=True),
    ),
)


def _schedule(text: str) -> GraphSchedule:
    """Read a sequence such as ``0 1 -0``: compute node 0, compute node 1, free node 0."""
    return GraphSchedule(
        tuple(
            GraphOperation(FREE if word.startswith("-") else COMPUTE, int(word.lstrip("-")))
            for word in text.split()
        )
    )


def _violations(text: str, memory_bytes: int | None = None) -> list[str]:
    return [str(item) for item in _schedule(text).replay(TRIANGLE, memory_bytes).violations]


def test_a_step_that_computes_each_node_once_is_worked_out_by_hand() -> None:
    replay = _schedule("0 1 2 -0 -1").replay(TRIANGLE)
    assert replay.valid
    # x 3; y 3+4 and its workspace 2; z 7+1; then 3 and 4 are freed.
    assert [(step.during_bytes, step.after_bytes) for step in replay.steps] == [
        (3, 3),
        (9, 7),
        (8, 8),
        (8, 5),
        (5, 1),
    ]
    assert (replay.peak_bytes, replay.time_ns) == (9, 8)


def test_freeing_takes_no_time_and_is_no_repetition() -> None:
    steps = _schedule("0 -0 0 1 2 -1 -0").replay(TRIANGLE).steps
    assert [step.end_ns - step.start_ns for step in steps] == [2, 0, 2, 5, 1, 0, 0]
    assert [step.repeated for step in steps] == [False, False, True, False, False, False, False]


def test_a_missing_input_is_named() -> None:
    assert _violations("1 0 1 2")[0] == "operation 0 (compute y): input missing: x"
    assert _violations("0 1 -0 2") == ["operation 3 (compute z): input missing: x"]


def test_a_value_that_is_not_in_memory_cannot_be_freed() -> None:
    assert _violations("0 -1 1 2") == ["operation 1 (free y): not in memory: y"]
    assert _violations("0 -0 -0 0 1 2") == ["operation 2 (free x): not in memory: x"]


def test_a_node_that_is_never_computed_is_named() -> None:
    assert _violations("0 1") == ["at the end: unfinished: z is never computed"]


def test_a_kept_node_that_is_not_there_at_the_end_is_named() -> None:
    assert _violations("0 1 2 -2") == ["at the end: not kept: z"]


def test_an_operation_over_the_limit_is_named_with_its_output_and_its_excess() -> None:
    # y takes 9, z 8.
    assert _violations("0 1 2", 7) == [
        "operation 1 (compute y): out of memory: y, 2 bytes over the limit",
        "operation 2 (compute z): out of memory: z, 1 bytes over the limit",
    ]


@pytest.mark.parametrize("node", [3, -1])
def test_a_node_that_the_graph_does_not_have_is_named_and_takes_its_place(node: int) -> None:
    unknown = GraphOperation(COMPUTE, node)
    schedule = GraphSchedule((unknown, *_schedule("0 1 -1 2").operations))
    replay = schedule.replay(TRIANGLE)
    assert [str(item) for item in replay.violations] == [
        f"operation 0 (compute {node}): unknown operation: node {node}",
        "operation 4 (compute z): input missing: y",
    ]
    assert len(replay.steps) == 5


def test_a_value_that_is_in_memory_already_is_written_beside_the_old_copy() -> None:
    step = _schedule("0 1 1").replay(TRIANGLE).steps[2]
    # x 3, y 4: the second y writes 4 more and uses 2; one y stays.
    assert (step.during_bytes, step.after_bytes) == (13, 7)


@pytest.mark.parametrize(
    ("computations", "schedule_class"),
    [
        ([0, 1, 2], ScheduleClass.STAGED),
        # Stage 2 computes x again before z.
        ([0, 1, 0, 2], ScheduleClass.STAGED),
        # Stage 2 computes x and y again, in that order.
        ([0, 1, 0, 1, 2], ScheduleClass.STAGED),
        # ... and not in the other order.
        ([0, 1, 1, 0, 2], ScheduleClass.IN_ORDER),
        # Twice in one stage.
        ([0, 1, 0, 0, 2], ScheduleClass.IN_ORDER),
        # After the last first computation there is no stage left.
        ([0, 1, 2, 0], ScheduleClass.IN_ORDER),
    ],
)
def test_a_schedule_is_staged_if_each_first_computation_ends_an_ascending_stage(
    computations: list[int], schedule_class: ScheduleClass
) -> None:
    schedule = GraphSchedule(tuple(GraphOperation(COMPUTE, node) for node in computations))
    assert schedule.replay(TRIANGLE).schedule_class is schedule_class


def test_first_computations_out_of_order_are_not_staged() -> None:
    graph = Graph(
        name="pair", nodes=tuple(Node(name=n, duration_ns=1, output_bytes=1) for n in "ab")
    )
    assert _schedule("1 0").replay(graph).schedule_class is ScheduleClass.ALL


@settings(max_examples=150)
@given(st.data())
def test_the_class_is_staged_if_some_cut_into_stages_is(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 3))
    graph = Graph(
        name="free",
        nodes=tuple(Node(name=str(n), duration_ns=1, output_bytes=1) for n in range(count)),
    )
    extra = data.draw(st.lists(st.integers(0, count - 1), max_size=3))
    computations = data.draw(st.permutations([*range(count), *extra]))
    replay = GraphSchedule(tuple(GraphOperation(COMPUTE, n) for n in computations)).replay(graph)
    staged = any(
        all(_is_stage(number, stage) for number, stage in enumerate(stages))
        for stages in _cuts(computations, count)
    )
    in_order = list(dict.fromkeys(computations)) == list(range(count))
    otherwise = ScheduleClass.IN_ORDER if in_order else ScheduleClass.ALL
    assert replay.schedule_class is (ScheduleClass.STAGED if staged else otherwise)


def _cuts(computations: Sequence[int], count: int) -> Iterator[list[Sequence[int]]]:
    """Cut a sequence into `count` parts in every way."""
    for places in combinations(range(1, len(computations)), count - 1):
        bounds = [0, *places, len(computations)]
        yield [computations[first:following] for first, following in pairwise(bounds)]


def _is_stage(number: int, stage: Sequence[int]) -> bool:
    return stage[-1] == number and all(before < after for before, after in pairwise(stage))


def test_each_value_is_freed_right_after_its_last_read() -> None:
    schedule = GraphSchedule.from_computations(TRIANGLE, [0, 1, 2])
    assert schedule == _schedule("0 1 2 -0 -1")


def test_a_value_is_freed_before_it_is_computed_again() -> None:
    # The first x is read last by y, the second one by z.
    schedule = GraphSchedule.from_computations(TRIANGLE, [0, 1, 0, 2])
    assert schedule == _schedule("0 1 -0 0 2 -0 -1")


def test_a_repetition_that_nobody_reads_is_left_out_with_what_only_it_read() -> None:
    # The second y is read by nobody, so that nobody reads the second x either.
    schedule = GraphSchedule.from_computations(TRIANGLE, [0, 1, 2, 0, 1])
    assert schedule == _schedule("0 1 2 -0 -1")


def test_only_the_last_value_of_a_kept_node_stays() -> None:
    # The first z stands for a reader that wants it early: it is freed at once, the second stays.
    schedule = GraphSchedule.from_computations(TRIANGLE, [0, 1, 2, 2])
    assert schedule == _schedule("0 1 2 -2 2 -0 -1")


def test_a_value_that_nobody_reads_is_freed_at_once() -> None:
    graph = Graph(
        name="pair", nodes=tuple(Node(name=n, duration_ns=1, output_bytes=1) for n in "ab")
    )
    assert GraphSchedule.from_computations(graph, [0, 1]) == _schedule("0 -0 1 -1")


def test_the_computations_of_a_schedule_leave_out_its_deletions() -> None:
    assert _schedule("0 1 -0 0 2 -0 -1").computations == (0, 1, 0, 2)


@st.composite
def _sequences(draw: st.DrawFn) -> tuple[Graph, list[int]]:
    """Draw a graph of 4 nodes at most, each node once in order, and repetitions among them."""
    graph = draw(graphs(max_nodes=4))
    computations: list[int] = []
    for node in range(len(graph)):
        if node:
            computations += draw(st.lists(st.integers(0, node - 1), max_size=2))
        computations.append(node)
    computations += draw(st.lists(st.integers(0, len(graph) - 1), max_size=1))
    return graph, computations


@settings(max_examples=150)
@given(_sequences())
def test_no_choice_of_deletions_needs_less_memory_at_any_time(
    drawn: tuple[Graph, list[int]],
) -> None:
    graph, computations = drawn
    schedule = GraphSchedule.from_computations(graph, computations)
    replay = schedule.replay(graph)
    assert replay.valid
    during = [step.during_bytes for step in replay.steps if step.operation.startswith("compute")]
    assert during == _least_bytes_at_each_computation(graph, schedule.computations)


@settings(max_examples=150)
@given(_sequences())
def test_leaving_out_what_nobody_reads_costs_neither_time_nor_memory(
    drawn: tuple[Graph, list[int]],
) -> None:
    graph, computations = drawn
    replay = GraphSchedule.from_computations(graph, computations).replay(graph)
    assert replay.time_ns <= sum(graph.nodes[node].duration_ns for node in computations)
    assert replay.peak_bytes <= max(_least_bytes_at_each_computation(graph, computations))


def _least_bytes_at_each_computation(graph: Graph, computations: Sequence[int]) -> list[int]:
    """Return, for each computation by itself, the least memory over all choices of deletions.

    Walks over every set of values that can be in memory before each computation, and keeps the
    sets from which the rest of the sequence can be computed.
    """
    reachable: list[set[frozenset[int]]] = [{frozenset()}]
    for node in computations:
        reachable.append(
            {
                rest
                for held in reachable[-1]
                if held.issuperset(graph.inputs[node])
                for rest in _subsets(held | {node})
            }
        )
    kept = {position for position, node in enumerate(graph.nodes) if node.keep}
    useful = {held for held in reachable[-1] if held >= kept}
    least = []
    for place in range(len(computations) - 1, -1, -1):
        node = computations[place]
        useful = {
            held
            for held in reachable[place]
            if held.issuperset(graph.inputs[node])
            and any(rest in useful for rest in _subsets(held | {node}))
        }
        output = graph.nodes[node].output_bytes + graph.nodes[node].workspace_bytes
        least.append(
            min(sum(graph.nodes[item].output_bytes for item in held) + output for held in useful)
        )
    return least[::-1]


def _subsets(items: frozenset[int]) -> Iterator[frozenset[int]]:
    sizes = range(len(items) + 1)
    return map(frozenset, joined.from_iterable(combinations(items, size) for size in sizes))


_OPERATIONS = st.builds(
    GraphOperation, st.sampled_from(list(GraphOperationKind)), st.integers(-1, 5)
)


@settings(max_examples=200)
@given(graphs(), st.lists(_OPERATIONS, max_size=12), st.integers(0, 60))
def test_any_sequence_is_judged_without_an_error(
    graph: Graph, operations: list[GraphOperation], memory_bytes: int
) -> None:
    schedule = GraphSchedule(tuple(operations))
    free, limited = schedule.replay(graph), schedule.replay(graph, memory_bytes)
    assert len(free.steps) == len(operations)
    over = [item.bytes_over for item in limited.violations if item.bytes_over]
    assert max(over, default=0) == max(free.peak_bytes - memory_bytes, 0)
    assert len(limited.violations) == len(free.violations) + len(over)
