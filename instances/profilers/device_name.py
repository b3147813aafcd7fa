"""Names of devices: as their maker writes them, and short enough for the name of an instance."""

from __future__ import annotations

import platform
import re
from pathlib import Path

import torch

_CPU_INFO = Path("/proc/cpuinfo")
_DRIVER = Path("/proc/driver/nvidia/version")


def device_name(device: torch.device) -> str:
    """Return the marketing name of a processor or GPU, such as ``NVIDIA H200``."""
    if device.type == "cuda":
        return str(torch.cuda.get_device_name(device))
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


def library_versions(device: torch.device) -> dict[str, str]:
    """Return the versions of PyTorch and, on a GPU, of CUDA, cuDNN and the driver."""
    versions = {"python": platform.python_version(), "torch": str(torch.__version__)}
    if device.type == "cuda":
        versions["cuda"] = str(torch.version.cuda or torch.version.hip)
        if torch.backends.cudnn.is_available():
            versions["cudnn"] = str(torch.backends.cudnn.version())
        if _DRIVER.is_file():
            found = re.search(r"\s(\d+\.\d+(?:\.\d+)?)\s", _DRIVER.read_text())
            if found:
                versions["driver"] = found[1]
    return versions
