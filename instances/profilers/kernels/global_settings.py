"""Settings of PyTorch for the whole process on which the choice of a kernel depends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch


def global_settings() -> dict[str, Any]:
    """Return the settings of this process as plain data."""
    return {
        "threads": torch.get_num_threads(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "deterministic_warn_only": torch.is_deterministic_algorithms_warn_only_enabled(),
        "matmul_precision": torch.get_float32_matmul_precision(),
        "mkldnn": torch.backends.mkldnn.enabled,
        "cudnn": torch.backends.cudnn.enabled,
        "cudnn_benchmark": torch.backends.cudnn.benchmark,
        "cudnn_deterministic": torch.backends.cudnn.deterministic,
        "cudnn_allow_tf32": torch.backends.cudnn.allow_tf32,
    }


def use_global_settings(settings: Mapping[str, Any]) -> None:
    """Make the settings of this process those that `global_settings` returned in another."""
    if torch.get_num_threads() != settings["threads"]:
        torch.set_num_threads(settings["threads"])
    torch.use_deterministic_algorithms(
        settings["deterministic"], warn_only=settings["deterministic_warn_only"]
    )
    torch.set_float32_matmul_precision(settings["matmul_precision"])
    torch.backends.mkldnn.enabled = settings["mkldnn"]
    torch.backends.cudnn.enabled = settings["cudnn"]
    torch.backends.cudnn.benchmark = settings["cudnn_benchmark"]
    torch.backends.cudnn.deterministic = settings["cudnn_deterministic"]
    torch.backends.cudnn.allow_tf32 = settings["cudnn_allow_tf32"]
