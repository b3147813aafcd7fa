"""The state of a sweep on a terminal."""

from __future__ import annotations

import io
import sys

import pytest

from jettison.cli.sweep.progress import SweepProgress
from jettison.studies.sweep import SweepState

STATE = SweepState(
    total=9, done=3, failed=1, running={"a": "remat-chain x rotor"}, gaps=[0.5, 0.25, 0.0]
)


class TerminalText(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_counts_gaps_and_what_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    text = TerminalText()
    monkeypatch.setattr(sys, "stderr", text)
    monkeypatch.setenv("TERM", "xterm")
    with SweepProgress("mine") as progress:
        progress(STATE)
    shown = text.getvalue()
    # 9 - 3 - 1 - 1 jobs are left.
    assert "mine: 3 done, 1 failed, 1 running, 4 to come" in shown
    assert "own gaps: best 0.00 %, median 25.00 %" in shown
    assert "remat-chain x rotor" in shown


def test_a_pipe_gets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    text = io.StringIO()
    monkeypatch.setattr(sys, "stderr", text)
    with SweepProgress("mine") as progress:
        progress(STATE)
    assert text.getvalue() == ""
