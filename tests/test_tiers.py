"""Choice of `make quick`, and the list of tests that are slow."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.each import Tier, each
from tests.tiers import SLOW_TESTS, SlowTests, function_of, quick_tests


def item(nodeid: str, *, every_case: bool = False) -> Any:
    return SimpleNamespace(nodeid=nodeid, get_closest_marker=lambda name: every_case or None)


def test_a_slow_test_is_left_out_and_of_any_other_the_first_case_is_taken() -> None:
    slow, *_ = SLOW_TESTS.read_text(encoding="utf-8").splitlines()
    items = [item(slow), item("a::b[1]"), item("a::b[2]"), item("a::c")]
    items += [item("a::d[1]", every_case=True), item("a::d[2]", every_case=True)]
    assert [chosen.nodeid for chosen in quick_tests(items)] == [
        "a::b[1]",
        "a::c",
        "a::d[1]",
        "a::d[2]",
    ]


def test_the_list_names_tests_and_no_cases_once_and_in_order() -> None:
    names = SLOW_TESTS.read_text(encoding="utf-8").splitlines()
    assert names == sorted({function_of(name) for name in names})


def test_a_test_is_slow_by_its_first_case_and_the_fixtures_of_that(
    tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr("tests.tiers.SLOW_TESTS", tmp_path / "slow")
    noted = SlowTests()
    for nodeid, when, duration in (
        ("a::b[1]", "setup", 0.1),
        ("a::b[1]", "call", 0.1),
        ("a::c[1]", "setup", 0.0),
        ("a::c[1]", "call", 0.1),
        ("a::c[2]", "call", 9.0),
    ):
        report: Any = SimpleNamespace(nodeid=nodeid, when=when, duration=duration)
        noted.pytest_runtest_logreport(report)
    noted.pytest_sessionfinish()
    assert (tmp_path / "slow").read_text(encoding="utf-8") == "a::b\n"


def test_each_runs_all_cases_in_one_test_and_names_the_one_that_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Tier, "first_only", False)
    tried: list[tuple[int, str]] = []

    @each(a=(1, 2), b="xy")
    def check(fixture: list[tuple[int, str]], a: int, b: str) -> None:
        fixture.append((a, b))
        assert (a, b) != (2, "x")

    assert list(inspect.signature(check).parameters) == ["fixture"]
    with pytest.raises(AssertionError) as caught:
        check(fixture=tried)
    assert caught.value.__notes__ == ["a = 2, b = 'x'"]
    assert tried == [(1, "x"), (1, "y"), (2, "x")]


def test_of_each_the_first_case_is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tier, "first_only", True)
    tried = []
    each(a=range(9))(lambda a: tried.extend([a]))()
    assert tried == [0]
