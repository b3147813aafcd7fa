"""Published baselines on graphs small enough to be worked out by hand."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest

from jettison import Graph, RematGraph
from jettison.instances.generators.layered_graph import LayeredGraphs, Passes
from jettison.remat_graph import GraphSchedule, Node
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_graph.baselines.checkpoints import PlanLimit
from jettison.solvers.remat_graph.baselines.chen import (
    greedy_checkpoints,
    segmented_plan,
    sqrt_checkpoints,
)
from jettison.solvers.remat_graph.baselines.dtr import solve_dtr
from jettison.solvers.remat_graph.baselines.last_node import last_node_plan
from jettison.solvers.remat_graph.baselines.plans import fastest_that_fits, in_turn
from jettison.solvers.remat_graph.baselines.revolve import LinearisedGraph, revolve_plan, snapshots

NO_LIMIT = PlanLimit(None, Clock(None))


def chain_step(length: int, sizes: tuple[int, ...] = ()) -> Graph:
    """Return forward nodes 0..length-1 and the backward of each, which reads it and its input."""
    nodes = [
        Node(
            name=f"f{k}",
            duration_ns=1,
            output_bytes=sizes[k] if sizes else 1,
            inputs=(f"f{k - 1}",) if k else (),
        )
        for k in range(length)
    ]
    for k in reversed(range(length)):
        forward = (f"f{k}", f"f{k - 1}") if k else (f"f{k}",)
        gradient = (f"b{k + 1}",) if k + 1 < length else ()
        nodes.append(
            Node(
                name=f"b{k}",
                duration_ns=1,
                output_bytes=1,
                inputs=(*forward, *gradient),
                backward=True,
            )
        )
    return Graph(f"chain step {length}", tuple(nodes))


def test_between_cuts_each_segment_is_recomputed_once_and_as_a_whole() -> None:
    # Checkpoint 1 of 0..5: 0 is dropped when stage 2 begins. The last segment, 2 to 5, stays for
    # the backwards 6 to 9; backward 10 of f1 reads 0 and 1 and brings 0 back.
    plan = segmented_plan(chain_step(6), [1], NO_LIMIT)
    assert plan == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 10, 11]


def test_without_checkpoints_nothing_is_dropped() -> None:
    graph = chain_step(4)
    assert segmented_plan(graph, [], NO_LIMIT) == list(range(8))


def test_an_edge_that_skips_a_cut_is_recomputed() -> None:
    # 0 -> 1 -> 2 and 0 -> 2; with checkpoint 1, stage 2 lacks 0.
    graph = Graph(
        "skip",
        (
            Node(name="a", duration_ns=1, output_bytes=1),
            Node(name="b", duration_ns=1, output_bytes=1, inputs=("a",)),
            Node(name="c", duration_ns=1, output_bytes=1, inputs=("a", "b")),
        ),
    )
    assert segmented_plan(graph, [1], NO_LIMIT) == [0, 1, 0, 2]


def test_sqrt_cuts_into_groups_of_about_equal_length() -> None:
    # ceil(sqrt 10) = 4 groups of 3, 3, 2, 2; the end of the last one is no checkpoint.
    assert sqrt_checkpoints(range(10)) == (2, 5, 7)
    assert sqrt_checkpoints(range(9)) == (2, 5)
    assert sqrt_checkpoints([4]) == ()
    assert sqrt_checkpoints([]) == ()


def test_greedy_tries_all_thresholds_that_make_a_difference() -> None:
    # Sums of 3, 1, 2: 3, 4, 6 without a checkpoint. Below 6 the last is one; below 4 the second
    # (2 remains behind it); below 3 the first and, of 1 + 2, the third; below 1 all.
    choices = dict(greedy_checkpoints(chain_step(3, (3, 1, 2)), range(3)))
    # The rank is 6 less the least such threshold: 6, 4, 3, 1 and 0.
    assert choices == {0: (), 2: (2,), 3: (1,), 5: (0, 2), 6: (0, 1, 2)}


def test_greedy_finds_what_every_threshold_gives() -> None:
    graph = LayeredGraphs(nodes=16, passes=Passes.TRAINING).draw(4)
    candidates = [1, 2, 4, 6]
    found = {checkpoints for _, checkpoints in greedy_checkpoints(graph, candidates)}
    sizes = [node.output_bytes for node in graph.nodes]
    for threshold in range(0, sum(sizes), 10):
        chosen, total = [], 0
        for node in range(7):
            total += sizes[node]
            if node in candidates and total > threshold:
                chosen.append(node)
                total = 0
        assert tuple(chosen) in found


def test_the_last_node_is_all_that_stays() -> None:
    graph = chain_step(3)
    # Stage 3 (b2) reads 2, which is there, and 1, for which 0 is needed; stage 4 (b1) reads b2,
    # which is there, and f1 and f0; stage 5 (b0) reads b1 and f0.
    assert last_node_plan(graph, NO_LIMIT) == [0, 1, 2, 0, 1, 3, 0, 1, 4, 0, 5]


@cache
def fewest_advances(steps: int, most: int) -> int:
    """Steps that are run to reverse a chain, the first sweep included, by trying every snapshot."""
    if steps == 1:
        return 0
    if most == 1:
        return steps * (steps - 1) // 2
    return min(
        ahead + fewest_advances(steps - ahead, most - 1) + fewest_advances(ahead, most)
        for ahead in range(1, steps)
    )


@pytest.mark.parametrize("most", range(1, 7))
def test_the_snapshots_are_those_of_fewest_advances(most: int) -> None:
    for steps in range(1, 30):
        # To read a value, run on from the nearest snapshot that is there, and leave new ones.
        there: frozenset[int] = frozenset({0})
        advances = 0
        for value, chain in reversed(list(enumerate(snapshots(steps, most)))):
            held = frozenset(chain)
            assert len(held) <= most
            there &= held
            advances += value - max(there)
            there = held
        assert advances == fewest_advances(steps, most)


def test_with_as_many_snapshots_as_nodes_nothing_is_recomputed() -> None:
    assert revolve_plan(LinearisedGraph(chain_step(5)), 5, NO_LIMIT) == list(range(10))


def test_one_snapshot_restarts_from_the_first_value() -> None:
    # f0 and what the next stage reads stay. b2 finds f2 and f1, b1 finds f1 and f0.
    assert revolve_plan(LinearisedGraph(chain_step(3)), 1, NO_LIMIT) == list(range(6))
    # Of four, b3 finds f3 and f2. For b2 f1 is missing and is recomputed from f0; b1 finds it.
    plan = revolve_plan(LinearisedGraph(chain_step(4)), 1, NO_LIMIT)
    assert plan == [0, 1, 2, 3, 4, 1, 5, 6, 7]


def dtr_graph(stale_ns: int) -> Graph:
    """Return two values that the last node reads, and a large one that it does not."""
    return Graph(
        "dtr",
        (
            Node(name="cheap", duration_ns=1, output_bytes=2),
            Node(name="dear", duration_ns=50, output_bytes=2),
            Node(name="large", duration_ns=stale_ns, output_bytes=3),
            Node(name="end", duration_ns=1, output_bytes=1, inputs=("cheap", "dear")),
        ),
    )


def test_dtr_evicts_what_is_cheap_for_its_size_and_age() -> None:
    # 6 bytes hold cheap and dear (4), not large (3) too: h(cheap) = 1 / (2 * 50),
    # h(dear) = 50 / (2 * 1). Cheap goes and comes back.
    problem = RematGraph(dtr_graph(10), 6)
    outcome = solve_dtr(problem, SolveOptions())
    assert outcome.work == {"evictions": 1}
    assert outcome.schedule is not None
    replay = outcome.schedule.replay(problem.instance, 6)
    assert replay.valid
    assert replay.time_ns == problem.instance.base_time_ns + 1


def test_dtr_counts_what_has_to_be_recomputed_along_with_a_value() -> None:
    # Below 7 bytes something goes when `push` (3) comes after root (evicted), leaf and other:
    # leaf alone takes 2, less than other's 3, but with root, which is gone, 2 + 9.
    graph = Graph(
        "neighbourhood",
        (
            Node(name="root", duration_ns=9, output_bytes=3),
            Node(name="leaf", duration_ns=2, output_bytes=2, inputs=("root",)),
            Node(name="other", duration_ns=3, output_bytes=2),
            Node(name="push", duration_ns=0, output_bytes=3),
            Node(name="end", duration_ns=1, output_bytes=0, inputs=("leaf", "other")),
        ),
    )
    outcome = solve_dtr(RematGraph(graph, 6), SolveOptions())
    assert outcome.schedule is not None
    # Ages when push comes: leaf 3 ns, other 1 ns by its own computation. h(leaf) = 11 / (2 * 3),
    # h(other) = 3 / (2 * 1): other goes. Without root it would be leaf: 2 / 6 < 3 / 2.
    assert outcome.schedule.computations == (0, 1, 2, 3, 2, 4)


def test_dtr_evicts_what_is_stale_among_equals() -> None:
    # touch begins to read a 4 ns after b was made, and so b is 7 ns old and a 3 when push takes the
    # room. Both cost 8 ns: b by itself, a with touch, which is gone.
    graph = Graph(
        "stale",
        (
            Node(name="a", duration_ns=5, output_bytes=2),
            Node(name="b", duration_ns=8, output_bytes=2),
            Node(name="wait", duration_ns=4, output_bytes=0),
            Node(name="touch", duration_ns=3, output_bytes=0, inputs=("a",)),
            Node(name="push", duration_ns=0, output_bytes=3),
            Node(name="end", duration_ns=1, output_bytes=0, inputs=("a", "b")),
        ),
    )
    outcome = solve_dtr(RematGraph(graph, 6), SolveOptions())
    assert outcome.schedule is not None
    assert outcome.schedule.computations == (0, 1, 2, 3, 4, 1, 5)


def test_dtr_takes_the_moment_in_which_a_reader_begins_for_the_access() -> None:
    # read begins at 5 ns and ends at 9, where push takes the room: h(a) = 5 / (2 * 4), and of read
    # itself 4 / (2 * 1), for it was made just now. Were both as old, read would go.
    graph = Graph(
        "begin",
        (
            Node(name="a", duration_ns=5, output_bytes=2),
            Node(name="read", duration_ns=4, output_bytes=2, inputs=("a",)),
            Node(name="push", duration_ns=0, output_bytes=3),
            Node(name="end", duration_ns=1, output_bytes=0, inputs=("a", "read")),
        ),
    )
    outcome = solve_dtr(RematGraph(graph, 6), SolveOptions())
    assert outcome.schedule is not None
    assert outcome.schedule.computations == (0, 1, 2, 0, 3)


def test_for_dtr_being_made_again_is_no_access() -> None:
    # push a leaves no room for a, which comes back for touch: asked for at 9 ns, made until 13,
    # where push takes the room. b was made at 9, too: h(a) = 4 / (2 * 4), h(b) = 5 / (2 * 4).
    graph = Graph(
        "again",
        (
            Node(name="a", duration_ns=4, output_bytes=2),
            Node(name="push a", duration_ns=0, output_bytes=5),
            Node(name="b", duration_ns=5, output_bytes=2),
            Node(name="touch", duration_ns=0, output_bytes=0, inputs=("a",)),
            Node(name="push", duration_ns=0, output_bytes=3),
            Node(name="end", duration_ns=1, output_bytes=0, inputs=("a", "b")),
        ),
    )
    outcome = solve_dtr(RematGraph(graph, 6), SolveOptions())
    assert outcome.schedule is not None
    assert outcome.schedule.computations == (0, 1, 2, 0, 3, 4, 0, 5)


def test_dtr_says_where_nothing_is_left_to_evict() -> None:
    outcome = solve_dtr(RematGraph(dtr_graph(1), 4), SolveOptions())
    assert outcome.termination is Termination.COMPLETED
    assert outcome.schedule is None
    assert outcome.note is not None
    assert "nothing left to evict when it computes 'end'" in outcome.note


def test_dtr_does_not_go_on_beyond_the_time_limit() -> None:
    outcome = solve_dtr(RematGraph(dtr_graph(1), 6), SolveOptions(time_limit_s=1e-9))
    assert outcome.termination is Termination.TIME_LIMIT
    assert outcome.schedule is None


def test_at_the_time_limit_the_fastest_so_far_is_returned() -> None:
    graph = chain_step(4)
    slow, fast = segmented_plan(graph, [1], NO_LIMIT), segmented_plan(graph, [], NO_LIMIT)
    problem = RematGraph(graph, "100%")
    stopped = fastest_that_fits(
        problem, "x", in_turn([slow, fast]), SolveOptions(time_limit_s=1e-9)
    )
    assert stopped.termination is Termination.TIME_LIMIT
    assert stopped.schedule == GraphSchedule.from_computations(graph, slow)
    finished = fastest_that_fits(problem, "x", in_turn([slow, fast]), SolveOptions())
    assert finished.schedule == GraphSchedule.from_computations(graph, fast)


def test_of_two_schedules_of_the_same_time_the_first_is_returned() -> None:
    graph = dtr_graph(10)
    plans = [(0, 1, 2, 0, 3), (0, 2, 0, 1, 3)]
    first, second = (GraphSchedule.from_computations(graph, plan) for plan in plans)
    assert first.replay(graph).time_ns == second.replay(graph).time_ns
    outcome = fastest_that_fits(RematGraph(graph, 7), "x", in_turn(plans), SolveOptions())
    assert outcome.schedule == first


def test_an_interrupt_leaves_the_fastest_so_far() -> None:
    graph = chain_step(4)
    slow = segmented_plan(graph, [1], NO_LIMIT)

    def plans() -> Iterator[list[int]]:
        yield slow
        raise KeyboardInterrupt

    outcome = fastest_that_fits(RematGraph(graph, "100%"), "x", in_turn(plans()), SolveOptions())
    assert outcome.termination is Termination.INTERRUPTED
    assert outcome.schedule == GraphSchedule.from_computations(graph, slow)


def test_where_none_fits_the_least_need_is_stated() -> None:
    graph = chain_step(4)
    plans = [segmented_plan(graph, [1], NO_LIMIT), segmented_plan(graph, [], NO_LIMIT)]
    schedules = [GraphSchedule.from_computations(graph, plan) for plan in plans]
    least = min(schedule.replay(graph).peak_bytes for schedule in schedules)
    outcome = fastest_that_fits(RematGraph(graph, least - 1), "x", in_turn(plans), SolveOptions())
    assert outcome.schedule is None
    assert outcome.note is not None
    assert f"({least} bytes)" in outcome.note
