from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from importlib import resources
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from jettison.instances.core.json_file import _quick_check, _validator
from jettison.instances.core.schema_check import quick_check
from tests.sharding.oracles.strategy_brute_force import random_graph
from tests.tiny import CROSSED, ONE_OPERATOR, RING

PACKAGE = "jettison.instances"
WRONG: list[object] = [
    None,
    True,
    -1,
    2**63,
    1.0,
    0.5,
    "",
    "x" * 201,
    "x",
    [],
    {},
    [None],
    {"a": 1},
]


def changed(document: Any) -> Iterator[Any]:
    """Yield the document with one value replaced, left out or added, at each place."""
    places: list[tuple[Any, ...]] = []

    def walk(value: Any, place: tuple[Any, ...]) -> None:
        places.append(place)
        if isinstance(value, dict):
            for key, entry in value.items():
                walk(entry, (*place, key))
        elif isinstance(value, list):
            for position, entry in enumerate(value[:2]):
                walk(entry, (*place, position))

    walk(document, ())
    for place in places[1:]:
        for wrong in (*WRONG, ...):
            found = copy.deepcopy(document)
            parent = found
            for key in place[:-1]:
                parent = parent[key]
            if wrong is ...:
                del parent[place[-1]]
            else:
                parent[place[-1]] = wrong
            yield found
    yield {**document, "more": 1}


@pytest.mark.parametrize("graph", [ONE_OPERATOR, RING, CROSSED, random_graph(2)], ids=str)
def test_the_quick_check_says_yes_to_strategy_graphs(graph: Any) -> None:
    # Otherwise the validator would read contest instances for seconds.
    assert _quick_check(PACKAGE, "strategy-graph.schema.json")(graph.to_json())


def test_the_quick_check_and_the_validator_agree_on_changed_strategy_graphs() -> None:
    name = "strategy-graph.schema.json"
    check, validator = _quick_check(PACKAGE, name), _validator(PACKAGE, name)
    answers = set()
    for document in changed(ONE_OPERATOR.to_json()):
        is_valid = validator.is_valid(document)
        # Only an integer that is written as 1.0 is left to the validator.
        assert check(document) == is_valid or (is_valid and "1.0" in json.dumps(document))
        answers.add(is_valid)
    assert answers == {True, False}


RULES: list[dict[str, Any]] = [
    {"type": "integer", "minimum": 0, "maximum": 9},
    {"type": "integer", "multipleOf": 2},
    {"type": "string", "minLength": 1, "maxLength": 3},
    {"type": "string", "pattern": "^a"},
    {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2},
    {"type": "array", "uniqueItems": True},
    {"type": "array", "prefixItems": [{"type": "string"}], "items": False},
    {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": False},
    {"type": "object", "required": ["a"], "additionalProperties": False, "properties": {"a": True}},
    {"type": "object", "properties": {"a": {"type": "string"}}},
    {"type": ["integer", "null"]},
    {"const": 1},
    {"const": "x"},
    {"const": None},
    {"enum": [1, "x"]},
    {"anyOf": [{"type": "integer"}, {"type": "string"}]},
    {"not": {"type": "integer"}},
    {"$ref": "#/$defs/name", "$defs": {"name": {"type": "string"}}},
    {
        "$ref": "#/$defs/list",
        "$defs": {"list": {"type": "array", "items": {"$ref": "#/$defs/list"}}},
    },
    {"$ref": "#/$defs/name", "maxLength": 1, "$defs": {"name": {"type": "string"}}},
    {"title": "anything"},
]
VALUES: list[object] = [
    *WRONG,
    *(0, 1, 9, 10, False, "abc", "abcd", "ab"),
    *([1], [1, 2], [1, 2, 3], [1, 1], ["x"], ["x", 1], [[]], [[[]], []], {"a": "x"}, {"b": 1}),
]


@pytest.mark.parametrize("schema", RULES, ids=json.dumps)
def test_the_quick_check_never_says_yes_where_the_validator_says_no(schema: dict[str, Any]) -> None:
    check, validator = quick_check(schema, schema, {}), Draft202012Validator(schema)
    for value in VALUES:
        assert validator.is_valid(value) or not check(value), value


def test_other_files_are_looked_up_with_their_own_parts() -> None:
    files = {"b": {"$ref": "#/$defs/here", "$defs": {"here": {"type": "string"}}}}
    root = {"$ref": "b", "$defs": {"here": {"type": "integer"}}}
    check = quick_check(root, root, files)
    # The schema has a second keyword, which is a remark.
    assert check("text")
    assert not check(1)
    assert not quick_check({"$ref": "c"}, root, files)(1)


def test_every_schema_of_instances_has_a_quick_check() -> None:
    for entry in (resources.files(PACKAGE) / "schemas").iterdir():
        validator = _validator(PACKAGE, entry.name)
        assert validator.is_valid({}) or not _quick_check(PACKAGE, entry.name)({})
