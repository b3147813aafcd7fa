"""Parameters of methods: constants of an algorithm that a caller may change, with their meaning."""

from __future__ import annotations

import difflib
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from math import isfinite
from typing import ClassVar, Self

from jettison.instances.core.content_hash import content_sha256
from jettison.instances.core.errors import InputError
from jettison.instances.core.field_meanings import field_meanings

_KINDS: Mapping[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "str": (str,),
}
_WORDS = {"int": "a whole number", "float": "a number", "bool": "true or false", "str": "a text"}


@dataclass(frozen=True, kw_only=True)
class Params:
    """Base of the frozen dataclasses that hold a method's parameters, beside `SolveOptions`.

    Every field has a default, the constant with which the method was tuned, and stands in the
    section Attributes of the docstring, from where `jettison list methods -v` takes its meaning.
    Parameters of a search that several methods run are a class that those of each method inherit.
    Fields are whole numbers, numbers, texts, or true or false.

    Whole numbers are at least 1, and other numbers above 0, unless `at_least` says otherwise.

    Raises
    ------
    InputError
        If a value is of another kind, or out of range.
    """

    at_least: ClassVar[Mapping[str, float]] = {}

    def __post_init__(self) -> None:
        for field in fields(self):
            self._check(field.name, str(field.type), getattr(self, field.name))

    def _check(self, name: str, kind: str, value: object) -> None:
        given = ChainMap(*(dict(vars(base).get("at_least", {})) for base in type(self).__mro__))
        least = given.get(name, 1 if kind == "int" else 0)
        # A share of 0, or a division by 0, makes no sense unless a method allows it explicitly.
        is_open = kind == "float" and name not in given
        is_number = kind in {"int", "float"}
        fits = isinstance(value, _KINDS[kind]) and isinstance(value, bool) == (kind == "bool")
        if fits and is_number and isinstance(value, int | float):
            fits = isfinite(value) and (value > least if is_open else value >= least)
        if not fits:
            bound = f" {'above' if is_open else 'from'} {least:g}" if is_number else ""
            raise InputError(f"{value!r}", field=name, expected=f"write {_WORDS[kind]}{bound}")

    def with_values(self, values: Mapping[str, object]) -> Self:
        """Return the parameters with some of them changed, by name.

        Raises
        ------
        InputError
            If there is no parameter of a name, or as for the class.
        """
        known = [field.name for field in fields(self)]
        for name in values:
            if name not in known:
                similar = difflib.get_close_matches(name, known, n=1)
                advice = f"write {similar[0]}, or " if similar else ""
                raise InputError(
                    "there is no such parameter",
                    field=name,
                    expected=f"{advice}choose one of {', '.join(known) or 'none'}",
                )
        return replace(self, **values)

    @property
    def sha256(self) -> str:
        """Hash of all values, by which the record of a run names them."""
        return content_sha256(asdict(self))

    @classmethod
    def meanings(cls) -> dict[str, str]:
        """Return the meaning of each parameter, from the docstring of the class."""
        return field_meanings(cls)


@dataclass(frozen=True, kw_only=True)
class NoParams(Params):
    """The parameters of a method that has none."""


ParamsGiven = Params | Mapping[str, object]
"""All parameters of a method in its own type, or some by name."""
