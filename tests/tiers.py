"""Tests of `make quick`: a case of each quick one, and every case of the conformance.

A test is slow if its first case takes longer than `LONGEST_S`. The names of slow tests stand in
`slow_tests.txt`, which ``pytest --note-slow`` writes anew after a run of all tests.
"""

from __future__ import annotations

from pathlib import Path

import pytest

LONGEST_S = 0.1
SLOW_TESTS = Path(__file__).parent / "slow_tests.txt"
# Their imports take longer than their tests.
WITH_OTHER_EXTRAS = {"torch", "jax"}


def function_of(nodeid: str) -> str:
    """Return the name of a test without that of its case."""
    return nodeid.partition("[")[0]


def quick_tests(items: list[pytest.Item]) -> list[pytest.Item]:
    """Return what `make quick` runs of these tests: their first cases, or all where it is said."""
    slow = set(SLOW_TESTS.read_text(encoding="utf-8").splitlines())
    chosen: dict[str, pytest.Item] = {}
    for item in items:
        name = function_of(item.nodeid)
        if item.get_closest_marker("every_case"):
            chosen[item.nodeid] = item
        elif name not in slow:
            chosen.setdefault(name, item)
    return list(chosen.values())


class SlowTests:
    """Notes the tests whose first case is slow, and writes their names in the end."""

    def __init__(self) -> None:
        self._first_s: dict[str, float] = {}
        self._setup_s: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what the call of a first case took, and its fixtures."""
        name = function_of(report.nodeid)
        self._first_s.setdefault(name, 0.0)
        self._setup_s.setdefault(name, report.duration)
        if report.when == "call" and not self._first_s[name]:
            self._first_s[name] = report.duration + self._setup_s[name]

    def pytest_sessionfinish(self) -> None:
        """Write the names of the slow ones, one a line."""
        slow = sorted(name for name, taken_s in self._first_s.items() if taken_s > LONGEST_S)
        SLOW_TESTS.write_text("".join(f"{name}\n" for name in slow), encoding="utf-8")
