"""XLA's greedy pass on worked examples."""

from __future__ import annotations

from jettison.instances.remat_graph.graph import Graph, Node
from jettison.instances.remat_graph.problem import RematGraph
from jettison.remat_graph import GraphSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.remat_graph.planners.xla_greedy import (
    GreedyPass,
    XlaGreedyParams,
    solve_xla_greedy,
)

OPTIONS = SolveOptions(time_limit_s=None)


def graph(*nodes: tuple[str, int, tuple[str, ...]], kept: tuple[str, ...] = ()) -> Graph:
    return Graph(
        "by hand",
        tuple(
            Node(name=name, duration_ns=1, output_bytes=size, inputs=read, keep=name in kept)
            for name, size, read in nodes
        ),
    )


def computations(instance: Graph, memory_bytes: int, largest_block: int = 8) -> list[int]:
    rewriting = GreedyPass(instance, memory_bytes, largest_block)
    rewriting.run(Clock(None))
    return rewriting.computations


# a feeds b, b feeds c and e, c feeds d, and d and b feed e.
SKIP = graph(
    ("a", 1, ()),
    ("b", 4, ("a",)),
    ("c", 2, ("b",)),
    ("d", 5, ("c",)),
    ("e", 1, ("b", "d")),
)


def test_where_the_memory_suffices_nothing_changes() -> None:
    # b, c and d together.
    assert SKIP.store_all_peak_bytes == 11
    assert computations(SKIP, 11) == [0, 1, 2, 3, 4]


def test_what_frees_the_most_bytes_is_computed_again_before_its_next_user() -> None:
    # While d is placed, b, c and d need 11. c is being read. b frees 4, less 1 for a, which is
    # dead and would have to stay: 3 bytes, and 8 are left.
    assert computations(SKIP, 10) == [0, 1, 2, 3, 1, 4]
    outcome = solve_xla_greedy(RematGraph(SKIP, 10), OPTIONS)
    assert isinstance(outcome.schedule, GraphSchedule)
    # e needs b, d and itself: 10 bytes.
    assert outcome.schedule.replay(SKIP, 10).peak_bytes == 10
    assert outcome.work == {"copies": 1}


def test_of_equal_costs_the_first_is_chosen_and_costs_are_rounded_down() -> None:
    # x and y are read at the end. While z is placed, 5 + 6 + 9 bytes are there. In 18, x costs
    # 18 / 5 = 3 and y 18 / 6 = 3, rounded down.
    step = graph(
        ("x", 5, ()),
        ("y", 6, ()),
        ("u", 0, ("x", "y")),
        ("z", 9, ("u",)),
        ("w", 1, ("z",)),
        ("end", 1, ("w", "x", "y")),
    )
    # So it is x, which comes first, though y frees more.
    assert computations(step, 18) == [0, 1, 2, 3, 4, 0, 5]
    # 17 / 5 = 3 and 17 / 6 = 2.
    assert computations(step, 17) == [0, 1, 2, 3, 4, 1, 5]


def test_what_nobody_has_read_yet_is_moved_at_no_cost() -> None:
    # y is not read before the end: it is computed there only, and not twice.
    step = graph(
        ("x", 1, ()), ("y", 6, ()), ("z", 9, ("x",)), ("w", 1, ("z",)), ("end", 1, ("w", "y"))
    )
    assert computations(step, 12) == [0, 2, 3, 1, 4]


def test_a_copy_comes_before_the_next_user_of_what_it_reads() -> None:
    # While e is placed, 1 + 4 + 3 + 8 bytes are there, and b frees 4 of them; a stays for f anyway.
    # The copy of b comes before f, the next user of a, so that a does not stay longer.
    step = graph(
        ("a", 1, ()),
        ("b", 4, ("a",)),
        ("c", 3, ("b",)),
        ("e", 8, ("c",)),
        ("f", 1, ("a", "e")),
        ("g", 1, ("f",)),
        ("h", 1, ("b", "g")),
    )
    assert computations(step, 15) == [0, 1, 2, 3, 1, 4, 5, 6]


def test_what_is_kept_and_what_is_being_read_stay() -> None:
    step = graph(("a", 4, ()), ("b", 4, ("a",)), ("c", 4, ("b",)), kept=("a", "c"))
    outcome = solve_xla_greedy(RematGraph(step, 11), OPTIONS)
    assert outcome.schedule is None
    assert "ends with a peak of" in (outcome.note or "")
    assert "(12 bytes)" in (outcome.note or "")


def test_neighbours_are_computed_again_together_where_one_alone_frees_nothing() -> None:
    # While big is placed, 1 + 3 + 3 + 10 bytes are there: s, which is kept, q, r and big. q was
    # made of p, which is dead, and as large: alone it frees nothing. Together they free 3 bytes.
    step = graph(
        ("s", 1, ()),
        ("p", 3, ("s",)),
        ("q", 3, ("p",)),
        ("r", 3, ("q",)),
        ("big", 10, ("r",)),
        ("after", 1, ("big",)),
        ("end", 1, ("after", "q")),
        kept=("s",),
    )
    alone = XlaGreedyParams(largest_block=1)
    assert solve_xla_greedy(RematGraph(step, 14), OPTIONS, alone).schedule is None
    outcome = solve_xla_greedy(RematGraph(step, 14), OPTIONS)
    assert isinstance(outcome.schedule, GraphSchedule)
    assert outcome.schedule.computations == (0, 1, 2, 3, 4, 5, 1, 2, 6)
