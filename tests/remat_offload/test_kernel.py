"""The kernel of a cut with offloading, beside an enumeration without any pruning."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from jettison.solvers import _kernels

MANY_STATES = 10**6


def arrays(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments as the kernel takes them."""
    return {
        name: np.array(value, np.int64) if isinstance(value, list) else value
        for name, value in arguments.items()
    }


def common(generator: random.Random, stages: int) -> dict[str, Any]:
    """Draw a cut: stage 0 is the input."""
    plain = [generator.randint(0, 3) for _ in range(stages)]
    return {
        "device_bytes": generator.randint(0, 12),
        "delay_ns": generator.randint(0, 25),
        "plain_bytes": plain,
        "saved_bytes": [plain[0], *(size + generator.randint(0, 3) for size in plain[1:])],
        "forward_ns": [0, *(generator.randint(0, 9) for _ in range(1, stages))],
        "later_ns": [0, *(generator.randint(0, 9) for _ in range(1, stages))],
    }


def falling(generator: random.Random, stages: int) -> list[int]:
    """Draw limits that get tighter towards the cut, as windows of time do."""
    return sorted((generator.randint(0, 15) for _ in range(stages)), reverse=True)


@dataclass(frozen=True)
class Decided:
    """The decisions so far: bytes on the device, time of copies, reruns, and the path if any."""

    device: int
    link: int
    rerun: int
    top: int | None = None
    path_ns: int = 0
    ended: bool = False


class Enumeration:
    """Every way to hold the stages below a cut; subclasses say how one tensor is held."""

    def __init__(self, arguments: dict[str, Any]) -> None:
        self.given = arguments
        self.count = len(arguments["plain_bytes"])

    def least(self) -> int | None:
        """Return the least time of reruns within the delay."""
        found = [state.rerun for state in self.below(self.count - 1, Decided(0, 0, 0))]
        return min((ns for ns in found if ns <= self.given["delay_ns"]), default=None)

    def below(self, k: int, state: Decided) -> Iterator[Decided]:
        """Yield all ends of the decisions from stage k down."""
        for after in self.decisions(k, state):
            if k == 0:
                yield after
            else:
                yield from self.below(k - 1, after)

    def decisions(self, k: int, state: Decided) -> Iterator[Decided]:
        ns = self.given["forward_ns"][k]
        if k == 0:
            yield from self.held(0, state, again=False)
        elif state.top is None:
            yield from self.held(k, state, again=False)
            if k < self.count - 1:
                yield from self.held(k, state, again=True)
            device = state.device
            if k == self.count - 1:
                # The operation at the cut reads a plain copy.
                device += self.given["plain_bytes"][k]
            if k < self.count - 1 or device <= self.given["device_bytes"]:
                yield from self.in_time(Decided(device, state.link, state.rerun + ns, k, ns))
        elif not state.ended:
            yield from self.in_time(
                Decided(state.device, state.link, state.rerun + ns, state.top, state.path_ns + ns)
            )
            for after in [*self.held(k, state, again=False), *self.plain(k, state)]:
                yield Decided(after.device, after.link, after.rerun, state.top, 0, ended=True)
        else:
            yield from self.held(k, state, again=False)
            yield Decided(state.device, state.link, state.rerun + ns, state.top, 0, ended=True)

    def in_time(self, state: Decided) -> Iterator[Decided]:
        assert state.top is not None
        if state.rerun + self.given["later_ns"][state.top] <= self.given["delay_ns"]:
            yield state

    def held(self, k: int, state: Decided, *, again: bool) -> Iterator[Decided]:
        raise NotImplementedError

    def plain(self, k: int, state: Decided) -> Iterator[Decided]:
        raise NotImplementedError


def moved(state: Decided, device: int, link: int, ns: int) -> Decided:
    return Decided(
        state.device + device, state.link + link, state.rerun + ns, state.top, 0, state.ended
    )


