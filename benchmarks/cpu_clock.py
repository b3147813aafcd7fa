"""CPU time as benchmarks count it: of the process, and of the children that have ended."""

from __future__ import annotations

import resource
import time


def cpu_seconds() -> float:
    """Return the CPU seconds until now; HiGHS in its child process counts once it has ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime
