"""Name of a PyTorch device, and the versions of the libraries that run on it."""

from __future__ import annotations

import platform
import re
from pathlib import Path

import torch

from jettison.instances.profilers.device.processor_name import processor_name

_DRIVER = Path("/proc/driver/nvidia/version")


def device_name(device: torch.device) -> str:
    """Return the marketing name of a processor or GPU, such as ``NVIDIA H200``."""
    if device.type == "cuda":
        return str(torch.cuda.get_device_name(device))
    return processor_name()


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
