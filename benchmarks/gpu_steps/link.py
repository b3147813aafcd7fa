"""Bandwidth of copies between the host's pinned memory and a GPU."""

from __future__ import annotations

import time
from statistics import median_low

import torch

from benchmarks.gpu_steps.measured_step import DEVICE

LINK_BYTES = 2**28


def link_bytes_per_s(device: torch.device = DEVICE) -> dict[str, int]:
    """Return the bandwidths of pinned copies: each way alone, and each way while both run."""
    if device.type != "cuda":
        return {"down": 10**10, "up": 10**10}
    host = [torch.empty(LINK_BYTES, dtype=torch.uint8, pin_memory=True) for _ in range(2)]
    card = [torch.empty(LINK_BYTES, dtype=torch.uint8, device=device) for _ in range(2)]
    streams = [torch.cuda.Stream(device) for _ in range(2)]

    def down() -> None:
        with torch.cuda.stream(streams[0]):
            host[0].copy_(card[0], non_blocking=True)

    def up() -> None:
        with torch.cuda.stream(streams[1]):
            card[1].copy_(host[1], non_blocking=True)

    def both() -> None:
        down()
        up()

    found = {}
    for name, begin_copy in (("down", down), ("up", up), ("both", both)):
        seconds = []
        for _ in range(6):
            torch.cuda.synchronize(device)
            begin = time.perf_counter()
            begin_copy()
            torch.cuda.synchronize(device)
            seconds.append(time.perf_counter() - begin)
        found[name] = int(LINK_BYTES / median_low(seconds[1:]))
    return found
