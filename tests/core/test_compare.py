"""Several problems side by side: their order, what they share, and how each is judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest.mock import Mock, patch

import pytest

from jettison import InputError, RematChain, RematOffloadChain, bound, compare, solve
from jettison.solvers import _kernels
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.registry import find_method
from jettison.solvers.core.solve import bound_with, compare_all, solve_with
from jettison.solvers.core.status import Termination
from tests.tiny import UNEVEN, UNIFORM

OPTIONS = SolveOptions(gap=0)
SHARES = ("60%", "100%", "75%", "0%", "90%")


def test_results_stand_in_the_order_of_the_problems() -> None:
    problems = [
        RematChain(UNEVEN, "80%"),
        RematChain(UNIFORM, "60%"),
        RematOffloadChain(UNEVEN, "80%", "1GB/s"),
        RematChain(UNEVEN, "90%"),
    ]
    results = compare_all(problems, ["rotor", "store-all"], OPTIONS)
    assert [(item.problem, item.method) for item in results] == [
        (problem, method) for problem in problems for method in ("rotor", "store-all")
    ]


def test_memories_of_one_chain_are_solved_with_one_table() -> None:
    problems = [RematChain(UNIFORM, share) for share in SHARES]
    with patch.object(_kernels, "persistent_program", wraps=_kernels.persistent_program) as program:
        together = compare_all(problems, ["rotor"], OPTIONS)
    # Sizes of whole bytes make the grid exact: the floor is the ceiling, and no memory goes on.
    assert program.call_count == 1
    for problem, result in zip(problems, together, strict=True):
        alone = solve_with(problem, "rotor", OPTIONS)
        assert (result.status, result.time_ns) == (alone.status, alone.time_ns)


def test_each_memory_goes_on_alone_where_the_table_leaves_a_gap() -> None:
    problems = [RematChain(UNEVEN, share) for share in SHARES]
    results = compare_all(problems, ["rotor"], OPTIONS, {"rotor": {"first_slots": 3}})
    assert {result.status for result in results if result.schedule} <= {
        "optimal",
        "optimal-persistent",
    }


def test_an_interrupt_during_the_table_ends_every_memory() -> None:
    problems = [RematChain(UNIFORM, share) for share in SHARES]
    with patch.object(_kernels, "persistent_program", side_effect=KeyboardInterrupt):
        results = compare_all(problems, ["rotor"], OPTIONS)
    assert {result.termination for result in results} == {Termination.INTERRUPTED}
    assert all(result.note for result in results)


def test_an_interrupt_of_one_memory_leaves_no_time_to_the_others() -> None:
    problems = [RematChain(UNEVEN, share) for share in ("85%", "90%")]
    with patch(
        "jettison.solvers.remat_chain.rotor.persistent_bracket", side_effect=KeyboardInterrupt
    ) as later:
        coarse = {"rotor": {"first_slots": 3}}
        results = compare_all(problems, ["rotor", "store-all"], OPTIONS, coarse)
    assert later.call_count == 1
    assert [item.method for item in results] == ["rotor", "rotor"]
    assert all(item.schedule is not None for item in results)


@pytest.mark.parametrize("where", ["offer_capped", "offer_autocapper"])
def test_an_interrupt_ends_the_comparison_with_the_results_so_far(where: str) -> None:
    problems = [RematOffloadChain(UNEVEN, share, "1GB/s") for share in ("80%", "90%")]
    names = ["store-all", "autocapper", "rotor"]
    # Heard by the method, or before it knew anything.
    with patch(f"jettison.solvers.remat_offload.autocapper.{where}", side_effect=KeyboardInterrupt):
        results = compare_all(problems, names, OPTIONS)
    assert [(item.problem, item.method) for item in results] == [
        (problems[0], "store-all"),
        (problems[0], "autocapper"),
        (problems[1], "store-all"),
    ]
    assert results[1].termination is Termination.INTERRUPTED


def test_an_interrupt_before_anything_is_known_is_a_result_as_well() -> None:
    problem = RematOffloadChain(UNEVEN, "80%", "1GB/s")
    for name in ("offer_autocapper", "Clock"):
        with patch(
            f"jettison.solvers.remat_offload.autocapper.{name}", side_effect=KeyboardInterrupt
        ):
            result = solve_with(problem, "autocapper", OPTIONS)
        assert result.termination is Termination.INTERRUPTED
        assert result.schedule is None
        assert result.lower_bound_ns == UNEVEN.base_time_ns
        assert result.note == "interrupted before anything was known"


def test_an_interrupt_between_methods_and_before_any_result_is_passed_on() -> None:
    with (
        patch("jettison.solvers.core.solve.Result.from_outcome", side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        compare_all([RematOffloadChain(UNEVEN, "80%", "1GB/s")], ["autocapper"], OPTIONS)


def test_an_interrupt_before_the_first_table_ends_every_memory() -> None:
    problems = [RematChain(UNIFORM, share) for share in SHARES]
    curve = Mock(side_effect=KeyboardInterrupt)
    method = replace(find_method("remat-chain", "rotor"), solve_curve=curve)
    outcomes = method.run_curve(problems, OPTIONS)
    assert [outcome.termination for outcome in outcomes] == [Termination.INTERRUPTED] * len(SHARES)
    assert curve.called


def test_an_interrupt_of_a_bound_leaves_those_that_were_found() -> None:
    problem = RematOffloadChain(UNEVEN, "80%", "1GB/s")
    with patch(
        "jettison.solvers.remat_offload.cut_bound.method.DeadlineSearch.run",
        return_value=Termination.INTERRUPTED,
    ):
        verdict = bound_with(problem, None, None, OPTIONS)
    assert [item.method for item in verdict.results] == ["pofo"]


@pytest.mark.parametrize("problem", [RematChain(UNEVEN, "80%"), RematOffloadChain(UNEVEN, 60, 10)])
def test_a_table_has_one_row_for_each_method(
    problem: RematChain | RematOffloadChain,
) -> None:
    table = compare(problem, ["rotor", "cut-bound"])
    assert list(table["method"]) == ["rotor", "cut-bound"]
    assert set(table["problem"]) == {problem.problem}


def test_whole_numbers_of_a_table_stay_whole_beside_missing_ones() -> None:
    table = compare(RematChain(UNEVEN, "80%"), ["rotor", "cut-bound"])
    # The bound has no schedule, and so no time and no peak.
    assert [str(table[column].dtype) for column in ("time_ns", "peak_bytes")] == ["Int64", "Int64"]
    assert list(table["time_ns"].isna()) == [False, True]


def test_one_method_may_be_named_without_a_list() -> None:
    problem = RematChain(UNEVEN, "80%")
    assert list(compare(problem, "rotor")["method"]) == ["rotor"]


@pytest.mark.parametrize("asked", [solve, bound, compare])
def test_an_instance_is_no_problem(asked: Callable[[Any], object]) -> None:
    with pytest.raises(InputError, match=r"problem: a Chain; give an instance with its memory"):
        asked(UNEVEN)


def test_what_was_found_is_printed_in_one_line() -> None:
    problem = RematChain(UNEVEN, "80%")
    result = solve(problem, "store-all")
    assert repr(result).startswith(
        f"<Result of store-all on remat-chain {UNEVEN.name} in {problem.memory_bytes} bytes: "
    )
    assert f"time_ns={result.time_ns}, " in repr(result)
    assert len(repr(bound(problem))) < 500
