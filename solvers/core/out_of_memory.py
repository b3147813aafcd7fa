"""Detection of memory exhaustion in the standard error of a process that died."""

from __future__ import annotations

_SIGNS = (
    "memoryerror",
    "bad_alloc",
    "cannot allocate memory",
    "can't start new thread",
)


def is_out_of_memory(complaint: str) -> bool:
    """Tell whether the standard error of a process reports a failed allocation of memory."""
    words = complaint.lower()
    return any(sign in words for sign in _SIGNS)