class Fluid(Enumeration):
    """Bytes that are held count, wherever they are."""

    def held(self, k: int, state: Decided, *, again: bool) -> Iterator[Decided]:
        given = self.given
        after = moved(state, given["saved_bytes"][k], 0, given["forward_ns"][k] if again else 0)
        reads = again or state.device + given["plain_bytes"][k] <= given["input_bytes"][k]
        if reads and after.device <= given["held_bytes"][k]:
            yield after

    def plain(self, k: int, state: Decided) -> Iterator[Decided]:
        after = moved(state, self.given["plain_bytes"][k], 0, self.given["forward_ns"][k])
        if after.device <= self.given["held_bytes"][k]:
            yield after


class AtOnce(Enumeration):
    """A tensor is on the device or on the host."""

    def held(self, k: int, state: Decided, *, again: bool) -> Iterator[Decided]:
        given = self.given
        copy_ns, ns = given["saved_ns"][k], given["forward_ns"][k]
        on_device = moved(state, given["saved_bytes"][k], 0, 0)
        if not again and on_device.device <= given["device_bytes"]:
            yield on_device
        if not self.back_for_path(k, state, copy_ns):
            yield from self.late_beside_plain(k, state)
            return
        if again:
            if state.link + copy_ns <= given["late_ns"][k]:
                yield moved(state, 0, copy_ns, ns)
            return
        if state.link + copy_ns <= given["early_ns"][k]:
            yield moved(state, 0, copy_ns, 0)
        copied = given["plain_bytes"][k] if k == self.count - 1 else 0
        second_run = k > 0 and given["slack_ns"] >= ns
        fits = state.device + copied <= given["device_bytes"]
        if second_run and fits and state.link + copy_ns <= given["late_ns"][k]:
            yield moved(state, copied, copy_ns, 0)

    def plain(self, k: int, state: Decided) -> Iterator[Decided]:
        given = self.given
        copy_ns, ns = given["plain_ns"][k], given["forward_ns"][k]
        if state.device + given["plain_bytes"][k] <= given["device_bytes"]:
            yield moved(state, given["plain_bytes"][k], 0, ns)
        in_time = state.link + copy_ns <= given["late_ns"][k]
        if in_time and self.back_for_path(k, state, copy_ns):
            yield moved(state, 0, copy_ns, ns)

    def late_beside_plain(self, k: int, state: Decided) -> Iterator[Decided]:
        """A second run of F before the cut has left a plain copy for the path to read."""
        given = self.given
        if k == 0 or given["slack_ns"] < given["forward_ns"][k]:
            return
        device, link = given["plain_bytes"][k], given["saved_ns"][k]
        if self.back_for_path(k, state, given["plain_ns"][k]):
            device, link = 0, link + given["plain_ns"][k]
        fits = state.device + device <= given["device_bytes"]
        if fits and state.link + link <= given["late_ns"][k]:
            yield moved(state, device, link, 0)

    def back_for_path(self, k: int, state: Decided, copy_ns: int) -> bool:
        if state.top is None or state.ended:
            return True
        return copy_ns <= self.given["path_ns"][state.top] - state.path_ns


def fluid_cut(generator: random.Random, stages: int) -> dict[str, Any]:
    cut = common(generator, stages)
    device_bytes = cut["device_bytes"]
    cut["held_bytes"] = [device_bytes + extra for extra in falling(generator, stages)]
    cut["input_bytes"] = [*cut["held_bytes"][1:], device_bytes]
    return cut


def at_once_cut(generator: random.Random, stages: int) -> dict[str, Any]:
    cut = common(generator, stages)
    late = falling(generator, stages)
    return {
        **cut,
        "slack_ns": generator.randint(0, 9),
        "saved_ns": [2 * size for size in cut["saved_bytes"]],
        "plain_ns": [2 * size for size in cut["plain_bytes"]],
        "late_ns": late,
        "early_ns": [*late[1:], 0],
        "path_ns": [ns + generator.randint(0, 9) for ns in late],
    }


