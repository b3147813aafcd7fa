"""The units of the axes, and titles that matplotlib could take for formulas."""

from __future__ import annotations

import pytest
from matplotlib.text import Text

from jettison.schedules.core.picture_style import empty_axes, memory_unit, time_unit


@pytest.mark.parametrize(
    ("largest_bytes", "name", "size"),
    [
        (0, "B", 1),
        (1023, "B", 1),
        (1024, "KiB", 2**10),
        (2**30 - 1, "MiB", 2**20),
        (2**30, "GiB", 2**30),
        (2**50, "TiB", 2**40),
    ],
)
def test_memory_is_shown_in_the_largest_unit_that_fits(
    largest_bytes: int, name: str, size: int
) -> None:
    assert memory_unit(largest_bytes) == (name, size)


@pytest.mark.parametrize(
    ("largest_ns", "name", "size"),
    [(0, "ns", 1), (999, "ns", 1), (1000, "µs", 10**3), (10**6, "ms", 10**6), (10**11, "s", 10**9)],
)
def test_time_is_shown_in_the_largest_unit_that_fits(largest_ns: int, name: str, size: int) -> None:
    assert time_unit(largest_ns) == (name, size)


def test_an_amount_is_converted_into_the_unit() -> None:
    assert memory_unit(3 * 2**29).of(3 * 2**29) == 1.5


def test_a_dollar_sign_in_a_title_is_no_formula() -> None:
    axes = empty_axes(4, 3, "cost $x^$")
    assert axes.get_title(loc="left") == "cost $x^$"
    axes.figure.draw_without_rendering()


def test_a_long_title_is_broken_into_lines_within_the_figure() -> None:
    title = "long " * 40
    axes = empty_axes(4, 3, title)
    figure = axes.figure
    figure.draw_without_rendering()
    (drawn,) = [item for item in axes.findobj(Text) if item.get_text().split() == title.split()]
    assert drawn.get_window_extent().x1 <= figure.bbox.x1
    assert drawn.get_window_extent().y1 <= figure.bbox.y1
