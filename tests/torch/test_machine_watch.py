"""Machines that are busy, or change: what a profile says of another one."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import pytest

from jettison import load
from jettison.instances.profilers import earlier_profiles, machine_state
from jettison.instances.profilers.cost_check import CostCheck, CostFigures
from jettison.instances.profilers.machine_state import MachineState, load_average
from jettison.instances.profilers.profile_warning import ProfileWarning
from tests.cli.terminal import Terminal

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
executor: Any = pytest.importorskip("jettison.torch", exc_type=ImportError)
nn = torch.nn

from jettison.instances.profilers.device import machine_watch, timing  # noqa: E402
from jettison.instances.profilers.device.machine_watch import (  # noqa: E402
    PAUSE_NS,
    KnownTurns,
    MachineWatch,
)
from jettison.instances.profilers.torch_chains.profiled_chain import profile_chain  # noqa: E402
from jettison.instances.profilers.torch_graphs.operator_memory import TracedMemory  # noqa: E402

pytestmark = pytest.mark.torch

CPU = torch.device("cpu")


class Machine:
    """A machine whose clock only its reference kernel and `wait` move."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_ns = 0
        self.kernel_ns = 1_000_000
        self.load: float | None = 0.5
        self.known = KnownTurns()
        monkeypatch.setattr(timing, "busy_clock", lambda: lambda: self.now_ns)
        monkeypatch.setattr(machine_watch, "reference_kernel", lambda device: self._run)
        monkeypatch.setattr(os, "cpu_count", lambda: 2)

    def _run(self) -> None:
        self.now_ns += self.kernel_ns

    def watch(self) -> MachineWatch:
        return MachineWatch(
            CPU, 1, known=self.known, load=lambda: self.load, now_ns=lambda: self.now_ns
        )

    def profile(self, *kernels_ns: int) -> MachineState:
        """Profile for as many pauses as there are speeds, one after the other."""
        self.kernel_ns = kernels_ns[0]
        watch = self.watch()
        for self.kernel_ns in kernels_ns:
            self.now_ns += PAUSE_NS
            watch.look()
        return watch.state()


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


def test_a_turn_comes_when_a_while_has_passed(machine: Machine) -> None:
    watch = machine.watch()
    watch.look()
    machine.now_ns += PAUSE_NS // 2
    watch.look()
    machine.kernel_ns = 1_050_000
    machine.now_ns += PAUSE_NS
    watch.look()
    watch.look()
    machine.kernel_ns = 1_020_000
    # Before, once meanwhile, and after.
    state = watch.state()
    assert state.turns_ns == (1_000_000, 1_050_000, 1_020_000)
    assert (state.best_ns, state.counted_ns, state.slow_ns) == (1_000_000, 1_020_000, 1_050_000)
    assert state.reasons() == ()
    assert state.to_provenance() == {
        "cores": 2,
        "load_before": 0.5,
        "load_after": 0.5,
        "reference_least_ns": 1_000_000,
        "reference_ns": 1_020_000,
        "reference_most_ns": 1_050_000,
    }


def test_a_profile_on_a_loaded_machine_says_that_another_one_may_differ(machine: Machine) -> None:
    machine.load = 2.0
    assert machine.profile(1_000_000).reasons() == ()
    machine.load = 1.5
    watch = machine.watch()
    machine.load = 21.25
    state = watch.state()
    assert state.reasons() == ("the load was 1.5 before and 21.2 after, on 2 cores",)
    machine.load = None
    state = machine.profile(1_000_000)
    assert state.reasons() == ()
    assert "load_before" not in state.to_provenance()


def test_a_system_without_load_averages_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> tuple[float, float, float]:
        raise OSError

    monkeypatch.setattr(machine_state.os, "getloadavg", fail)
    assert load_average() is None
    monkeypatch.delattr(machine_state.os, "getloadavg")
    assert load_average() is None


def test_programs_on_the_cores_are_no_reason_for_a_gpu() -> None:
    state = MachineState(cores=2, load_before=9.0, load_after=9.0, counts_load=False)
    assert state.reasons() == ()
    assert state.counted_ns == state.slow_ns == 0


def test_a_machine_that_is_slower_for_a_quarter_of_a_profile_is_told_of(machine: Machine) -> None:
    # With the turns before and after 8 in all, of which two are a quarter.
    fast, slow = [1_000_000] * 5, 1_200_000
    state = machine.profile(*fast, slow)
    assert state.turns_ns == (*[1_000_000] * 6, 1_200_000, 1_200_000)
    expected = (
        "a reference kernel took 1000 us at best, and 1200 us or more in a quarter of its turns"
    )
    assert state.reasons() == (expected,)
    # One in eight is none, and neither are ten percent.
    assert machine.profile(*fast[:3], slow, *fast[:2]).reasons() == ()
    assert machine.profile(*fast, 1_100_000).reasons() == ()


def test_a_profile_that_is_slower_all_through_is_told_from_an_earlier_one(machine: Machine) -> None:
    # 21.3 and 25.8 ms of one model in a row, each steady in itself.
    assert machine.profile(*[1_000_000] * 4).reasons() == ()
    found = machine.profile(*[1_211_000] * 4).reasons()
    assert found == (
        "a reference kernel took 1000 us at best, and 1211 us or more in a quarter of its turns",
    )
    # And the other way round.
    machine.known = KnownTurns()
    assert machine.profile(*[1_211_000] * 4).reasons() == ()
    found = machine.profile(*[1_000_000] * 4).reasons()
    assert found == (
        "a reference kernel took 1211 us in an earlier profile and 1000 us in this one",
    )


