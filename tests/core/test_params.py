"""Parameters of methods: what is refused, how they are given, and what is said of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import ClassVar

import pytest

import jettison as jt
from jettison.instances.core.errors import InputError
from jettison.solvers.core.method import Method, Promise, Tuned
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.params import NoParams, Params
from jettison.solvers.core.problem import Problem
from jettison.solvers.core.registry import PROBLEM_KINDS, find_method
from jettison.solvers.core.solve import checked_params, solve_with
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_chain.rotor import RotorParams
from tests.tiny import UNEVEN


@dataclass(frozen=True, kw_only=True)
class Some(Params):
    """Parameters of a method for these tests.

    Attributes
    ----------
    rounds
        How often, at least once,
        on two lines.
    share, rest
        Parts of the time.
    name
        What it is called.
    """

    at_least: ClassVar[Mapping[str, float]] = {"rest": 0}

    rounds: int = 3
    share: float = 0.5
    rest: float = 0.0
    name: str = "some"
    is_quick: bool = False


def test_meanings_are_those_of_the_docstring() -> None:
    assert Some.meanings() == {
        "rounds": "How often, at least once, on two lines.",
        "share": "Parts of the time.",
        "rest": "Parts of the time.",
        "name": "What it is called.",
        "is_quick": "",
    }


@dataclass(frozen=True, kw_only=True)
class Other(Params):
    """Parameters of another search.

    Attributes
    ----------
    depth
        How deep it goes.
    """

    at_least: ClassVar[Mapping[str, float]] = {"depth": 5}

    depth: int = 6


@dataclass(frozen=True, kw_only=True)
class Both(Other, Some):
    """Parameters of a method of two searches.

    Attributes
    ----------
    width
        How wide it goes.
    """

    width: int = 2


def test_inherited_parameters_keep_their_meaning_and_their_range() -> None:
    assert Both.meanings() == Some.meanings() | {
        "depth": "How deep it goes.",
        "width": "How wide it goes.",
    }
    assert Both(depth=5).rest == 0
    with pytest.raises(InputError, match="depth: 4; write a whole number from 5"):
        Both(depth=4)
    with pytest.raises(InputError, match="rest: -1; write a number from 0"):
        Both(rest=-1)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"rounds": 0}, "rounds: 0; write a whole number from 1"),
        ({"rounds": 2.0}, r"rounds: 2\.0; write a whole number from 1"),
        ({"rounds": True}, "rounds: True; write a whole number"),
        ({"share": 0}, "share: 0; write a number above 0"),
        ({"share": float("nan")}, "share: nan; write a number above 0"),
        ({"rest": -1}, "rest: -1; write a number from 0"),
        ({"name": 3}, "name: 3; write a text"),
        ({"is_quick": 1}, "is_quick: 1; write true or false"),
        (
            {"round": 4},
            "round: there is no such parameter; write rounds, or choose one of rounds",
        ),
    ],
)
def test_a_wrong_value_is_named(values: Mapping[str, object], message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        Some().with_values(values)


def test_the_hash_is_that_of_all_values() -> None:
    assert Some().sha256 == Some(rounds=3).sha256 != Some(rounds=4).sha256


def test_every_parameter_of_every_method_has_a_meaning_and_a_default_in_its_range() -> None:
    tuned = [method for kind in PROBLEM_KINDS for method in kind.methods() if fields(method.params)]
    assert {method.name for method in tuned} >= {"rotor", "anneal", "exact", "autocapper"}
    for method in tuned:
        for name, meaning in method.params.meanings().items():
            assert meaning, (method.name, name)
        # The constructor looks at each value.
        type(method.params)()


def test_a_method_gets_its_parameters_from_its_table_and_from_the_caller() -> None:
    seen: list[int] = []

    def solve(problem: Problem, options: SolveOptions, params: Some) -> Outcome:
        seen.append(params.rounds)
        return Outcome(termination=Termination.COMPLETED)

    method = Method("m", Promise.HEURISTIC, "here", "nothing", solve=Tuned(solve, Some(rounds=7)))
    problem = jt.RematChain(UNEVEN, "80%")
    method.run(problem, SolveOptions())
    method.with_params({"rounds": 8}).run(problem, SolveOptions())
    method.with_params(Some(rounds=9)).run(problem, SolveOptions())
    method.with_params(None).run(problem, SolveOptions())
    assert seen == [7, 8, 9, 7]
    assert method.function is solve
    with pytest.raises(InputError, match="params: a RotorParams; m takes Some"):
        method.with_params(RotorParams())


def test_a_method_without_parameters_takes_none() -> None:
    method = find_method("remat-chain", "store-all")
    assert method.params == NoParams()
    assert method.with_params({}) == method
    with pytest.raises(InputError, match="slots: there is no such parameter; choose one of none"):
        method.with_params({"slots": 3})


def test_solve_bound_and_compare_pass_parameters_on() -> None:
    problem = jt.RematChain(UNEVEN, "80%")
    coarse = jt.solve(problem, "rotor", params={"first_slots": 2})
    assert coarse.work["slots"] < 500 <= jt.solve(problem, "rotor").work["slots"] * 500
    assert coarse.work["slots"] in {2 * 2**k for k in range(9)}
    same = solve_with(problem, "rotor", SolveOptions(), RotorParams(first_slots=2))
    assert same.work == coarse.work
    row = jt.compare(problem, ["rotor"], params={"rotor": {"first_slots": 2}}).iloc[0]
    assert row["work"] == dict(coarse.work)
    verdict = jt.bound(problem, method="rotor", params={"rotor": {"first_slots": 2}})
    assert verdict.results[0].work == coarse.work


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"rotors": {}}, "method: 'rotors' is not a method of remat-chain; write rotor, or"),
        ({"rotor": {"slots": 3}}, r"rotor\.slots: there is no such parameter; .*first_slots"),
        ({"rotor": {"first_slots": "many"}}, r"rotor\.first_slots: 'many'; write a whole number"),
    ],
)
def test_errors_name_method_and_parameter(
    params: Mapping[str, Mapping[str, object]], message: str
) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        checked_params("remat-chain", params)
