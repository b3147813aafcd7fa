"""Quick check of JSON documents against a schema: a schema becomes one Python function.

A document of millions of entries takes the validator of `jsonschema` many seconds, since that looks
up every rule for every entry. Here each schema is read once, and its rules become closures that
answer yes or no. They know only the keywords below, and say "no" where they do not know: then the
validator of `jsonschema` decides, and it alone writes messages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

Check = Callable[[Any], bool]

# Keywords that forbid nothing.
_REMARKS = frozenset({"$schema", "$id", "$defs", "title", "description"})
_OF_ARRAYS = frozenset({"items", "minItems", "maxItems"})
_OF_OBJECTS = frozenset({"properties", "required", "additionalProperties"})
_OF_TEXTS = frozenset({"minLength", "maxLength"})
_OF_INTEGERS = frozenset({"minimum", "maximum"})


def quick_check(schema: object, root: Mapping[str, Any], files: Mapping[str, Any]) -> Check:
    """Return a function that is true only for documents that a schema allows.

    It may be false for a document that the schema allows: where a rule is of no known keyword, and
    for integers that are written as 1.0.

    Parameters
    ----------
    schema
        The schema, or a part of it.
    root
        The whole schema, in which a reference ``#/...`` is looked up.
    files
        Other schemas by the names that references call them.
    """
    if not isinstance(schema, dict):
        return _anything if schema is True else _nothing
    rules = {key: value for key, value in schema.items() if key not in _REMARKS}
    if not rules:
        return _anything
    if "$ref" in rules:
        return _of_reference(rules, root, files) if len(rules) == 1 else _nothing
    if set(rules) == {"const"} and type(rules["const"]) in (str, int):
        return partial(_is_same, rules["const"])
    kind = rules.pop("type", None)
    if kind == "integer" and set(rules) <= _OF_INTEGERS:
        return _of_integer(rules.get("minimum"), rules.get("maximum"))
    if kind == "string" and set(rules) <= _OF_TEXTS:
        return _of_text(rules.get("minLength", 0), rules.get("maxLength"))
    if kind == "array" and set(rules) <= _OF_ARRAYS:
        entries = quick_check(rules.get("items", True), root, files)
        return _of_array(entries, rules.get("minItems", 0), rules.get("maxItems"))
    if kind == "object" and set(rules) <= _OF_OBJECTS:
        if rules.get("additionalProperties") is not False:
            return _nothing
        fields = {
            name: quick_check(part, root, files)
            for name, part in rules.get("properties", {}).items()
        }
        return _of_object(fields, frozenset(rules.get("required", ())))
    return _nothing


def _anything(_: Any) -> bool:
    return True


def _nothing(_: Any) -> bool:
    return False


def _is_same(expected: str | int, value: Any) -> bool:
    return type(value) is type(expected) and bool(value == expected)


def _of_reference(
    rules: Mapping[str, Any], root: Mapping[str, Any], files: Mapping[str, Any]
) -> Check:
    place = rules["$ref"]
    if place in files:
        return _later(files[place], files[place], files)
    found: Any = root
    first, *keys = place.split("/")
    if first != "#":
        return _nothing
    for key in keys:
        if not isinstance(found, dict) or key not in found:
            return _nothing
        found = found[key]
    return _later(found, root, files)


def _later(schema: Any, root: Mapping[str, Any], files: Mapping[str, Any]) -> Check:
    """Return a check that is built when it is first asked: a schema may refer to itself."""
    built: list[Check] = []

    def check(value: Any) -> bool:
        if not built:
            built.append(quick_check(schema, root, files))
        return built[0](value)

    return check


def _of_integer(least: int | None, most: int | None) -> Check:
    def check(value: Any) -> bool:
        return (
            type(value) is int
            and (least is None or value >= least)
            and (most is None or value <= most)
        )

    return check


def _of_text(least: int, most: int | None) -> Check:
    def check(value: Any) -> bool:
        return type(value) is str and len(value) >= least and (most is None or len(value) <= most)

    return check


def _of_array(entries: Check, least: int, most: int | None) -> Check:
    def check(value: Any) -> bool:
        if type(value) is not list or len(value) < least:
            return False
        if most is not None and len(value) > most:
            return False
        return entries is _anything or all(map(entries, value))

    return check


def _of_object(fields: Mapping[str, Check], required: frozenset[str]) -> Check:
    def check(value: Any) -> bool:
        if type(value) is not dict or not required <= value.keys():
            return False
        for name, entry in value.items():
            rule = fields.get(name)
            if rule is None or not rule(entry):
                return False
        return True

    return check
