"""How a process that got no memory says so, in the words of the libraries that it may die in."""

from __future__ import annotations

_SIGNS = (
    "memoryerror",
    "bad_alloc",
    "cannot allocate memory",
    "can't start new thread",
)


def is_out_of_memory(complaint: str) -> bool:
    """Tell whether the standard error of a process speaks of memory that it did not get."""
    words = complaint.lower()
    return any(sign in words for sign in _SIGNS)
