"""Durations: what is measured, which of them count, and when they are in doubt."""

from __future__ import annotations

import random
import re
import time
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from jettison import InputError
from jettison.instances.profilers.cost_check import (
    CostCheck,
    CostFigures,
    DoubtfulCostsError,
    fair_sample,
)
from jettison.instances.profilers.profile_warning import ProfileWarning
from tests.cli.terminal import Terminal

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
executor: Any = pytest.importorskip("jettison.torch", exc_type=ImportError)
nn = torch.nn

from jettison.instances.profilers import whole_steps  # noqa: E402
from jettison.instances.profilers.device import timing  # noqa: E402
from jettison.instances.profilers.device.threads import threads_set  # noqa: E402
from jettison.instances.profilers.device.timing import LaunchTimer, counted  # noqa: E402
from jettison.instances.profilers.torch_graphs.operator_cost import Measured  # noqa: E402
from jettison.instances.profilers.torch_graphs.operator_memory import TracedMemory  # noqa: E402

pytestmark = pytest.mark.torch

CPU = torch.device("cpu")


def test_the_lower_quartile_counts() -> None:
    assert counted([5]) == (5, 5, 5)
    # Sorted: 1 2 3 4 5 6 90. A quarter of the way from the first to the last is the second.
    assert counted([3, 90, 1, 6, 2, 5, 4]) == (1, 2, 90)
    assert counted(range(9)) == (0, 2, 8)


