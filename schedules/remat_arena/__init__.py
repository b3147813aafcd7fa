"""Buffers of schedules, their addresses, and allocators that choose addresses."""