UNSTEADY = MachineState(cores=2, load_before=19.0, load_after=20.0)


@pytest.mark.parametrize("check", [CostCheck.WARN, CostCheck.REFUSE])
def test_an_unsteady_machine_is_a_warning_and_never_an_error(check: CostCheck) -> None:
    figures = CostFigures(((90, 100, 110),), machine=UNSTEADY)
    expected = (
        r"^another profile of tiny may differ by more than 10 %: the load was 19.0 before and 20.0"
        " after, on 2 cores; compare plans of one profile"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        with pytest.warns(ProfileWarning, match=expected):
            figures.settle(check, "tiny")


@pytest.mark.parametrize(
    ("earlier_ns", "expected"),
    [
        # 10 % of the smaller one is the most that is silent, above and below.
        ((), None),
        ((22_000_000, 18_181_819), None),
        ((22_000_001,), "an earlier one found 22 ms, this one 20 ms"),
        ((18_181_818,), "an earlier one found 18.2 ms, this one 20 ms"),
        ((20_000_000, 25_800_000, 23_000_000), "an earlier one found 25.8 ms, this one 20 ms"),
    ],
)
def test_a_profile_that_is_apart_from_an_earlier_one_says_so(
    earlier_ns: tuple[int, ...], expected: str | None
) -> None:
    figures = CostFigures(((18_000_000, 20_000_000, 21_000_000),), earlier_ns=earlier_ns)
    assert figures.unsteady() == (() if expected is None else (expected,))
    assert figures.doubts() == ()


@pytest.mark.parametrize("kind", ["chain", "graph"])
def test_two_profiles_of_one_model_that_are_apart_are_not_both_silent(
    monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(earlier_profiles.OF_THIS_PROGRAM, "sums_ns", {})
    found: list[int] = []

    def add(self: Any, key: str, sum_ns: int) -> tuple[int, ...]:
        found.append(sum_ns)
        # As if the machine had been four times as fast before.
        return tuple(earlier // 4 for earlier in sum_of(self, key, sum_ns))

    sum_of = earlier_profiles.EarlierProfiles.add
    monkeypatch.setattr(earlier_profiles.EarlierProfiles, "add", add)

    def profiled(width: int) -> list[str]:
        model = nn.Sequential(nn.Linear(32, width), nn.ReLU(), nn.Linear(width, 4))
        batch, runs = torch.randn(16, 32), {"warmup": 0, "repeats": 2}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if kind == "chain":
                profile_chain(model, batch, name="mlp", model_name="mlp", threads=1, **runs)
            else:
                executor.trace_step_program(
                    model, batch, loss=torch.mean, memory=TracedMemory(), **runs
                )
        return [str(item.message) for item in caught if "an earlier one found" in str(item.message)]

    assert profiled(64) == []
    assert profiled(32) == []  # another model
    (message,) = profiled(64)
    assert len(found) == 3
    assert "may differ by more than 10 %" in message


def test_nothing_is_said_of_costs_that_are_trusted() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CostFigures(((90, 100, 110),), machine=UNSTEADY).settle(CostCheck.TRUST, "tiny")


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with a load of 19 before the profile and of 20 after it."""
    loads = iter([19.0, 20.0])
    defaults = MachineWatch.__init__.__kwdefaults__
    monkeypatch.setitem(defaults, "load", lambda: next(loads))


@pytest.mark.usefixtures("loaded")
@pytest.mark.parametrize("kind", ["chain", "graph"])
def test_a_profile_keeps_the_load_and_the_reference_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, terminal: Terminal, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "single_layer.py").write_text(
        "from torch import nn\n\ndef layers():\n    return nn.Sequential(nn.Linear(8, 2))\n",
        encoding="utf-8",
    )
    words = ("profile", "single_layer:layers", "--batch", "2", "--input", "8", "--kind", kind)
    fast = ("--repeats", "1", "--warmup", "0", "--trust", "-o", "layer.json")
    code, _, err = terminal.run(*words, *fast)
    assert (code, err.count("\n")) == (0, 1), err
    found = load(tmp_path / "layer.json").provenance.machine
    assert (found["load_before"], found["load_after"]) == (19.0, 20.0)
    assert found["cores"] == os.cpu_count()
    least, counted, most = (found[f"reference_{which}ns"] for which in ("least_", "", "most_"))
    assert 0 < least <= counted <= most


@pytest.mark.usefixtures("loaded")
def test_a_traced_program_warns_of_a_busy_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    model, loss = nn.Sequential(nn.Linear(4, 4)), torch.sum
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        with pytest.warns(ProfileWarning, match="the load was 19.0 before and 20.0 after, on 2"):
            program = executor.trace_step_program(
                model, torch.ones(2, 4), loss=loss, warmup=0, repeats=1
            )
    assert program.graph.provenance.machine["load_after"] == 20.0


@pytest.mark.parametrize("threads", [1, 2])
def test_the_reference_kernel_computes_with_the_threads_of_the_profile_and_allocates_nothing(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    total = timing.LaunchTimer.total_ns

    def counting(self: Any, operations: Any) -> int:
        seen.append(torch.get_num_threads())
        return total(self, operations)

    monkeypatch.setattr(timing.LaunchTimer, "total_ns", counting)
    state = MachineWatch(CPU, threads, known=KnownTurns()).state()
    assert len(state.turns_ns) == 2
    assert state.best_ns == min(state.turns_ns) > 0
    assert set(seen) == {threads}
    kernel = machine_watch.reference_kernel(CPU)
    with torch.profiler.profile(profile_memory=True) as profiler:
        kernel()
    assert sum(event.cpu_memory_usage for event in profiler.key_averages()) == 0
