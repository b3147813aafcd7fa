"""Span of what is under way at the end of a period and goes on at its start."""

from __future__ import annotations

import pytest

from jettison.schedules.weight_offload.folded_span import folded_span


@pytest.mark.parametrize(
    ("span", "pieces"),
    [
        ((2, 7), [(2, 7)]),
        ((2, 10), [(2, 10)]),
        # Three units reach into the next period.
        ((8, 13), [(8, 10), (0, 3)]),
        # As long as the period or longer: all of it.
        ((8, 18), [(0, 10)]),
        ((8, 40), [(0, 10)]),
    ],
)
def test_a_span_is_folded_into_its_period(
    span: tuple[int, int], pieces: list[tuple[int, int]]
) -> None:
    assert folded_span(*span, 10) == pieces
