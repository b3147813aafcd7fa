from __future__ import annotations

import graphlib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jettison.instances.core.topological_order import find_cycle, topological_order


def test_an_order_that_is_topological_comes_back_unchanged() -> None:
    inputs: dict[str, list[str]] = {"b": [], "a": [], "c": ["a", "b"], "d": ["b"]}
    assert topological_order(inputs) == ["b", "a", "c", "d"]


def test_a_node_before_its_input_waits_and_then_goes_first() -> None:
    # c waits for z, the last one; once z is done, c is the first that is ready.
    inputs: dict[str, list[str]] = {"a": [], "c": ["z"], "b": [], "d": ["c"], "z": []}
    assert topological_order(inputs) == ["a", "b", "z", "c", "d"]


def test_a_graph_without_a_cycle_has_none() -> None:
    assert find_cycle({"a": [], "b": ["a"], "c": ["a", "b"]}) == []


def test_a_cycle_is_given_with_its_first_name_repeated() -> None:
    inputs = {"a": [], "b": ["a", "d"], "c": ["b"], "d": ["c"]}
    cycle = find_cycle(inputs)
    assert cycle[0] == cycle[-1]
    assert set(cycle) == {"b", "c", "d"}
    assert all(source in inputs[name] for source, name in pairwise(cycle))


def test_a_node_that_reads_itself_is_a_cycle() -> None:
    assert find_cycle({"a": ["a"]}) == ["a", "a"]


def test_there_is_no_order_of_a_cycle() -> None:
    with pytest.raises(graphlib.CycleError):
        topological_order({"a": ["b"], "b": ["a"]})


@given(st.permutations(range(8)), st.data())
def test_every_node_comes_after_its_inputs_and_before_later_ready_ones(
    numbers: list[int], data: st.DataObject
) -> None:
    inputs = {
        str(number): [
            str(source)
            for source in data.draw(st.sets(st.integers(0, number - 1)) if number else st.just([]))
        ]
        for number in numbers
    }
    place = {name: position for position, name in enumerate(inputs)}
    done: set[str] = set()
    for name in topological_order(inputs):
        ready = [other for other in inputs if other not in done and done.issuperset(inputs[other])]
        assert name == min(ready, key=place.__getitem__)
        done.add(name)
    assert done == set(inputs)
