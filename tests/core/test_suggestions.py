"""Advice on misspelt names: by what they begin with, by their words, by likeness."""

from __future__ import annotations

import pytest

from jettison import InputError, load
from jettison.instances.core.link import parse_link
from jettison.instances.core.names import suggestion

NAMES = ("bert-base", "bert-large", "bert-x4", "bert-x8", "gpt2-h200", "vgg16-h200")


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("bert", "write bert-base, bert-large or bert-x4, or "),
        ("BERT-X", "write bert-x4 or bert-x8, or "),
        ("gpt", "write gpt2-h200, or "),
        ("H200", "write gpt2-h200 or vgg16-h200, or "),
        ("vgg16h200", "write vgg16-h200, or "),
        ("transformer", ""),
        ("", ""),
    ],
)
def test_names_that_begin_so_come_first_and_then_those_with_such_a_word(
    name: str, advice: str
) -> None:
    assert suggestion(name, NAMES) == advice


def test_instances_are_suggested_of_the_kinds_that_are_wanted() -> None:
    with pytest.raises(InputError, match="write resnet18-graph-b256-gpu or resnet18-graph-b8-64"):
        load("resnet18", kinds={"graph"})
    with pytest.raises(InputError) as refused:
        load("vit", kinds={"strategy-graph"})
    assert "write" not in str(refused.value)


def test_rates_are_read_in_usual_spellings_but_not_with_a_letter_alone() -> None:
    assert {parse_link(text) for text in ("12GB/s", "12gb/s", "12 GBps")} == {parse_link("12GB/s")}
    with pytest.raises(InputError, match="'12G/s' is not a rate"):
        parse_link("12G/s")
