"""Meanings of fields come from docstrings, and none is missing where an option shows it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from jettison.instances.core.field_meanings import field_meanings
from jettison.instances.generators.layered_graph import LayeredGraphs
from jettison.instances.generators.random_models import RandomModels
from jettison.instances.generators.strategy_graphs import StrategyGraphs


@dataclass
class Sizes:
    """Two sizes and a name.

    Attributes
    ----------
    least, most
        Ends of a range,
        in bytes.
    name

    Raises
    ------
    ValueError
        Never.
    """

    least: int
    most: int
    name: str
    note: str


def test_names_that_stand_together_share_their_meaning() -> None:
    assert field_meanings(Sizes) == {
        "least": "Ends of a range, in bytes.",
        "most": "Ends of a range, in bytes.",
        "name": "",
        "note": "",
    }


@pytest.mark.parametrize("parameters", [LayeredGraphs, StrategyGraphs, RandomModels])
def test_every_option_of_a_drawing_command_says_what_it_means(parameters: type) -> None:
    meanings = field_meanings(parameters)
    assert meanings
    assert all(text and not set("`:\\") & set(text) for text in meanings.values())