def delays(cut: dict[str, Any], kind: type[Enumeration]) -> Iterator[tuple[dict[str, Any], bool]]:
    """Yield the cut with its own limit on reruns and limits about the least, and the answer."""
    least = kind({**cut, "delay_ns": 10**6}).least()
    for delay_ns in {cut["delay_ns"], *([] if least is None else [least - 1, least, least + 1])}:
        limited = {**cut, "delay_ns": delay_ns}
        yield limited, kind(limited).least() is not None


def test_fluid_cuts_allow_what_the_enumeration_finds() -> None:
    generator = random.Random(1)
    answers = []
    for _ in range(400):
        for cut, expected in delays(fluid_cut(generator, generator.randint(1, 6)), Fluid):
            found = _kernels.cut_allows_fluid(**arrays(cut), most_states=MANY_STATES)
            assert found == expected
            answers.append(found)
    assert min(answers.count(True), answers.count(False)) > 200


def test_at_once_cuts_allow_what_the_enumeration_finds() -> None:
    generator = random.Random(2)
    answers = []
    for _ in range(300):
        for cut, expected in delays(at_once_cut(generator, generator.randint(1, 5)), AtOnce):
            found = _kernels.cut_allows_at_once(**arrays(cut), most_states=MANY_STATES)
            assert found == expected
            answers.append(found)
    assert min(answers.count(True), answers.count(False)) > 200


@pytest.mark.parametrize("most_states", [1, 2, 5])
def test_merged_states_allow_no_less(most_states: int) -> None:
    generator = random.Random(3)
    for _ in range(300):
        cut = arrays(at_once_cut(generator, 6))
        if _kernels.cut_allows_at_once(**cut, most_states=MANY_STATES):
            assert _kernels.cut_allows_at_once(**cut, most_states=most_states)


def test_the_price_of_room_rules_out_only_what_the_enumeration_rules_out() -> None:
    # Reruns of very different worth for their bytes, in little room: here the relaxation decides.
    generator = random.Random(5)
    answers = []
    for _ in range(150):
        cut = fluid_cut(generator, 7)
        cut["forward_ns"] = [0, *(generator.choice((0, 1, 50)) for _ in range(6))]
        cut["later_ns"] = [0] * 7
        for limited, expected in delays(cut, Fluid):
            found = _kernels.cut_allows_fluid(**arrays(limited), most_states=MANY_STATES)
            assert found == expected
            answers.append(found)
    assert min(answers.count(True), answers.count(False)) > 50


def test_a_search_stops_at_its_time_limit() -> None:
    cut = arrays(fluid_cut(random.Random(6), 6))
    cut["delay_ns"], cut["held_bytes"], cut["input_bytes"] = (
        100,
        cut["held_bytes"] + 99,
        cut["input_bytes"] + 99,
    )
    with pytest.raises(TimeoutError):
        _kernels.cut_allows_fluid(**cut, most_states=9, time_limit_s=0.0)


def test_arrays_that_do_not_fit_together_are_refused() -> None:
    cut = fluid_cut(random.Random(4), 4)
    with pytest.raises(ValueError, match="forward_ns: wrong length"):
        _kernels.cut_allows_fluid(**arrays({**cut, "forward_ns": [1]}), most_states=9)
    with pytest.raises(ValueError, match="plain_bytes: negative"):
        _kernels.cut_allows_fluid(**arrays({**cut, "plain_bytes": [-1] * 4}), most_states=9)
    with pytest.raises(ValueError, match="most_states: below 1"):
        _kernels.cut_allows_fluid(**arrays(cut), most_states=0)
    with pytest.raises(ValueError, match="an empty chain"):
        _kernels.cut_allows_fluid(**arrays({**cut, "plain_bytes": []}), most_states=9)
