"""Recompute in an arena: the problem, schedules with addresses, and allocators."""

from jettison.instances.remat_arena.problem import RematArena
from jettison.schedules.remat_arena.allocator import Allocation, AllocationError, allocate
from jettison.schedules.remat_arena.arena import Arena, Fit
from jettison.schedules.remat_arena.buffers import Buffer, buffers_of, live_peak_bytes
from jettison.schedules.remat_arena.caching import CachingAllocator
from jettison.schedules.remat_arena.schedule import AddressedSchedule, ArenaReplay

__all__ = [
    "AddressedSchedule",
    "Allocation",
    "AllocationError",
    "Arena",
    "ArenaReplay",
    "Buffer",
    "CachingAllocator",
    "Fit",
    "RematArena",
    "allocate",
    "buffers_of",
    "live_peak_bytes",
]
