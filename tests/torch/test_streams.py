"""Streams as threads: order, failures and ends; and the memory that they take and return."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
pytest.importorskip("jettison.torch", exc_type=ImportError)

from jettison.instances.profilers.torch_graphs.held_storages import HeldStorages  # noqa: E402
from jettison.torch.errors import ExecutionError  # noqa: E402
from jettison.torch.multi_model.device_memory import DeviceMemory, Slot  # noqa: E402
from jettison.torch.multi_model.streams import Lane, ThreadStreams, streams_of  # noqa: E402

pytestmark = pytest.mark.torch

SECONDS = 60


def test_a_stream_waits_for_events_of_another_one() -> None:
    done: list[str] = []
    gate = threading.Event()

    def wait_for_the_gate() -> None:
        assert gate.wait(SECONDS)
        done.append("computed")

    with ThreadStreams() as streams:
        computed = streams.submit(Lane.COMPUTE, wait_for_the_gate, [])
        streams.submit(Lane.TO_HOST, lambda: done.append("copied"), [computed])
        free = streams.submit(Lane.FROM_HOST, lambda: done.append("beside it"), [])
        while not free.is_done():
            pass
        gate.set()
        streams.drain()
    assert done == ["beside it", "computed", "copied"]
    assert computed.span_ns()[0] <= computed.span_ns()[1]


def test_work_begins_in_the_order_in_which_it_was_submitted() -> None:
    begun: list[str] = []
    gate = threading.Event()

    def note(name: str, *, waits: bool = False) -> Callable[[Any], None]:
        def begin(wait: Any) -> None:
            assert not waits or gate.wait(SECONDS)
            begun.append(name)

        return begin

    with ThreadStreams() as streams:
        streams.submit(Lane.COMPUTE, lambda: None, [], note("first", waits=True))
        # It has nothing to wait for, but may not take memory before the first has.
        streams.submit(Lane.FROM_HOST, lambda: None, [], note("second"))
        streams.submit(Lane.COMPUTE, lambda: None, [], note("third"))
        gate.set()
        streams.drain()
    assert begun == ["first", "second", "third"]


def test_a_failure_is_raised_and_nothing_else_begins() -> None:
    done: list[str] = []

    def fail() -> None:
        raise ValueError("no such number")

    with ThreadStreams() as streams:
        failed = streams.submit(Lane.COMPUTE, fail, [])
        streams.submit(Lane.TO_HOST, lambda: done.append("copied"), [failed])
        streams.submit(Lane.COMPUTE, lambda: done.append("computed"), [], lambda wait: None)
        with pytest.raises(ValueError, match="no such number"):
            streams.drain()
    assert done == []


def test_streams_end_without_what_they_have_not_begun() -> None:
    done: list[str] = []
    begun, gate = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        assert gate.wait(SECONDS)
        done.append("first")

    def interrupt(streams: Any) -> None:
        first = streams.submit(Lane.COMPUTE, work, [])
        streams.submit(Lane.TO_HOST, lambda: done.append("second"), [first])
        assert begun.wait(SECONDS)
        threading.Timer(0.05, gate.set).start()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), ThreadStreams() as streams:
        interrupt(streams)
    assert done == ["first"]


def test_a_cpu_has_threads() -> None:
    assert isinstance(streams_of(torch.device("cpu")), ThreadStreams)


class Reached:
    """Event that is reached when it is told so, or when something waits for it."""

    def __init__(self, *, done: bool) -> None:
        self.done = done

    def is_done(self) -> bool:
        return self.done

    def span_ns(self) -> tuple[int, int]:
        return 0, 0


def wait(events: Any) -> None:
    for event in events:
        event.done = True


def test_memory_waits_for_what_was_given_up_before_and_no_more_than_it_must() -> None:
    memory = DeviceMemory(100, 40, HeldStorages())
    late, later = Reached(done=False), Reached(done=False)
    let_go: list[str] = []
    memory.give_back(20, [late], lambda: let_go.append("late"))
    memory.give_back(20, [later], lambda: let_go.append("later"))
    memory.taking(60, "fits")(wait)
    assert let_go == []
    memory.taking(10, "waits")(wait)
    assert (late.done, later.done, let_go) == (True, False, ["late"])
    # An operation without memory never waits.
    memory.taking(0, "nothing")(wait)
    early = memory.taking(40, "cannot know of what follows")
    memory.give_back(100, [Reached(done=True)])
    with pytest.raises(ExecutionError, match="cannot know of what follows needs 40 bytes"):
        early(wait)


def test_a_storage_counts_once_however_many_hold_it() -> None:
    held = HeldStorages()
    tensor = torch.zeros(10, dtype=torch.float64)
    first, second = Slot(held), Slot(held)
    first.fill({0: tensor, 1: tensor[2:]})
    second.fill({2: tensor.view(2, 5)})
    assert (held.held_bytes, held.peak_bytes) == (80, 80)
    first.empty()
    assert held.held_bytes == 80
    second.empty()
    assert (held.held_bytes, held.peak_bytes) == (0, 80)
    held.hold([torch.empty(0)])
    assert held.held_bytes == 0
