"""Tables and progress in terminals that are narrow."""

from __future__ import annotations

import io
import re
import sys

import pytest

from jettison.cli.listing.command import list_cards
from jettison.cli.output import ProgressLine, print_table
from jettison.solvers.core.outcome import Progress


class TerminalText(io.StringIO):
    def isatty(self) -> bool:
        return True


def narrow_terminal(monkeypatch: pytest.MonkeyPatch, stream: str, columns: int) -> TerminalText:
    text = TerminalText()
    monkeypatch.setattr(sys, stream, text)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    return text


@pytest.mark.parametrize("columns", [1, 20, 40, 80])
def test_no_number_and_no_word_is_cut_however_narrow_the_terminal(
    monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    text = narrow_terminal(monkeypatch, "stdout", columns)
    rows = [[f"a-long-name-{k}", "several short words", f"{k}234.56 MiB"] for k in range(3)]
    print_table(["name", "what it is", " memory"], rows, title="title")
    shown = text.getvalue()
    assert "…" not in shown
    for name, words, memory in rows:
        # A number keeps its unit; a text may be broken between words.
        assert all(piece in shown for piece in (name, memory, *words.split()))


def test_texts_are_broken_between_words_where_that_makes_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = narrow_terminal(monkeypatch, "stdout", 40)
    print_table(["name", "what it is"], [["name", " ".join(["word"] * 20)]])
    shown = re.sub(r"\x1b\[[0-9;]*m", "", text.getvalue())
    assert max(map(len, shown.splitlines())) <= 40


def test_columns_stand_closer_where_the_terminal_is_too_narrow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    widths = {}
    for columns in (120, 46, 40):
        text = narrow_terminal(monkeypatch, "stdout", columns)
        print_table([" in flight", *(f" c{k}" for k in range(4))], [["8", *["90.12 ms"] * 4]])
        shown = re.sub(r"\x1b\[[0-9;]*m", "", text.getvalue())
        assert shown.count("90.12 ms") == 4
        widths[columns] = max(map(len, shown.splitlines()))
    # The header takes two lines of six letters: 6 + 4 * 8, and four gaps of 3, of 2, and of 1.
    assert widths == {120: 1 + 9 + 4 * 8 + 4 * 3, 46: 6 + 4 * 8 + 4 * 2, 40: 6 + 4 * 8 + 4}


def test_the_cards_fit_in_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    text = narrow_terminal(monkeypatch, "stdout", 80)
    list_cards()
    shown = re.sub(r"\x1b\[[0-9;]*m", "", text.getvalue())
    assert max(map(len, shown.splitlines())) <= 80


def test_progress_takes_one_line_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    text = narrow_terminal(monkeypatch, "stderr", 30)
    line = ProgressLine("a method on an instance of a long name")
    line(Progress(seconds=1.0, time_ns=10**9, lower_bound_ns=10**9))
    # The last column stays free: some terminals begin a line when it is taken.
    assert text.getvalue() == "\r\x1b[Ka method on an instance of a l"[: 4 + 29]
