"""Commands that draw an instance at random: their options are the fields of what is drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields
from enum import StrEnum
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any, Protocol, get_type_hints

import typer

from jettison.cli.arguments import checked_output
from jettison.cli.output import write_instance
from jettison.instances.catalog import Instance
from jettison.instances.core.field_meanings import field_meanings
from jettison.instances.core.link import Link, parse_link

SeedOption = Annotated[
    int, typer.Option("--seed", metavar="N", help="The same seed gives the same bytes anywhere.")
]
OutputOption = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", help="The instance to write (.json).")
]
_METAVARS = {"percent": "PERCENT", "ns": "NS", "bytes": "BYTES"}


class Drawn(Protocol):
    """A dataclass of parameters that draws an instance of a seed."""

    def draw(self, seed: int) -> Instance:
        """Return the instance of this seed."""
        ...


def drawing_command(parameters: Callable[..., Drawn], text: str) -> Callable[..., None]:
    """Return a command that draws an instance and writes it.

    A field ``most_ns`` becomes an option ``--most-ns`` of its type and default, and the docstring
    of the dataclass says what it means.

    Parameters
    ----------
    parameters
        A dataclass of numbers and enumerations.
    text
        What the command does: its help.
    """
    assert isinstance(parameters, type)
    meanings, hints = field_meanings(parameters), get_type_hints(parameters)
    options = [
        Parameter(
            field.name,
            Parameter.KEYWORD_ONLY,
            default=_typed(field.default),
            annotation=Annotated[
                str if hints[field.name] is Link else hints[field.name],
                _option(field.name, hints[field.name], meanings[field.name]),
            ],
        )
        for field in fields(parameters)
    ]
    options += [
        Parameter("output", Parameter.KEYWORD_ONLY, annotation=OutputOption),
        Parameter("seed", Parameter.KEYWORD_ONLY, default=0, annotation=SeedOption),
    ]

    def command(*, output: Path, seed: int, **values: Any) -> None:
        checked_output(output)
        read = {
            name: parse_link(value) if hints[name] is Link else value
            for name, value in values.items()
        }
        write_instance(parameters(**read).draw(seed), output)

    command.__doc__ = text
    command.__signature__ = Signature(options)  # type: ignore[attr-defined]
    command.__annotations__ = {option.name: option.annotation for option in options}
    return command


def _typed(default: Any) -> Any:
    """Return a default as somebody would type it."""
    if default is MISSING:
        return Parameter.empty
    return str(default) if isinstance(default, Link) else default


def _option(name: str, kind: object, meaning: str) -> Any:
    words = f"--{name.replace('_', '-')}"
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return typer.Option(words, help=meaning)
    if kind is Link:
        return typer.Option(words, metavar="RATE", help=meaning)
    return typer.Option(words, metavar=_METAVARS.get(name.rpartition("_")[2], "N"), help=meaning)
