"""Records can be copied and sent to another process, and nobody can change them."""

from __future__ import annotations

import copy
import pickle

import pytest

import jettison as jt
from jettison.instances.core.frozen_mapping import FrozenMapping


def test_it_is_equal_to_the_dict_that_it_was_made_from_and_keeps_its_order() -> None:
    entries = {"b": 1, "a": 2}
    frozen = FrozenMapping(entries)
    assert frozen == entries
    assert list(frozen) == ["b", "a"]
    assert repr(frozen) == repr(entries)


def test_a_later_change_of_the_dict_does_not_show_and_no_entry_can_be_set() -> None:
    entries = {"a": 1}
    frozen = FrozenMapping(entries)
    entries["a"] = 2
    assert frozen["a"] == 1
    with pytest.raises(TypeError, match="item assignment"):
        frozen["a"] = 3  # type: ignore[index]


# One of each kind that records where its numbers come from.
@pytest.mark.parametrize(
    "name", ["resnet18-b4-224-cpu", "resnet18-graph-b8-64-cpu", "encoder-4l-mesh1x4", "vit-x8"]
)
def test_an_instance_can_be_pickled_and_copied(name: str) -> None:
    instance = jt.load(name)
    assert pickle.loads(pickle.dumps(instance)) == instance
    assert copy.deepcopy(instance) == instance


def test_a_result_can_be_pickled() -> None:
    result = jt.solve(jt.RematChain(jt.load("resnet18-b4-224-cpu"), memory="60%"), method="rotor")
    again = pickle.loads(pickle.dumps(result))
    assert again == result
    assert again.to_json() == result.to_json()
