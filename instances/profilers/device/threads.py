"""State of the process in which something is measured: threads, and the allocator of the host."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

# The size up to which the C library comes to keep freed memory for itself.
_LARGEST_KEPT = 31 * 2**20


def use_allocator() -> None:
    """Bring the host's allocator to the state in which training leaves it.

    The C library maps large blocks anew for each allocation until one as large has been freed: the
    first operations of a process would pay for pages that later ones find.
    """
    torch.empty(_LARGEST_KEPT, dtype=torch.uint8)


@contextmanager
def threads_set(count: int) -> Iterator[None]:
    """Compute with `count` threads in the block, and with as many as before after it."""
    before = torch.get_num_threads()
    if before == count:
        yield
        return
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
