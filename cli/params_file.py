"""File of ``--params``: a table of parameters for each method that is not to use its defaults."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path

from jettison.instances.core.errors import InputError
from jettison.instances.core.json_file import read_text
from jettison.solvers.core.params import ParamsGiven
from jettison.solvers.core.solve import checked_params

_EXPECTED = 'write a table for each method, such as "[rotor]", and "first_slots = 1000" below'


def read_params(
    path: Path | None, problem: str, methods: Collection[str]
) -> Mapping[str, ParamsGiven]:
    """Return the parameters of a file, by method; none without a file.

    Parameters
    ----------
    path
        The file.
    problem, methods
        The problem, and those of its methods that run.

    Raises
    ------
    InputError
        If it is no TOML, names a method that does not run or an unknown parameter, or a value is
        wrong; file, field and value are named.
    """
    if path is None:
        return {}
    source = str(path)
    try:
        document = tomllib.loads(read_text(path))
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"not TOML: {error}", source=source, expected=_EXPECTED) from None
    for name, values in document.items():
        if not isinstance(values, dict):
            raise InputError(f"{values!r:.100}", field=name, source=source, expected=_EXPECTED)
    try:
        checked_params(problem, document)
    except InputError as error:
        raise error.within(source=source) from None
    for name in document:
        if name not in methods:
            raise InputError(
                "the method does not run",
                field=name,
                source=source,
                expected=f"leave it out, or give parameters of {', '.join(methods)}",
            )
    return document
