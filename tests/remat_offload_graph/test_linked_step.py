"""The replay of graph schedules with transfers: by hand, against a referee, and without a link."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from jettison import Graph, Link
from jettison.instances.remat_graph.graph import Node, OperatorResult
from jettison.remat_graph import GraphOperation, GraphOperationKind, GraphSchedule
from jettison.schedules.core.replay import Rule
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_offload_graph.schedule import OffloadGraphSchedule
from jettison.schedules.remat_offload_graph.value_transfer import (
    ValueTransfer,
    ValueTransferKind,
)
from tests.remat_offload_graph.cases import RATES, random_operations, tiny_graph
from tests.remat_offload_graph.oracles.moments import MomentSearch
from tests.remat_offload_graph.oracles.timed_referee import peak_bytes

# a (4 ns, 6 bytes) is read by b and by d; b (3 ns, 2 bytes), c (5 ns, 5 bytes, 1 of workspace)
# reads b, d (2 ns, 1 byte) reads a and c.
SKIP = Graph(
    "skip",
    (
        Node(name="a", duration_ns=4, output_bytes=6),
        Node(name="b", duration_ns=3, output_bytes=2, inputs=("a",)),
        Node(name="c", duration_ns=5, output_bytes=5, inputs=("b",), workspace_bytes=1),
        Node(name="d", duration_ns=2, output_bytes=1, inputs=("a", "c")),
    ),
)
BYTE_PER_NS = Link(10**9)


def schedule(text: str, graph: Graph = SKIP) -> OffloadGraphSchedule:
    """Read operations as files have them: ``compute a, offload a, free a``."""
    found: list[GraphOperation | ValueTransfer] = []
    for words in text.split(","):
        kind, name = words.split()
        place = graph.position_of[name]
        if kind in set(ValueTransferKind):
            found.append(ValueTransfer(ValueTransferKind(kind), place))
        else:
            found.append(GraphOperation(GraphOperationKind(kind), place))
    return OffloadGraphSchedule(tuple(found))


AWAY = schedule(
    "compute a, offload a, compute b, free a, compute c, free b, prefetch a, compute d, free a, "
    "free c, free d"
)


def test_a_value_leaves_and_comes_back_beside_the_computations() -> None:
    # a leaves from 4 to 10. In plenty of memory c runs from 7 to 12, and a comes back from 10, when
    # its copy is complete, to 16; d runs until 18.
    replay = AWAY.replay(SKIP, BYTE_PER_NS)
    assert replay.valid
    assert [(step.start_ns, step.end_ns) for step in replay.steps] == [
        (0, 4),
        (4, 7),
        (7, 12),
        (16, 18),
    ]
    assert [(item.start_ns, item.end_ns) for item in replay.transfers] == [(4, 10), (10, 16)]
    assert (replay.time_ns, replay.recompute_ns, replay.stall_ns) == (18, 0, 4)
    assert replay.idle_link_ns == (12, 12)


def test_a_computation_waits_for_the_memory_of_a_copy_under_way() -> None:
    # c needs 6 bytes beside b (2): in 12 bytes it waits until a (6) has left, at 10. Then a comes
    # back when c has ended, at 15: b (2), c (5) and a (6) are 13, and b goes with c's end.
    replay = AWAY.replay(SKIP, BYTE_PER_NS, 12)
    assert replay.valid
    assert [step.start_ns for step in replay.steps] == [0, 4, 10, 21]
    assert replay.transfers[1].start_ns == 15
    assert (replay.time_ns, replay.peak_bytes) == (23, 12)


def test_too_little_memory_is_named_with_the_operation_and_the_bytes() -> None:
    # d needs a, c and itself: 12 bytes.
    replay = AWAY.replay(SKIP, BYTE_PER_NS, 11)
    (found,) = replay.violations
    assert (found.rule, found.operation, found.bytes_over) == (Rule.OUT_OF_MEMORY, "compute d", 1)


@pytest.mark.parametrize(
    ("text", "rule", "tensor"),
    [
        ("compute a, free a, prefetch a", Rule.NO_COPY, "a"),
        ("compute a, offload a, prefetch a", Rule.IN_MEMORY_ALREADY, "a"),
        ("compute a, free a, offload a", Rule.NOT_IN_MEMORY, "a"),
        ("compute a, free a, free a", Rule.NOT_IN_MEMORY, "a"),
        ("compute a, offload a, free a, compute b", Rule.INPUT_MISSING, "a"),
    ],
)
def test_a_broken_rule_is_named(text: str, rule: Rule, tensor: str) -> None:
    found = schedule(text).replay(SKIP, BYTE_PER_NS).violations[0]
    assert (found.rule, found.tensor) == (rule, tensor)


def test_the_step_ends_when_a_kept_value_is_back() -> None:
    nodes = (
        Node(name="a", duration_ns=4, output_bytes=6, keep=True),
        Node(name="b", duration_ns=9, output_bytes=2, inputs=("a",)),
        Node(name="c", duration_ns=1, output_bytes=2, inputs=("b",)),
    )
    graph = Graph("kept", nodes)
    text = "compute a, offload a, compute b, free a, compute c, prefetch a"
    # b ends at 13 and c at 14; a comes back from 13 on, when c has started, and is there at 19.
    replay = schedule(text, graph).replay(graph, BYTE_PER_NS)
    assert replay.valid
    assert replay.time_ns == 19
    gone = schedule("compute a, offload a, compute b, free a, compute c", graph)
    assert [item.rule for item in gone.replay(graph, BYTE_PER_NS).violations] == [Rule.NOT_KEPT]


def test_results_stay_where_their_operator_has_made_them() -> None:
    made = (OperatorResult(name="p", output_bytes=2), OperatorResult(name="q", output_bytes=3))
    nodes = (
        Node(name="x", duration_ns=1, output_bytes=4),
        Node(name="split", duration_ns=9, inputs=("x",), results=made, workspace_bytes=2),
        Node(name="y", duration_ns=1, output_bytes=1, inputs=("x", "q")),
    )
    graph = Graph("run", nodes)
    text = (
        "compute x, offload x, compute split, free x, prefetch x, compute p, compute q, compute y"
    )
    # split has 5 bytes of results and 2 more of workspace beside x (4), whose memory returns when
    # it ends, at 10. There are 11 bytes then; p and q keep 5 of them, and x comes back in 4 ns.
    replay = schedule(text, graph).replay(graph, BYTE_PER_NS, 11)
    assert replay.valid
    assert [(step.start_ns, step.during_bytes) for step in replay.steps] == [
        (0, 4),
        (1, 11),
        (10, 9),
        (10, 9),
        (14, 10),
    ]
    assert (replay.transfers[1].start_ns, replay.peak_bytes) == (10, 11)
    # Another computation in between ends the run.
    broken = schedule(text.replace("compute p, ", "compute p, compute y, "), graph)
    found = broken.replay(graph, BYTE_PER_NS).violations
    assert (Rule.INPUT_MISSING, "split") in {(item.rule, item.tensor) for item in found}
    token = schedule("compute x, compute split, offload split", graph)
    assert token.replay(graph, BYTE_PER_NS).violations[0].rule is Rule.NOT_MOVABLE


def test_what_stays_on_the_device_and_what_has_no_link_is_not_moved() -> None:
    graph = Graph("stays", (Node(name="a", duration_ns=1, output_bytes=1, offload=False),))
    moved = schedule("compute a, offload a", graph)
    assert moved.replay(graph, BYTE_PER_NS).violations[0].rule is Rule.NOT_MOVABLE
    (found,) = (
        schedule("compute a, offload a, compute b, compute c, compute d").replay(SKIP).violations
    )
    assert (found.rule, found.tensor) == (Rule.NOT_MOVABLE, "a, without a link")


def test_an_unknown_node_is_named_and_skipped() -> None:
    found = OffloadGraphSchedule((ValueTransfer(ValueTransferKind.OFFLOAD, 9),)).replay(SKIP)
    assert (found.violations[0].rule, found.time_ns) == (Rule.UNKNOWN_OPERATION, 0)


def test_without_transfers_time_peak_and_verdict_are_those_of_graph_schedules() -> None:
    chance = random.Random(1)
    rules: set[Rule] = set()
    for _ in range(200):
        graph = tiny_graph(chance, 7)
        operations = tuple(
            item
            for item in random_operations(graph, chance)
            if isinstance(item, GraphOperation) and chance.random() < 0.95
        )
        limit = chance.randint(0, graph.store_all_peak_bytes)
        plain = GraphSchedule(operations).replay(graph, limit)
        linked = OffloadGraphSchedule(operations).replay(graph, BYTE_PER_NS, limit)
        assert linked.time_ns == plain.time_ns
        assert linked.peak_bytes == plain.peak_bytes
        assert linked.schedule_class is plain.schedule_class
        assert linked.valid is plain.valid
        # Results in a run take no memory of their own here, so that they are not named as well.
        if not graph.results_after:
            assert linked.violations == plain.violations
        rules |= {item.rule for item in plain.violations}
    assert {Rule.OUT_OF_MEMORY, Rule.INPUT_MISSING, Rule.NOT_KEPT} <= rules


def test_the_times_of_random_sequences_are_what_a_device_can_do() -> None:
    chance = random.Random(2)
    moved = 0
    for seed in range(300):
        graph = tiny_graph(chance, 7)
        rate = chance.choice(RATES)
        link = chance.choice((Link(rate), Link.half_duplex(rate)))
        found = OffloadGraphSchedule(tuple(random_operations(graph, chance)))
        free = found.replay(graph, link)
        assert peak_bytes(graph, link, found, free) <= free.peak_bytes, seed
        # Time is lost where memory is given out late, and no rule is broken by that.
        least = found.replay(graph, link, graph.least_peak_bound_bytes)
        needed = graph.least_peak_bound_bytes + max(
            (item.bytes_over for item in least.violations), default=0
        )
        tight = found.replay(graph, link, needed)
        if not {item.rule for item in tight.violations} - {Rule.UNFINISHED, Rule.NOT_KEPT}:
            assert peak_bytes(graph, link, found, tight) <= needed, seed
            moved += bool(tight.transfers)
    assert moved > 50


def test_no_valid_schedule_is_faster_than_the_search_over_moments() -> None:
    chance = random.Random(3)
    met = tried = 0
    while tried < 120:
        graph = tiny_graph(chance, 4)
        link = Link(chance.choice(RATES))
        found = OffloadGraphSchedule(tuple(random_operations(graph, chance)))
        if not found.replay(graph, link).valid:
            continue
        tried += 1
        peak = found.replay(graph, link).peak_bytes
        limit = chance.randint(graph.least_peak_bound_bytes, peak)
        replay = found.replay(graph, link, limit)
        if not replay.valid:
            limit = peak
            replay = found.replay(graph, link, limit)
        fastest_ns = MomentSearch(graph, limit, Fraction(link.bytes_per_s, 10**9)).fastest()
        assert fastest_ns is not None
        assert fastest_ns <= replay.time_ns
        met += fastest_ns == replay.time_ns
    assert met > 20


def test_the_class_is_that_of_the_computations() -> None:
    assert AWAY.replay(SKIP, BYTE_PER_NS).schedule_class in {
        ScheduleClass.STAGED,
        ScheduleClass.SAVED_OR_ONCE,
    }
