"""Meanings of the fields of a dataclass, read from its docstring."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields

# In the section Attributes of a docstring: names at its margin, their meaning below, indented.
_ATTRIBUTES = re.compile(r"^Attributes\n-+\n(.*?)(?=^\w[^\n]*\n-+\n|\Z)", re.MULTILINE | re.DOTALL)
_ATTRIBUTE = re.compile(r"^(\w[\w, ]*)\n((?:[ ]+[^\n]*\n?|\n)+)", re.MULTILINE)


def field_meanings(cls: type) -> dict[str, str]:
    """Return what each field means, from the section Attributes; empty where nothing is said.

    Options of commands and the lists of parameters take their texts from here, so that they are
    written once. A class that inherits fields inherits what is said of them.
    """
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        section = _ATTRIBUTES.search(inspect.getdoc(base) or "")
        for names, meaning in _ATTRIBUTE.findall("" if section is None else section[1] + "\n"):
            for name in names.split(","):
                found[name.strip()] = " ".join(meaning.split())
    return {field.name: found.get(field.name, "") for field in fields(cls)}
