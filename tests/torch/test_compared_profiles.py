"""`jettison profile` beside what another program has measured, by a clock that tests set."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from jettison import load
from jettison.instances.profilers.cost_check import CostFigures
from tests.cli.terminal import Terminal

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")

from jettison.instances.profilers.device import timing  # noqa: E402

pytestmark = pytest.mark.torch

PROFILE = ("profile", "one_layer:layers", "--batch", "2", "--input", "8")
FAST = ("--repeats", "1", "--warmup", "0")


class Clock:
    """A clock on which each measurement takes as long as is set, whatever it is of."""

    def __init__(self) -> None:
        self.now_ns = 0
        self.measured_ns = 100_000_000

    def __call__(self) -> int:
        self.now_ns += self.measured_ns
        return self.now_ns


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Clock:
    """The clock, in a folder with a model, where no cost is in doubt by itself."""
    (tmp_path / "one_layer.py").write_text(
        "from torch import nn\n\ndef layers(width=2):\n"
        "    return nn.Sequential(nn.Linear(8, width))\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "one_layer", raising=False)
    clock = Clock()
    monkeypatch.setattr(timing, "busy_clock", lambda: clock)
    monkeypatch.setattr(CostFigures, "doubts", lambda self: ())
    monkeypatch.setattr(CostFigures, "unsteady", lambda self: ())
    return clock


@pytest.mark.parametrize("kind", ["chain", "graph"])
def test_a_profile_that_is_apart_from_a_file_is_not_written(
    clock: Clock, terminal: Terminal, kind: str
) -> None:
    words = (*PROFILE, *FAST, "--kind", kind)
    assert terminal.run(*words, "-o", "first.json")[0] == 0
    clock.measured_ns = 105_000_000
    code, _, err = terminal.run(*words, "-o", "near.json", "--compare-with", "first.json")
    assert code == 0
    assert "first.json agrees within 10 %: " in err
    assert "(+5 %)" in err
    clock.measured_ns = 130_000_000
    code, out, err = terminal.run(*words, "-o", "far.json", "--compare-with", "first.json")
    assert (code, out) == (2, "")
    assert "more than 10 % apart from " in err
    assert "(+30 %)" in err
    assert "the whole machine was slower" in err
    assert "the same command with --trust writes them" in err
    assert not Path("far.json").exists()
    # What was measured is kept, and written by whoever trusts it, with the same figures.
    trusted = (*words, "-o", "far.json", "--compare-with", "first.json", "--trust")
    clock.measured_ns = 100_000_000
    code, _, err = terminal.run(*trusted)
    assert code == 0, err
    assert "going on after" in err
    assert "(+30 %)" in err
    assert load("far.json").sha256 != load("first.json").sha256


def test_the_file_that_would_be_written_over_is_compared_by_itself(
    clock: Clock, terminal: Terminal
) -> None:
    words = (*PROFILE, *FAST, "-o", "layer.json")
    assert terminal.run(*words)[0] == 0
    kept = Path("layer.json").read_bytes()
    clock.measured_ns = 70_000_000
    code, _, err = terminal.run(*words)
    assert code == 2
    assert "layer.json: " in err
    assert "(-30 %)" in err
    assert Path("layer.json").read_bytes() == kept
    assert terminal.run(*words, "--trust")[0] == 0
    assert Path("layer.json").read_bytes() != kept
    # Another model, or something else in the file, is written over as before.
    wider = (*words, "--set", "width=4")
    assert terminal.run(*wider)[0] == 0
    Path("layer.json").write_text("{}", encoding="utf-8")
    assert terminal.run(*words)[0] == 0


def test_a_file_of_other_operations_is_refused(clock: Clock, terminal: Terminal) -> None:
    assert terminal.run(*PROFILE, *FAST, "-o", "layer.json")[0] == 0
    again = (*PROFILE, *FAST, "-o", "again.json")
    code, _, err = terminal.run(*again, "--set", "width=4", "--compare-with", "layer.json")
    assert code == 2
    assert "compare-with" in err
    assert "name a profile of the same model" in err
    document = json.loads(Path("layer.json").read_text(encoding="utf-8"))
    document["provenance"]["note"] = "CPU threads: 64"
    Path("layer.json").write_text(json.dumps(document), encoding="utf-8")
    code, _, err = terminal.run(*again, "--compare-with", "layer.json")
    assert code == 2
    assert "CPU threads: 64" in err
    assert not Path("again.json").exists()


@pytest.mark.parametrize(
    "words", [("--kind", "graph", "--costs", "roofline"), ("--kind", "sharding")]
)
def test_durations_that_are_not_measured_are_compared_with_nothing(
    clock: Clock, terminal: Terminal, words: tuple[str, ...]
) -> None:
    assert terminal.run(*PROFILE, *FAST, "-o", "layer.json")[0] == 0
    code, _, err = terminal.run(*PROFILE, *words, "--compare-with", "layer.json")
    assert code == 2
    assert "compare measured durations" in err
    assert clock.now_ns > 0
