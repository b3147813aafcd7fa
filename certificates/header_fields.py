"""Typed access to fields of parsed JSON, with checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .errors import CertificateError

# Fields of a JSON object.
Fields = Mapping[str, Any]

# Beyond what any instance holds: sums of such amounts stay small integers for a proof.
_MOST = 1 << 80

_OF_ANY_INSTANCE = {"format", "kind", "version", "name", "provenance"}


def check_kind(instance: Fields, kind: str, known: set[str]) -> None:
    """Refuse an instance of another kind, format or version than 1, or with an unknown field.

    `known` are the fields besides those that every instance has.
    """
    version = instance.get("version")
    if instance.get("kind") != kind or type(version) is not int or version != 1:
        raise CertificateError(f"the instance is not a {kind} of version 1")
    if instance.get("format") != "jettison":
        raise CertificateError(
            f"the format of the instance is not jettison: {str(instance.get('format'))[:60]}"
        )
    text_field(instance, "name")
    only_fields(instance, _OF_ANY_INSTANCE | known, "the instance")


def integer_field(fields: Fields, key: str, least: int = 0, default: int | None = None) -> int:
    """Return an integer; booleans and fractions are refused."""
    value = fields.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= _MOST:
        raise CertificateError(f"{key} is not an integer from {least} on: {str(value)[:60]}")
    return value


def flag_field(fields: Fields, key: str, *, default: bool = False) -> bool:
    """Return true or false; the default where the field is absent."""
    value = fields.get(key, default)
    if not isinstance(value, bool):
        raise CertificateError(f"{key} is neither true nor false: {str(value)[:60]}")
    return value


def text_field(fields: Fields, key: str) -> str:
    """Return a text."""
    value = fields.get(key)
    if not isinstance(value, str):
        raise CertificateError(f"{key} is not a text: {str(value)[:60]}")
    return value


def object_field(fields: Fields, key: str) -> Fields:
    """Return an object."""
    value = fields.get(key)
    if not isinstance(value, dict):
        raise CertificateError(f"{key} is not an object: {str(value)[:60]}")
    return value


def list_field(fields: Fields, key: str) -> list[Any]:
    """Return a list; an empty one where the field is absent."""
    value = fields.get(key, [])
    if not isinstance(value, list):
        raise CertificateError(f"{key} is not a list: {str(value)[:60]}")
    return value


def integers_field(fields: Fields, key: str, below: int) -> list[int]:
    """Return a list of integers from 0 to the one before `below`."""
    values = list_field(fields, key)
    for value in values:
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < below:
            raise CertificateError(f"{key} names {str(value)[:60]}, not 0 to {below - 1}")
    return values


def only_fields(fields: Fields, known: set[str], what: str) -> None:
    """Refuse keys that the checker would not look at."""
    unknown = sorted(fields.keys() - known)
    if unknown:
        raise CertificateError(f"{what} has an unknown field {unknown[0][:60]!r}")
