"""Staircases of bounds: a bound for some memory holds for less."""

from __future__ import annotations

from jettison.studies.report.bound_steps import BoundStep, bound_steps, proved_classes
from tests.studies.report.runs import ALL, PERSISTENT, run_of


def test_a_bound_of_a_larger_memory_counts_for_the_smaller_ones() -> None:
    # In 20 bytes 15 ns are proved; the 12 ns that were proved for 10 bytes are weaker there.
    runs = [
        run_of("a", 10, bounds=[(12, ALL)]),
        run_of("b", 20, bounds=[(15, ALL)]),
        run_of("a", 30, bounds=[(11, ALL)]),
    ]
    assert bound_steps(runs, ALL) == [BoundStep(20, 15), BoundStep(30, 11)]


def test_a_bound_of_a_narrow_class_says_nothing_of_all_schedules() -> None:
    runs = [run_of("a", 10, bounds=[(12, ALL), (20, PERSISTENT)])]
    assert bound_steps(runs, ALL) == [BoundStep(10, 12)]
    assert bound_steps(runs, PERSISTENT) == [BoundStep(10, 20)]
    assert proved_classes(runs) == [PERSISTENT, ALL]


def test_a_class_that_adds_nothing_has_no_staircase_of_its_own() -> None:
    runs = [run_of("a", 10, bounds=[(12, ALL), (12, PERSISTENT)])]
    assert proved_classes(runs) == [ALL]


def test_nothing_fits_up_to_the_byte_before_the_least_memory() -> None:
    # The proof holds for all schedules in 10 bytes; the least memory, 16, is that of persistent
    # ones, which therefore have no schedule in 15 bytes.
    proof = run_of("a", 10, infeasible_for=ALL, least_memory_bytes=16)
    runs = [proof, run_of("a", 20, bounds=[(12, ALL)])]
    assert bound_steps(runs, PERSISTENT) == [BoundStep(15, None), BoundStep(20, 12)]
    assert bound_steps(runs, ALL) == [BoundStep(10, None), BoundStep(20, 12)]
    assert proved_classes(runs) == [PERSISTENT, ALL]
