"""Lists of what each paper states, read from ``docs/papers`` and checked for what is missing.

A list is a TOML file for one paper. Its head says how far the paper numbers what it states
(``figure = "1-13"``); each ``[[entry]]`` is one of these, or an experiment or a claim in its text.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import pandas as pd

from jettison.instances.core.errors import InputError
from jettison.studies.checkout_folder import checkout_folder

# About two lines of a source file: an entry is looked at, and read about elsewhere.
LONGEST_TEXT = 200
HEAD = {"title", "source", "read", "notebook", "corrections", "numbered", "entry"}
TEXTS = {"kind", "number", "title", "status", "paper", "ours", "why"}
LISTS = {"where", "checked"}


class Kind(StrEnum):
    """Kind of statement, in the order of a page."""

    PROBLEM = "problem"
    ASSUMPTION = "assumption"
    ALGORITHM = "algorithm"
    EQUATION = "equation"
    LEMMA = "lemma"
    THEOREM = "theorem"
    FIGURE = "figure"
    TABLE = "table"
    EXPERIMENT = "experiment"
    CLAIM = "claim"


class Status(StrEnum):
    """Status of a statement: whether it is here as the paper has it."""

    REPRODUCED = "reproduced"
    IN_STRUCTURE = "in structure"
    NOT = "not"


@dataclass(frozen=True, slots=True)
class Entry:
    """Statement of a paper, and where it is here.

    Attributes
    ----------
    number
        Its number in the paper, or a range of them; empty where the paper has none.
    where
        Places: a file of the repository, with a name or a heading of it after ``#``, or a method
        as ``problem:method``.
    paper, ours
        Their number and ours; empty where there is none.
    why
        Why it is not reproduced, or what differs; empty where nothing does.
    checked
        Sentences on which `ours` rests, and of which a notebook named here computes the truth.
    """

    kind: Kind
    number: str
    title: str
    status: Status
    where: tuple[str, ...]
    paper: str
    ours: str
    why: str
    checked: tuple[str, ...]

    @property
    def name(self) -> str:
        """Its kind and number, as the paper calls it."""
        return f"{self.kind.capitalize()} {self.number}".strip()


@dataclass(frozen=True, slots=True)
class PaperList:
    """List of one paper.

    Attributes
    ----------
    name
        The stem of the file.
    read
        From what text the list was made, and what that text has lost.
    notebook, corrections
        The stem of its notebook, and its headings in ``docs/corrections.md``.
    """

    name: str
    title: str
    source: str
    read: str
    notebook: str
    corrections: tuple[str, ...]
    entries: tuple[Entry, ...]

    def of(self, kind: Kind) -> list[Entry]:
        """Return its entries of one kind, in their order."""
        return [entry for entry in self.entries if entry.kind is kind]

    def counts(self) -> Counter[Status]:
        """Return how many entries have each status."""
        return Counter(entry.status for entry in self.entries)

    def table(self) -> pd.DataFrame:
        """Return a row for each entry, in the order of its kinds: what notebooks show."""
        return pd.DataFrame(
            [
                {
                    "in the paper": f"{entry.name}. {entry.title}" if entry.number else entry.title,
                    "here": entry.status.value,
                    "paper": entry.paper,
                    "ours": entry.ours,
                    "what differs, or why not": entry.why,
                    "where": ", ".join(entry.where),
                }
                for kind in Kind
                for entry in self.of(kind)
            ]
        )


def found_paper(name: str) -> PaperList:
    """Return the list of one paper, from the checkout in or below which this process runs.

    Raises
    ------
    InputError
        If there is no such checkout or list, or the list is wrong.
    """
    return load_paper(checkout_folder("docs/papers") / f"{name}.toml")


def load_papers(root: Path) -> list[PaperList]:
    """Return the lists of all papers, in the order of their names."""
    return [load_paper(path) for path in sorted((root / "docs/papers").glob("*.toml"))]


def load_paper(path: Path) -> PaperList:
    """Read the list of one paper.

    Raises
    ------
    InputError
        If a field is missing, unknown or too long, a status lacks its reason, a number its
        counterpart, or the numbered statements of the head are not listed once each.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        check_fields(document, HEAD, HEAD, "")
        rows = document["entry"]
        entries = tuple(_entry(row, f"entry[{place}]") for place, row in enumerate(rows))
        for kind, numbers in document["numbered"].items():
            _check_listed(Kind(kind), numbers, entries)
    except InputError as error:
        raise error.within(source=path.name) from None
    except (tomllib.TOMLDecodeError, ValueError) as error:
        raise InputError(str(error), expected="see the lists beside it", source=path.name) from None
    head = {name: document[name] for name in ("title", "source", "read", "notebook")}
    return PaperList(path.stem, **head, corrections=(*document["corrections"],), entries=entries)


def numbers_in(text: str) -> list[str]:
    """Return the numbers of a text such as ``1, A-C``: 1, A, B and C."""
    found = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        first, _, last = part.partition("-")
        if not last:
            found.append(first)
        elif first.isdecimal():
            found += [str(number) for number in range(int(first), int(last) + 1)]
        else:
            found += [chr(code) for code in range(ord(first), ord(last) + 1)]
    return found


def check_fields(row: Mapping[str, Any], known: set[str], needed: set[str], field: str) -> None:
    """Refuse a table that has other fields than it may have, or lacks one.

    Raises
    ------
    InputError
        Of the first such field.
    """
    for name in sorted(row.keys() - known):
        raise InputError(
            f"unknown field {name!r}", expected=f"use {', '.join(sorted(known))}", field=field
        )
    for name in sorted(needed - row.keys()):
        raise InputError("is missing", expected="add it", field=f"{field}.{name}".strip("."))


def _entry(row: Mapping[str, Any], field: str) -> Entry:
    check_fields(row, TEXTS | LISTS, {"kind", "title", "status", "where"}, field)
    texts = {name: str(row.get(name, "")) for name in TEXTS - {"kind", "status"}}
    for name, text in texts.items():
        if len(text) > LONGEST_TEXT:
            raise InputError(
                f"has {len(text)} characters: {text!r}",
                expected=f"use at most {LONGEST_TEXT}",
                field=f"{field}.{name}",
            )
    kind, status = Kind(row["kind"]), Status(row["status"])
    entry = Entry(
        kind, status=status, **texts, where=(*row["where"],), checked=(*row.get("checked", ()),)
    )
    if status is Status.NOT:
        missing = "" if entry.why else "why"
    elif not entry.where:
        missing = "where"
    elif status is Status.IN_STRUCTURE and not entry.why:
        missing = "why"
    elif status is Status.REPRODUCED and entry.paper and not entry.ours:
        missing = "ours"
    else:
        missing = ""
    if missing:
        raise InputError(
            f"is empty for {entry.name!r}, {entry.title!r}",
            expected=f"say it where the status is {status.value!r}, or change the status",
            field=f"{field}.{missing}",
        )
    return entry


def _check_listed(kind: Kind, numbers: str, entries: tuple[Entry, ...]) -> None:
    listed = Counter(
        number for entry in entries if entry.kind is kind for number in numbers_in(entry.number)
    )
    for number in {**dict.fromkeys(numbers_in(numbers)), **listed}:
        known = number in numbers_in(numbers)
        if listed[number] != 1 or not known:
            raise InputError(
                f"{kind.value} {number} is listed {listed[number]} times"
                if known
                else f"{kind.value} {number} is listed, but is none of {numbers}",
                expected="list each that the paper numbers once",
                field=f"numbered.{kind.value}",
            )
