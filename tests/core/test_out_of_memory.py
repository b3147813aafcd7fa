"""The words of a process that got no memory."""

from __future__ import annotations

import pytest

from jettison.solvers.core.out_of_memory import is_out_of_memory


@pytest.mark.parametrize(
    "complaint",
    [
        "Traceback (most recent call last):\nMemoryError",
        "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 3 GiB",
        "terminate called after throwing an instance of 'std::bad_alloc'",
        "OSError: [Errno 12] Cannot allocate memory",
        # The dynamic linker's, which ends the process with status 127.
        "cannot allocate memory for thread-local data: ABORT",
        "RuntimeError: can't start new thread",
    ],
)
def test_every_library_s_way_of_saying_it_is_known(complaint: str) -> None:
    assert is_out_of_memory(complaint)


def test_other_ends_are_not_taken_for_it() -> None:
    assert not is_out_of_memory("ValueError: the memory is written as 4GiB")
    assert not is_out_of_memory("")
