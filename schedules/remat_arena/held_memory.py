"""Table of what allocators hold for the buffers of a schedule, beside its own addresses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from jettison.schedules.remat_arena.allocator import Allocator, allocate
from jettison.schedules.remat_arena.arena import Arena, Fit
from jettison.schedules.remat_arena.caching import CachingAllocator
from jettison.schedules.remat_arena.schedule import ArenaReplay

ALLOCATORS: Mapping[str, Callable[[], Allocator]] = MappingProxyType(
    {
        "arena at run time, best fit": lambda: Arena(Fit.BEST),
        "arena at run time, first fit": lambda: Arena(Fit.FIRST),
        "PyTorch's caching allocator": CachingAllocator,
    }
)


def printed_memory(replay: ArenaReplay) -> tuple[list[str], list[list[str]]]:
    """Return columns and rows: bytes held, and how far that is above the live peak."""
    held = {
        "no addresses": replay.live_peak_bytes,
        "the addresses of the schedule": replay.peak_bytes,
        **{
            name: allocate(replay.buffers, make()).held_peak_bytes
            for name, make in ALLOCATORS.items()
        },
    }
    live = replay.live_peak_bytes
    rows = [
        [name, str(size), f"{100 * (size - live) / live:.2f} %" if live else "-"]
        for name, size in held.items()
    ]
    return ["placed by", "bytes held", "above the live peak"], rows
