"""Reasons for which a search ends: Ctrl-C and limits, in one place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import jettison.solvers
from jettison.solvers.core.ending import Ending, pass_interrupt_on, run_to_its_end
from jettison.solvers.core.status import Termination

RAISED = [
    (KeyboardInterrupt(), Termination.INTERRUPTED),
    (TimeoutError(), Termination.TIME_LIMIT),
    (MemoryError(), Termination.MEMORY_LIMIT),
]


@pytest.mark.parametrize(("error", "termination"), RAISED)
def test_a_limit_ends_a_search_and_what_it_found_is_kept(
    error: BaseException, termination: Termination
) -> None:
    found = []

    def search() -> Termination:
        found.append(1)
        raise error

    assert run_to_its_end(search) is termination
    assert found == [1]


def test_a_search_that_says_nothing_has_come_to_its_end() -> None:
    assert run_to_its_end(lambda: None) is Termination.COMPLETED
    assert run_to_its_end(lambda: Termination.GAP_REACHED) is Termination.GAP_REACHED


def test_a_defect_is_not_taken_for_a_limit() -> None:
    with pytest.raises(ValueError, match="a defect"), Ending():
        raise ValueError("a defect")


def test_what_a_block_says_of_its_end_counts_unless_it_is_cut_short() -> None:
    with Ending() as ending:
        ending.termination = Termination.GAP_REACHED
    assert ending.termination is Termination.GAP_REACHED
    with Ending() as ending:
        ending.termination = Termination.GAP_REACHED
        raise KeyboardInterrupt
    assert ending.is_interrupted


def test_an_interrupt_inside_ends_the_search_around_it() -> None:
    pass_interrupt_on(Termination.TIME_LIMIT)
    with pytest.raises(KeyboardInterrupt):
        pass_interrupt_on(Termination.INTERRUPTED)


def test_no_method_hears_ctrl_c_for_itself() -> None:
    # Who starts a thread or a child stops it; what runs methods keeps what they found.
    allowed = {"highs.py", "highs_child.py", "prove.py", "method.py", "solve.py"}
    hearing = {
        path.name
        for folder in jettison.solvers.__path__
        for path in Path(folder).rglob("*.py")
        if re.search(r"except[^\n]*KeyboardInterrupt", path.read_text())
    }
    assert hearing <= allowed
