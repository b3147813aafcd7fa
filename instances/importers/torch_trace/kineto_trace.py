"""Reader of Kineto traces, as ``torch.profiler`` exports them: calls, kernels, modules, memory.

Times of a call are those of the host. What a call starts on the device, kernels and copies, is
found by the correlation number of its launch: it belongs to the innermost call of that thread in
which the launch lies. Several names of one kind of event are known, since earlier versions wrote
others.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from jettison.instances.core.errors import InputError
from jettison.instances.core.units import NANOSECOND_UNITS
from jettison.instances.importers.torch_trace.recorded_file import checked, read_recording

_CALLS = {"cpu_op", "operator", "user_annotation"}
_LAUNCHES = {"cuda_runtime", "cuda_driver", "runtime"}
_DEVICE_WORK = {"kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset"}
_MODULE = "nn.Module: "
_HOST, _CUDA = 0, 1


class Span(NamedTuple):
    """Time in which something ran on one thread of the host, in nanoseconds."""

    thread: str
    start_ns: int
    end_ns: int

    def holds(self, other: Span) -> bool:
        """Return whether the other one lies in this one."""
        return (
            self.thread == other.thread
            and self.start_ns <= other.start_ns
            and other.end_ns <= self.end_ns
        )


class TimedCall(NamedTuple):
    """Call of an operator, of a function of autograd or of a named range.

    `device_ns` is the time of the kernels and copies that it starts itself, outside of the calls
    inside it. `shapes` and `dtypes` are those of its arguments, where they were recorded.
    """

    name: str
    record: int | None
    sequence: int
    span: Span
    shapes: tuple[tuple[int, ...], ...] = ()
    dtypes: tuple[str, ...] = ()
    device_ns: int = 0


class MemoryEvent(NamedTuple):
    """Allocation (positive) or release (negative) at an address."""

    thread: str
    time_ns: int
    address: int
    size_bytes: int


class Module(NamedTuple):
    """Run of a module's forward function."""

    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class KinetoTrace:
    """Kineto trace of one process.

    Attributes
    ----------
    process
        Process of the calls.
    calls
        In the order in which they begin; of two that begin together, the longer one is first.
    modules
        Runs of modules, in that order; empty unless stacks were recorded.
    memory
        Events of the allocator of the device that computes, in their order.
    uses_device
        Whether kernels ran.
    device
        Name of the device, if it is recorded.
    elsewhere_ns
        Time of kernels and copies that no call started.
    """

    process: str
    calls: tuple[TimedCall, ...]
    modules: tuple[Module, ...]
    memory: tuple[MemoryEvent, ...]
    uses_device: bool
    device: str | None
    elsewhere_ns: int

    def peak_bytes(self, span: Span) -> int:
        """Return the peak of what was allocated within a span, whatever was there before."""
        live: dict[int, int] = {}
        peak = stored = 0
        first = bisect_left(self.memory, span.start_ns, key=lambda event: event.time_ns)
        for event in self.memory[first:]:
            if event.time_ns > span.end_ns:
                break
            if event.thread == span.thread:
                stored -= live.pop(event.address, 0)
                if event.size_bytes > 0:
                    live[event.address] = event.size_bytes
                    stored += event.size_bytes
                peak = max(peak, stored)
        return peak


def read_kineto_trace(path: Path) -> KinetoTrace:
    r"""Read a Kineto trace; :math:`O(n \log n)` for n events.

    Raises
    ------
    InputError
        If the file cannot be read, is truncated or no such trace, has no call, calls of several
        processes, or kernels of graphs that were captured, which belong to no operator; the
        message names the file and the event.
    """
    document = read_recording(path)
    try:
        if not isinstance(document, dict) or "traceEvents" not in document:
            raise InputError(
                "there are no events",
                field="traceEvents",
                expected="give what torch.profiler exported (export_chrome_trace)",
            )
        events = checked(document["traceEvents"], list, "traceEvents")
        return _trace(document, events)
    except InputError as error:
        raise error.within(source=str(path)) from None