class Clock:
    """A clock that only `work` moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_ns = 0
        self.runs: list[int] = []
        monkeypatch.setattr(timing, "busy_clock", lambda: lambda: self.now_ns)

    def work(self, duration_ns: int) -> Any:
        def run() -> int:
            self.runs.append(duration_ns)
            self.now_ns += duration_ns
            return duration_ns

        return run


def test_an_operation_of_microseconds_runs_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    timer = LaunchTimer(CPU)
    # 100 us is a batch: 10 runs of 10 us, after two of warm-up and one to see how long it takes.
    assert timer.durations_ns([clock.work(10_000)], warmup=2, repeats=3) == [10_000] * 3
    assert len(clock.runs) == 2 + 1 + 3 * 10
    clock.runs.clear()
    assert timer.durations_ns([clock.work(2_000_000)], warmup=0, repeats=2) == [2_000_000] * 2
    assert len(clock.runs) == 3
    clock.runs.clear()
    # As if it took no time at all: no more than a limit.
    timer.durations_ns([clock.work(0)], warmup=0, repeats=1)
    assert len(clock.runs) == 1 + timing.MOST_LAUNCHES


def test_operations_run_in_turn_and_their_results_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    turns = [clock.work(30_000), clock.work(50_000)]
    # The first takes 30 us: four make a batch, of 2 * 50 + 2 * 30 us.
    found = LaunchTimer(CPU).durations_ns(turns, warmup=0, repeats=2)
    assert found == [40_000, 40_000]
    assert clock.runs == [30_000, *[50_000, 30_000] * 4]

    alive: list[int] = []

    class Result:
        def __init__(self) -> None:
            alive.append(1)

        def __del__(self) -> None:
            alive.pop()

    most: list[int] = []
    LaunchTimer(CPU).durations_ns(
        [lambda: (most.append(len(alive)), Result())[1]], warmup=9, repeats=1, held=3
    )
    assert max(most) == 3


def test_one_thread_is_timed_by_its_own_clock_and_the_number_of_threads_comes_back() -> None:
    with threads_set(1):
        assert timing.busy_clock() is time.thread_time_ns
        with threads_set(2):
            assert torch.get_num_threads() == 2
            assert timing.busy_clock() is time.perf_counter_ns
        assert torch.get_num_threads() == 1
        with pytest.raises(KeyError), threads_set(2):
            raise KeyError
        assert torch.get_num_threads() == 1


def test_operators_are_measured_on_one_thread_and_the_users_setting_comes_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[int] = []
    run = Measured._run

    def watched(self: Any, operation: Any) -> Any:
        with threads_set(2):
            return run(self, operation)

    total = LaunchTimer.total_ns

    def counting(self: Any, operations: Any) -> int:
        seen.append(torch.get_num_threads())
        return total(self, operations)

    monkeypatch.setattr(Measured, "_run", watched)
    monkeypatch.setattr(LaunchTimer, "total_ns", counting)
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    options = {"loss": torch.sum, "memory": TracedMemory(), "warmup": 0, "repeats": 1}
    executor.trace_step_program(model, torch.ones(2, 4), **options)
    assert set(seen) == {1}


SAME = ((90, 100, 130),)


@pytest.mark.parametrize(
    ("figures", "message"),
    [
        (CostFigures(SAME), None),
        (CostFigures(SAME, step_ns=(1, 125, 200), sample_ns=50, again_ns=55), None),
        (CostFigures(SAME, step_ns=(1, 80, 200), sample_ns=50, again_ns=45), None),
        (
            CostFigures(SAME, step_ns=(1_000_000, 2_000_000, 3_000_000)),
            r"the operators take 0.0001 ms together, and a whole step 2 ms \(1 ms to 3 ms\)",
        ),
        (CostFigures(SAME, step_ns=(1, 79, 90)), "a whole step"),
        (
            CostFigures(((60, 100, 100), (3_000_000, 5_000_000, 9_000_000))),
            "the fastest runs of the operators take 3 ms together, those that count 5 ms",
        ),
        (
            CostFigures(SAME, sample_ns=5_000_000, again_ns=5_600_000),
            "operators that took 5 ms at first take 5.6 ms at the end",
        ),
    ],
)
def test_costs_that_do_not_add_up_or_change_are_in_doubt(
    figures: CostFigures, message: str | None
) -> None:
    figures.settle(CostCheck.TRUST, "tiny")
    if message is None:
        figures.settle(CostCheck.WARN, "tiny")
        figures.settle(CostCheck.REFUSE, "tiny")
        return
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        with pytest.warns(ProfileWarning, match=f"costs of tiny are in doubt: .*{message}"):
            figures.settle(CostCheck.WARN, "tiny")
    with pytest.raises(DoubtfulCostsError, match=f"costs: .*{message}.*--trust"):
        figures.settle(CostCheck.REFUSE, "tiny")
    assert issubclass(DoubtfulCostsError, InputError)


def test_a_sample_lies_at_equal_parts_of_the_sum_up_to_a_fifth() -> None:
    # 1 000 in all. In the middles of three parts: 30, 60, and 60 again.
    durations = [150, 30, 150, 70, *[60] * 10]
    assert fair_sample(durations) == (1, 4)
    assert fair_sample([1, 2, 3, 4, 90]) == (4,)
    assert fair_sample([0, 0]) == fair_sample([]) == ()
    assert fair_sample([7]) == (0,)
    # Operations of one kind that noise tells apart: evenly placed, whichever took longest.
    found = fair_sample([1000 + place % 7 for place in range(100)])
    assert found[:7] == tuple(range(7))
    spread = fair_sample([1000 + (place * 37) % 100 for place in range(100)])
    assert len(spread) == 16
    gaps = {later - earlier for earlier, later in pairwise(spread)}
    assert gaps <= {6, 7}


def test_a_sample_favours_no_fall_at_the_second_measurement() -> None:
    # Operations of equal length, measured twice with noise of a third: the sums differ by little.
    # A sample of the longest would favour those that were measured too long the first time.
    changes = []
    for seed in range(50):
        draw = random.Random(seed)
        before, after = (
            [draw.randint(80_000, 160_000) for _ in range(200)] for _ in ("before", "after")
        )
        places = fair_sample(before)
        changes.append(
            sum(after[place] for place in places) / sum(before[place] for place in places) - 1
        )
    assert abs(sum(changes) / len(changes)) < 0.05


def test_whole_steps_run_where_the_memory_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = nn.Linear(4, 4)
    runs: list[bool] = []

    def loss() -> Any:
        runs.append(torch.is_grad_enabled())
        return layer(torch.ones(2, 4)).sum()

    options = {"device": CPU, "peak_bytes": 1000, "threads": 1}
    with torch.no_grad():
        found = whole_steps.whole_steps_ns(loss, tuple(layer.parameters()), **options)
    assert found is not None
    assert 0 < found[0] <= found[1] <= found[2]
    # One of warm-up, and three; nothing is accumulated.
    assert runs == [True] * 4
    assert layer.weight.grad is None
    monkeypatch.setattr(whole_steps, "_free_bytes", lambda device: 1999)
    assert whole_steps.whole_steps_ns(loss, tuple(layer.parameters()), **options) is None
    assert len(runs) == 4


def test_a_profile_with_costs_in_doubt_is_not_written_without_trust(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, terminal: Terminal
) -> None:
    from jettison.instances.profilers.torch_graphs import graph_assembly

    monkeypatch.chdir(tmp_path)
    # No step is as long as an hour.
    hour = (3600 * 10**9,) * 3
    monkeypatch.setattr(graph_assembly, "whole_steps_ns", lambda *given, **options: hour)
    words = ("profile", "gpt2-tiny", "--batch", "1", "--input", "8", "--kind", "graph")
    fast = ("--repeats", "1", "--warmup", "0", "-o", "tiny.json")
    code, out, err = terminal.run(*words, *fast)
    assert (code, out) == (2, "")
    assert re.search(
        "measurements are in .*tiny.json.partial: the same command with --trust writes", err
    )
    assert "costs of gpt2-tiny-b1-8-cpu are in doubt: the operators take" in err
    assert not (tmp_path / "tiny.json").exists()
    code, _, err = terminal.run(*words, *fast, "--trust")
    assert code == 0
    assert err.startswith("going on after ")
    assert "doubt" not in err
    assert (tmp_path / "tiny.json").exists()
    assert not (tmp_path / "tiny.json.partial").exists()
