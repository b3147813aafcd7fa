"""CPU time as benchmarks count it: of the process, and of the children that have ended."""

from __future__ import annotations

import os
import resource
import signal
import threading
import time
from pathlib import Path
from types import TracebackType

_SECONDS_BETWEEN_LOOKS = 0.5
# After the first Ctrl-C a method may wait for HiGHS to look up; a second one does not wait.
_CPU_SECONDS_TO_END = 5.0


def cpu_seconds() -> float:
    """Return the CPU seconds until now; HiGHS in its child process counts once it has ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


class CpuLimit:
    """Limit on the CPU seconds of a block, which ends as by Ctrl-C when they are used up.

    Children that still run count too, where `/proc` tells of them. A block that goes on is
    interrupted again.

    Parameters
    ----------
    limit_s
        The seconds.

    Attributes
    ----------
    is_reached
        Whether the block was ended.
    """

    def __init__(self, limit_s: float) -> None:
        self.is_reached = False
        self._limit_s = limit_s
        self._is_over = threading.Event()
        self._watch = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> CpuLimit:
        self._started_s = cpu_seconds()
        # A shell that starts a command in the background has it ignore Ctrl-C.
        self._handler = signal.signal(signal.SIGINT, signal.default_int_handler)
        self._watch.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._is_over.set()
        self._watch.join()
        signal.signal(signal.SIGINT, self._handler)

    def _look(self) -> None:
        next_s = self._limit_s
        while not self._is_over.wait(_SECONDS_BETWEEN_LOOKS):
            if cpu_seconds() + _running_children_seconds() - self._started_s >= next_s:
                self.is_reached = True
                next_s += _CPU_SECONDS_TO_END
                os.kill(os.getpid(), signal.SIGINT)


def _running_children_seconds() -> float:
    """Return the CPU seconds of children that have not ended."""
    ticks = os.sysconf("SC_CLK_TCK")
    total = 0.0
    for listed in Path("/proc/self/task").glob("*/children"):
        for child in _text_of(listed).split():
            # The name may have spaces; after it come the state and the numbers.
            fields = _text_of(Path("/proc", child, "stat")).rpartition(")")[2].split()
            total += sum(map(int, fields[11:13])) / ticks
    return total


def _text_of(path: Path) -> str:
    """Return what a file of `/proc` says; nothing if its process or thread has ended since."""
    try:
        return path.read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError):
        return ""