def _trace(document: Mapping[str, Any], events: list[Any]) -> KinetoTrace:
    calls: list[TimedCall] = []
    modules: list[Module] = []
    memory: dict[int, list[MemoryEvent]] = {_HOST: [], _CUDA: []}
    launched: dict[int, tuple[str, int]] = {}
    work: list[tuple[int, int, str]] = []
    processes: set[str] = set()
    for place, event in enumerate(events):
        where = f"traceEvents[{place}]"
        if not isinstance(event, dict):
            raise InputError("it is not an object", field=where, expected="write an event")
        kind = str(event.get("cat", "")).lower()
        given = event.get("args")
        arguments: Mapping[str, Any] = given if isinstance(given, dict) else {}
        if kind in _CALLS and event.get("ph") == "X":
            processes.add(str(event.get("pid")))
            calls.append(_call(event, arguments, where))
        elif kind in _LAUNCHES and type(arguments.get("correlation")) is int:
            if "GraphLaunch" in str(event.get("name")):
                raise InputError(
                    "it starts a graph of kernels that was captured before: they belong to no "
                    "operator",
                    field=where,
                    expected="record the model without CUDA graphs",
                )
            launched[arguments["correlation"]] = (str(event.get("tid")), _time(event, "ts", where))
        elif kind in _DEVICE_WORK:
            number = arguments.get("correlation")
            correlation = number if type(number) is int else -1
            work.append((correlation, _time(event, "dur", where), where))
        elif kind == "python_function" and str(event.get("name")).startswith(_MODULE):
            name = str(event["name"]).removeprefix(_MODULE)
            modules.append(Module(name, _span(event, where)))
        elif event.get("name") == "[memory]" and "Addr" in arguments:
            _remember(memory, event, arguments, where)
    if not calls:
        raise InputError(
            "there is no call of an operator",
            field="traceEvents",
            expected="record with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]",
        )
    if len(processes) > 1:
        raise InputError(
            f"calls of {len(processes)} processes",
            field="traceEvents",
            expected="give the trace of one process",
        )
    # Records are numbered as calls begin, which times of whole microseconds do not tell.
    calls.sort(key=lambda call: (call.span.start_ns, call.record or 0, -call.span.end_ns))
    modules.sort(key=lambda module: (module.span.start_ns, -module.span.end_ns))
    events_of = memory[_CUDA if work else _HOST]
    own_ns, elsewhere_ns = _launched_by(calls, launched, work)
    return KinetoTrace(
        process=processes.pop(),
        calls=tuple(
            call._replace(device_ns=own_ns[place]) if place in own_ns else call
            for place, call in enumerate(calls)
        ),
        modules=tuple(modules),
        memory=tuple(sorted(events_of, key=lambda event: event.time_ns)),
        uses_device=bool(work),
        device=_device(document) if work else None,
        elsewhere_ns=elsewhere_ns,
    )


def _launched_by(
    calls: list[TimedCall],
    launched: Mapping[int, tuple[str, int]],
    work: list[tuple[int, int, str]],
) -> tuple[dict[int, int], int]:
    """Return the device time that each call starts itself, by its place, and what none starts."""
    events: defaultdict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for place, call in enumerate(calls):
        events[call.span.thread].append((call.span.start_ns, 0, place))
    for correlation, duration_ns, where in work:
        if correlation not in launched:
            raise InputError(
                f"no launch has its correlation, {str(correlation)[:20]}",
                field=where,
                expected="record host and device together: activities=[ProfilerActivity.CPU, "
                "ProfilerActivity.CUDA]",
            )
        thread, time_ns = launched[correlation]
        events[thread].append((time_ns, 1, duration_ns))
    own_ns: defaultdict[int, int] = defaultdict(int)
    elsewhere_ns = 0
    for of_thread in events.values():
        running: list[int] = []
        for time_ns, is_launch, value in sorted(of_thread):
            # What ends in the microsecond of a launch may have started it.
            while running and calls[running[-1]].span.end_ns < time_ns + (1 - is_launch):
                running.pop()
            if not is_launch:
                running.append(value)
            elif running:
                own_ns[running[-1]] += value
            else:
                elsewhere_ns += value
    return own_ns, elsewhere_ns


def _call(event: Mapping[str, Any], arguments: Mapping[str, Any], where: str) -> TimedCall:
    record = arguments.get("Record function id", arguments.get("External id"))
    sequence = arguments.get("Sequence number", -1)
    shapes, dtypes = arguments.get("Input Dims", ()), arguments.get("Input type", ())
    return TimedCall(
        name=checked(event.get("name"), str, f"{where}.name"),
        record=record if type(record) is int else None,
        sequence=sequence if type(sequence) is int else -1,
        span=_span(event, where),
        shapes=tuple(map(_shape, shapes)) if isinstance(shapes, list) else (),
        dtypes=tuple(map(str, dtypes)) if isinstance(dtypes, list) else (),
    )


def _shape(value: Any) -> tuple[int, ...]:
    if isinstance(value, list) and all(type(size) is int and size >= 0 for size in value):
        return tuple(value)
    return ()


def _remember(
    memory: dict[int, list[MemoryEvent]],
    event: Mapping[str, Any],
    arguments: Mapping[str, Any],
    where: str,
) -> None:
    device, address, size = (arguments.get(key) for key in ("Device Type", "Addr", "Bytes"))
    if type(device) is not int or type(address) is not int or type(size) is not int:
        raise InputError(
            "device, address or bytes are no whole numbers",
            field=f"{where}.args",
            expected="give the trace as the profiler wrote it",
        )
    if device in memory:
        memory[device].append(
            MemoryEvent(str(event.get("tid")), _time(event, "ts", where), address, size)
        )


def _span(event: Mapping[str, Any], where: str) -> Span:
    start_ns = _time(event, "ts", where)
    return Span(str(event.get("tid")), start_ns, start_ns + _time(event, "dur", where))


def _time(event: Mapping[str, Any], key: str, where: str) -> int:
    """Return a time, which stands in the trace in microseconds, in whole nanoseconds."""
    value = event.get(key)
    if isinstance(value, int | float) and type(value) is not bool and 0 <= value < 2**62:
        # The text of a float is what stands in the file.
        return round(Fraction(repr(value)) * NANOSECOND_UNITS["us"])
    raise InputError(
        f"{str(value)[:40]!r} is not a time",
        field=f"{where}.{key}",
        expected="give a trace in which every event has ended",
    )


def _device(document: Mapping[str, Any]) -> str | None:
    """Return the name of the device, where all that are listed have the same."""
    listed = document.get("deviceProperties")
    names = {
        entry["name"]
        for entry in (listed if isinstance(listed, list) else [])
        if isinstance(entry, dict) and isinstance(entry.get("name"), str)
    }
    return names.pop() if len(names) == 1 else None
