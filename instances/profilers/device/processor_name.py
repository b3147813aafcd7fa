"""Names of devices that are found without PyTorch."""

from __future__ import annotations

import platform
import re
from pathlib import Path

_CPU_INFO = Path("/proc/cpuinfo")


def processor_name() -> str:
    """Return the marketing name of the processor."""
    if _CPU_INFO.is_file():
        found = re.search(r"^model name\s*:\s*(.+)$", _CPU_INFO.read_text(), re.MULTILINE)
        if found:
            return found[1].strip()
    return platform.machine() or "unknown processor"


def short_device_name(name: str, kind: str) -> str:
    """Return ``cpu`` for a CPU, and for a GPU the first word of its name that holds a digit.

    ``NVIDIA H200`` becomes ``h200``, ``Tesla V100-PCIE-16GB`` becomes ``v100``, ``NVIDIA GeForce
    RTX 4090`` becomes ``4090``.
    """
    if kind == "cpu":
        return "cpu"
    words = re.findall(r"[a-z0-9]+", name.lower())
    return next((word for word in words if re.search(r"\d", word)), "".join(words) or kind)
