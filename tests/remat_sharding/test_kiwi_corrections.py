"""Places at which the print of KIWI's models is wrong or leaves something open, and the effect.

Every test has an instance on which the wrong reading has another optimum, derived by hand.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from jettison import InputError, RematSharding, ShardedGraph
from jettison.formulations.milp.from_pyomo import from_pyomo
from jettison.formulations.remat_sharding.kiwi.compact import KiwiReducedCompact
from jettison.formulations.remat_sharding.kiwi.full import KiwiFull
from jettison.formulations.remat_sharding.kiwi.products import Linearised
from jettison.formulations.remat_sharding.kiwi.reduced import KiwiReduced
from jettison.formulations.remat_sharding.kiwi.rows import KiwiModel, PrintedRow
from jettison.remat_sharding import Resharding, Role
from jettison.solvers.milp.highs import solve_model
from tests.remat_sharding.oracles.brute_force import best_reduced_plan, best_staged_plan
from tests.remat_sharding.tiny_sharded import WAITING, operator

FORWARD, BACKWARD = Role.FORWARD, Role.BACKWARD


def _optimum(built: KiwiModel) -> int | None:
    objective = solve_model(from_pyomo(built.concrete).model).objective
    return None if objective is None else built.time_scale.from_model(objective)


def reduced(sharded: ShardedGraph, memory_bytes: int, *printed: PrintedRow) -> int | None:
    problem = RematSharding(sharded, memory_bytes)
    return _optimum(KiwiReduced(Linearised(), frozenset(printed)).build(problem))


def full(sharded: ShardedGraph, memory_bytes: int, *printed: PrintedRow) -> int | None:
    problem = RematSharding(sharded, memory_bytes)
    return _optimum(KiwiFull(Linearised(), frozenset(printed)).build(problem))


def compact(sharded: ShardedGraph, memory_bytes: int) -> int | None:
    built = KiwiReducedCompact().build(RematSharding(sharded, memory_bytes))
    objective = solve_model(built.model).objective
    return None if objective is None else built.time_scale.from_model(objective)


def right(sharded: ShardedGraph, memory_bytes: int, time_ns: int | None) -> None:
    """Check that every form, read rightly, and the brute forces agree on an optimum."""
    for plan in (
        best_reduced_plan(sharded, memory_bytes),
        best_staged_plan(sharded, memory_bytes),
    ):
        assert (plan and plan.time_ns) == time_ns
    assert reduced(sharded, memory_bytes) == time_ns
    assert compact(sharded, memory_bytes) == time_ns
    assert full(sharded, memory_bytes) == time_ns


PLENTY = 1000

# The fast strategies, 1 ns each, are 5 ns apart; beside them any pair takes 10 ns or more.
APART = ShardedGraph(
    "apart",
    (operator("a", FORWARD, ((1, 1), (9, 1))), operator("b", FORWARD, ((9, 1), (1, 1)), ("a",))),
    (Resharding("a", "b", ((0, 5), (0, 0))),),
)


def test_resharding_is_paid_for_only_with_equalities() -> None:
    # 1 + 1 + 5; with (22) and (23) as they are printed e = 0, and 1 + 1.
    right(APART, PLENTY, 7)
    assert reduced(APART, PLENTY, PrintedRow.RESHARDING) == 2
    assert full(APART, PLENTY, PrintedRow.RESHARDING) == 2


def test_a_table_has_a_row_for_each_strategy_of_the_source() -> None:
    sharded = ShardedGraph(
        "one way",
        (
            operator("a", FORWARD, ((0, 1), (3, 1))),
            operator("b", FORWARD, ((3, 1), (0, 1)), ("a",)),
        ),
        (Resharding("a", "b", ((4, 0), (9, 4))),),
    )
    # From the first of a to the second of b for nothing. The other way round that costs 9; then
    # the second of a and the first of b are best: 3 + 3 + 0.
    right(sharded, PLENTY, 0)
    assert reduced(sharded, PLENTY, PrintedRow.ORIENTATION) == 6
    assert full(sharded, PLENTY, PrintedRow.ORIENTATION) == 6


def test_a_table_need_not_be_square() -> None:
    sharded = ShardedGraph(
        "two by three",
        (
            operator("a", FORWARD, ((0, 1), (3, 1))),
            operator("b", FORWARD, ((3, 1), (0, 1), (2, 1)), ("a",)),
        ),
        (Resharding("a", "b", ((9, 8, 4), (9, 4, 0))),),
    )
    # Second and third: 3 + 2 + 0. First and third 6, second and second 7.
    right(sharded, PLENTY, 5)


def test_a_parameter_is_in_memory_after_its_stage_begins_and_not_before() -> None:
    sharded = ShardedGraph(
        "parameter",
        (operator("w", Role.PARAMETER, ((0, 2),)), operator("a", FORWARD, ((1, 3),), ("w",))),
    )
    right(sharded, 5, 1)
    # (15) from t = i on contradicts (14): there is no point.
    assert full(sharded, 5, PrintedRow.PARAMETERS) is None


def test_a_step_may_fill_the_memory() -> None:
    # 4 + 1 + 5 bytes while c runs. If that has to be less than 10, a is computed again.
    right(WAITING, 10, 4)
    assert full(WAITING, 10, PrintedRow.MEMORY) == 5


def test_the_first_moment_of_a_stage_counts_operator_0() -> None:
    sharded = ShardedGraph(
        "large first",
        (operator("a", FORWARD, ((1, 12),)), operator("b", FORWARD, ((1, 1),), ("a",))),
    )
    right(sharded, 12, None)
    right(sharded, 13, 2)
    # Without it, a and b are computed in the stage of b in 1 byte.
    assert full(sharded, 10, PrintedRow.START) == 3


def test_what_nobody_reads_is_freed_too() -> None:
    sharded = ShardedGraph(
        "unread",
        (
            operator("a", FORWARD, ((1, 4),)),
            operator("b", FORWARD, ((1, 1),)),
            operator("c", FORWARD, ((1, 5),), ("b",)),
        ),
    )
    right(sharded, 6, 3)
    for printed, time_ns in (
        (frozenset[PrintedRow](), 4),
        (frozenset({PrintedRow.FREED}), None),
    ):
        built = KiwiFull(Linearised(), printed).build(RematSharding(sharded, 9))
        # a is computed again before c for nothing: 4 bytes beside b; gone before c runs, or not.
        built.concrete.A[2, 0].fix(1)
        assert _optimum(built) == time_ns


def test_what_is_kept_is_in_memory_after_the_last_stage_and_nothing_else() -> None:
    sharded = ShardedGraph(
        "kept",
        (
            operator("a", FORWARD, ((1, 4),), keep=True),
            operator("b", FORWARD, ((1, 1),), ("a",)),
            operator("c", FORWARD, ((1, 5),), ("b",)),
        ),
    )
    # a, b and c: 10 bytes. If nothing is kept, b and c: 6.
    right(sharded, 9, None)
    right(sharded, 10, 3)
    assert full(sharded, 6, PrintedRow.END) == 3
    free = replace(
        sharded, operators=(replace(sharded.operators[0], keep=False), *sharded.operators[1:])
    )
    right(free, 6, 3)


def test_parameters_and_inputs_are_not_computed_again() -> None:
    for role in (Role.PARAMETER, Role.INPUT):
        sharded = ShardedGraph(
            "again for nothing",
            (
                operator("w", role, ((0, 8),)),
                operator("a", FORWARD, ((1, 4),), ("w",)),
                operator("b", FORWARD, ((1, 5),), ("a",)),
                operator("g", BACKWARD, ((1, 0),), ("w", "b")),
            ),
        )
        # w stays while b runs: 8 + 4 + 5. Freed and made again, 8 + 5 bytes are enough.
        right(sharded, 16, None)
        right(sharded, 17, 3)
        assert reduced(sharded, 13, PrintedRow.ONCE) == 3


def test_only_what_is_computed_again_needs_its_inputs_to_stay() -> None:
    # b is freed in the forward pass and not computed again; so a may be, at 9 bytes.
    right(WAITING, 9, 5)
    # If b asked for a to stay, the slower strategy of a would be needed.
    assert reduced(WAITING, 9, PrintedRow.INPUTS) == 6


def test_parameters_and_what_is_kept_are_never_freed() -> None:
    for role, keep in ((Role.PARAMETER, False), (Role.FORWARD, True)):
        sharded = ShardedGraph(
            "stays",
            (
                operator("w", role, ((0, 8),), keep=keep),
                operator("a", FORWARD, ((1, 4),), ("w",)),
                operator("b", BACKWARD, ((1, 5),), ("a",)),
            ),
        )
        # 8 + 4 + 5; with w gone after a, 8 + 4.
        right(sharded, 16, None)
        right(sharded, 17, 2)
        assert reduced(sharded, 12, PrintedRow.STAYS) == 2


def test_what_an_operator_reads_is_in_memory_while_it_runs() -> None:
    # Freed at once, b is gone while c runs: 4 + 5 bytes, and a need not be computed again.
    right(WAITING, 9, 5)
    assert reduced(WAITING, 9, PrintedRow.AT_ONCE) == 4


def test_a_recomputation_reshards_its_inputs_again_in_the_same_strategy() -> None:
    x = operator("x", Role.INPUT, ((0, 0), (0, 0)))
    a = replace(WAITING.operators[0], inputs=("x",))
    sharded = ShardedGraph(
        "resharded",
        (x, a, *WAITING.operators[1:]),
        (Resharding("x", "a", ((7, None), (7, None))),),
    )
    # 4 + 7, and again 1 + 7.
    right(sharded, 9, 19)
    right(sharded, 8, None)


def test_all_that_is_computed_again_for_one_operator_is_in_memory_at_once() -> None:
    sharded = ShardedGraph(
        "two for one",
        (
            operator("a", FORWARD, ((1, 3),)),
            operator("b", FORWARD, ((1, 3),)),
            operator("c", FORWARD, ((1, 7),)),
            operator("g", BACKWARD, ((1, 2),), ("a", "b")),
        ),
    )
    # While c runs both are gone; before g both come back: 3 + 3 + 2.
    right(sharded, 8, 6)
    right(sharded, 7, None)


def test_the_recomputed_set_is_independent_in_the_reduced_problem_only() -> None:
    sharded = ShardedGraph(
        "two in a row",
        (
            operator("a", FORWARD, ((1, 4),)),
            operator("b", FORWARD, ((1, 4),), ("a",)),
            operator("c", FORWARD, ((1, 1),), ("b",)),
            operator("d", FORWARD, ((1, 6),), ("c",)),
            operator("f", BACKWARD, ((1, 1),), ("d",)),
            operator("g", BACKWARD, ((1, 0),), ("f", "b")),
            operator("h", BACKWARD, ((1, 0),), ("g", "a")),
        ),
    )
    # In 9 bytes neither a nor b is there while d runs (1 + 6): both come back before g, 4 + 4 + 1.
    assert full(sharded, 9) == 9
    # One of them stays, 4 + 1 + 6 bytes, and the other comes back.
    assert reduced(sharded, 10) is compact(sharded, 10) is None
    assert reduced(sharded, 11) == compact(sharded, 11) == 8
    assert full(sharded, 11) == 8


def test_times_are_told_apart_by_at_most_one() -> None:
    # With 3/2 a value that is freed at 3 is freed neither at 2, nor earlier, nor later than that.
    assert reduced(WAITING, 9) == 5
    apart = KiwiReduced(Linearised(), delta=1.5)
    assert _optimum(apart.build(RematSharding(WAITING, 9))) is None


def test_an_input_of_a_recomputation_waits_for_it() -> None:
    # Nothing but a reads x after a; if a comes back before d, x waits: 9 + 3 bytes while c runs.
    x = operator("x", Role.INPUT, ((0, 3),))
    a = replace(WAITING.operators[0], inputs=("x",))
    sharded = ShardedGraph("waits", (x, a, *WAITING.operators[1:]))
    right(sharded, 8, 6)
    right(sharded, 9, 6)
    right(sharded, 10, 4)
    cheap = replace(
        sharded,
        operators=(
            replace(x, strategies=operator("y", Role.INPUT, ((0, 0),)).strategies),
            *sharded.operators[1:],
        ),
    )
    right(cheap, 9, 5)


def test_the_reduced_problem_needs_backward_operators_last() -> None:
    sharded = ShardedGraph(
        "mixed up",
        (
            operator("a", FORWARD, ((1, 1),)),
            operator("g", BACKWARD, ((1, 1),), ("a",)),
            operator("late", FORWARD, ((1, 1),), ("a",)),
        ),
    )
    for build in (KiwiReduced().build, KiwiReducedCompact().build):
        with pytest.raises(InputError, match="'late' comes after a backward operator"):
            build(RematSharding(sharded, 10))
    assert full(sharded, 10) == 3
