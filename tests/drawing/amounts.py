"""Amounts of which many are zero."""

from __future__ import annotations

from hypothesis import strategies as st

# Zero has a high weight: a size or a time of zero is where a recurrence breaks first.
AMOUNTS = st.one_of(st.just(0), st.integers(0, 3), st.integers(0, 12))
