"""Fixtures of the tests that need PyTorch."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Compute on one thread: the models are so small that more of them only wait.

    For each test, since profiles set the number of threads, on which the memory of kernels depends.
    """
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
