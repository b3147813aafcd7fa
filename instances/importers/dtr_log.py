"""Reader of the logs of dynamic tensor rematerialization: the operators of a training step.

A log is JSON, line by line: what a framework was asked to do, with the names that it gave to
tensors.

=================================  =================================================================
``CONSTANT`` NAME, ``MEMORY``      a parameter or an input, in memory throughout, and its bytes
``CALL`` NAME ARGS RESULT TIME     an operator, in nanoseconds; then for each result ``MEMORY`` and
                                   ``ALIAS``: the argument that it is a view of, or -1
``MUTATE`` NAME ARGS MUTATE TIME   an operator that writes the arguments at these places
``COPY`` DST SRC                   another name of a value
``COPY_FROM`` DST SRC              a name changes to another value
``RELEASE`` NAME                   a name is no longer used
``ANNOTATE`` ANNOTATION            START of the step, or of its BACKWARD pass; others are ignored
=================================  =================================================================

A view is another name of what it views, whose time does not count where all results are views. A
mutation makes new values, of the same sizes, in place of those named; the names of others stay with
the old ones, as for the authors' simulator. Numbers may be texts, as the authors write them.

Source: Kirisame et al., Dynamic Tensor Rematerialization, ICLR 2021,
github.com/uwsampl/dtr-prototype, ``simrd``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from jettison.instances.core.errors import InputError
from jettison.instances.core.json_file import parse_json
from jettison.instances.core.names import checked_name
from jettison.instances.core.units import checked_amount

_WHOLE = re.compile(r"-?[0-9]{1,20}")
_CALL = "write a CALL, then MEMORY and ALIAS of each of its results in turn"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedOperator:
    """Operator that ran; the values that it reads and makes have numbers. Constants have none."""

    name: str
    duration_ns: int
    inputs: tuple[int, ...]
    results: tuple[int, ...]
    backward: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedStep:
    """Training step as it was logged.

    Attributes
    ----------
    operators
        In the order in which they ran.
    value_bytes
        Size of each value.
    kept
        Values that have a name at the end.
    constant_bytes
        Size of all constants together.
    peak_bytes
        Peak of the logged program, which frees a value with its last name; with the constants.
    """

    operators: tuple[LoggedOperator, ...]
    value_bytes: tuple[int, ...]
    kept: frozenset[int]
    constant_bytes: int
    peak_bytes: int


def read_dtr_log(text: str) -> LoggedStep:
    """Read a log. Lines before START are passed over, where there is one. :math:`O(n)`.

    Raises
    ------
    InputError
        If a line is not JSON, no instruction or not complete, or uses a name that stands for
        nothing; the line is named.
    """
    lines = [
        _Line.parse(line, f"line {number}")
        for number, line in enumerate(text.split("\n"), start=1)
        if line.strip()
    ]
    starts = [place for place, line in enumerate(lines) if line.annotation == "START"]
    if len(starts) > 1:
        raise InputError(
            "a second START", field=lines[starts[1]].field, expected="give the log of one step"
        )
    first = starts[0] if starts else 0
    reader = _Reader(was_cut=first > 0)
    rest = iter(lines[first:])
    for line in rest:
        reader.follow(line, rest)
    return reader.step()


@dataclass(frozen=True, slots=True)
class _Line:
    """One line; `field` is its place in the file."""

    field: str
    entry: dict[str, Any]

    @classmethod
    def parse(cls, text: str, field: str) -> _Line:
        try:
            entry = parse_json(text, "")
        except InputError as error:
            raise error.within(prefix=field) from None
        if not isinstance(entry, dict) or not isinstance(entry.get("INSTRUCTION"), str):
            raise InputError(
                f"{text[:40]!r} is not an instruction",
                field=field,
                expected='write one object a line, with "INSTRUCTION" and what belongs to it',
            )
        return cls(field, entry)

    @property
    def instruction(self) -> str:
        return str(self.entry["INSTRUCTION"])

    @property
    def annotation(self) -> str | None:
        return self.text("ANNOTATION") if self.instruction == "ANNOTATE" else None

    def text(self, key: str) -> str:
        value = self.given(key, "write a name")
        if not isinstance(value, str):
            raise self.error(key, f"{str(value)[:40]!r} is not a text", "write a name")
        return value

    def texts(self, key: str) -> list[str]:
        value = self.given(key, "write a list of names")
        if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            raise self.error(key, f"{str(value)[:40]!r} is not a list of names", "write one")
        return value

    def whole(self, key: str) -> int:
        return self._whole(self.given(key, "write a whole number"), key)

    def amount(self, key: str, unit: str) -> int:
        return checked_amount(self.whole(key), f"{self.field}: {key}", unit)

    def places(self, key: str, among: list[str]) -> list[int]:
        """Return positions in a list of names, each once."""
        value = self.given(key, "write positions in ARGS")
        if not isinstance(value, list):
            raise self.error(key, f"{str(value)[:40]!r} is not a list", "write positions in ARGS")
        places = [self._whole(entry, key) for entry in value]
        for place in places:
            if not 0 <= place < len(among) or places.count(place) > 1:
                raise self.error(
                    key,
                    f"{place} is listed twice or is not an argument",
                    "write positions in ARGS, once",
                )
        return places

    def given(self, key: str, expected: str) -> Any:
        if key not in self.entry:
            raise self.error(key, "the field is missing", expected)
        return self.entry[key]

    def error(self, key: str, problem: str, expected: str) -> InputError:
        return InputError(problem, field=f"{self.field}: {key}", expected=expected)

    def _whole(self, value: object, key: str) -> int:
        if type(value) is int:
            return value
        if isinstance(value, str) and _WHOLE.fullmatch(value):
            return int(value)
        raise self.error(key, f"{str(value)[:40]!r} is not a whole number", "write digits")


@dataclass
class _Reader:
    """Names, values and operators after each line."""

    was_cut: bool
    value_of: dict[str, int] = field(default_factory=dict)
    names: Counter[int] = field(default_factory=Counter)
    sizes: list[int] = field(default_factory=list)
    constants: set[int] = field(default_factory=set)
    operators: list[LoggedOperator] = field(default_factory=list)
    stored_bytes: int = 0
    peak_bytes: int = 0
    backward: bool = False

    def follow(self, line: _Line, rest: Iterator[_Line]) -> None:
        match line.instruction:
            case "ANNOTATE":
                self.backward |= line.annotation == "BACKWARD"
            case "CONSTANT":
                name = line.text("NAME")
                value = len(self.sizes)
                self.sizes.append(_follower(rest, line, "MEMORY", name))
                self.constants.add(value)
                self._name(line, "NAME", name, value)
            case "COPY":
                self._name(
                    line, "DST", line.text("DST"), self._value(line, "SRC", line.text("SRC"))
                )
            case "COPY_FROM":
                value = self._value(line, "SRC", line.text("SRC"))
                self._rename(line.text("DST"), self._value(line, "DST", line.text("DST")), value)
            case "RELEASE":
                name = line.text("NAME")
                # What was made before START may be released after it.
                if name in self.value_of or not self.was_cut:
                    self._release(name, self._value(line, "NAME", name))
            case "CALL":
                self._call(line, rest)
            case "MUTATE":
                self._mutate(line)
            case other:
                raise line.error(
                    "INSTRUCTION",
                    f"{other[:40]!r} is not known",
                    "write CONSTANT, CALL, MUTATE, COPY, COPY_FROM, RELEASE or ANNOTATE; MEMORY "
                    "and ALIAS behind a CONSTANT or a CALL",
                )

    def step(self) -> LoggedStep:
        constant_bytes = sum(self.sizes[value] for value in self.constants)
        return LoggedStep(
            operators=tuple(self.operators),
            value_bytes=tuple(self.sizes),
            kept=frozenset(value for value, names in self.names.items() if names) - self.constants,
            constant_bytes=constant_bytes,
            peak_bytes=self.peak_bytes + constant_bytes,
        )

    def _call(self, line: _Line, rest: Iterator[_Line]) -> None:
        arguments, results = line.texts("ARGS"), line.texts("RESULT")
        values: list[int | None] = []
        sizes: list[int] = []
        for name in results:
            size_bytes = _follower(rest, line, "MEMORY", name)
            place = _follower(rest, line, "ALIAS", name)
            if place == -1:
                values.append(None)
                sizes.append(size_bytes)
            elif place < len(arguments):
                values.append(self._value(line, "ARGS", arguments[place]))
            else:
                raise line.error(
                    "RESULT", f"{name!r} is a view of argument {place}", "write a position in ARGS"
                )
        made = iter(self._run(line, arguments, sizes) if sizes or not results else ())
        for name, value in zip(results, values, strict=True):
            self._name(line, "RESULT", name, next(made) if value is None else value)

    def _mutate(self, line: _Line) -> None:
        arguments = line.texts("ARGS")
        names = [arguments[place] for place in line.places("MUTATE", arguments)]
        old = [self._value(line, "ARGS", name) for name in names]
        made = self._run(line, arguments, [self.sizes[value] for value in old])
        for name, value, new in zip(names, old, made, strict=True):
            self._rename(name, value, new)

    def _run(self, line: _Line, arguments: list[str], sizes: list[int]) -> range:
        """Add an operator; return its results."""
        reads = dict.fromkeys(self._value(line, "ARGS", name) for name in arguments)
        results = range(len(self.sizes), len(self.sizes) + len(sizes))
        self.sizes += sizes
        self.stored_bytes += sum(sizes)
        self.peak_bytes = max(self.peak_bytes, self.stored_bytes)
        self.operators.append(
            LoggedOperator(
                name=checked_name(line.text("NAME"), f"{line.field}: NAME")[:100],
                duration_ns=line.amount("TIME", "nanoseconds"),
                inputs=tuple(value for value in reads if value not in self.constants),
                results=tuple(results),
                backward=self.backward,
            )
        )
        return results

    def _value(self, line: _Line, key: str, name: str) -> int:
        if name not in self.value_of:
            raise line.error(
                key,
                f"{name[:40]!r} is not a name that is in use",
                "give the log from START on, complete",
            )
        return self.value_of[name]

    def _name(self, line: _Line, key: str, name: str, value: int) -> None:
        if name in self.value_of:
            raise line.error(key, f"{name[:40]!r} is in use", "release a name before it is reused")
        self.value_of[name] = value
        self.names[value] += 1

    def _release(self, name: str, value: int) -> None:
        del self.value_of[name]
        self.names[value] -= 1
        if not self.names[value] and value not in self.constants:
            self.stored_bytes -= self.sizes[value]

    def _rename(self, name: str, old: int, new: int) -> None:
        # First the new name: a value that is copied to itself stays.
        self.names[new] += 1
        self._release(name, old)
        self.value_of[name] = new


def _follower(rest: Iterator[_Line], line: _Line, instruction: str, name: str) -> int:
    """Return the number on the line of this instruction, which must come next."""
    following = next(rest, None)
    if following is None:
        raise InputError(
            f"there is no {instruction} of {name[:40]!r}", field=line.field, expected=_CALL
        )
    if following.instruction != instruction or following.entry.get("NAME") != name:
        raise InputError(
            f"{following.instruction[:40]!r} in place of {instruction} of {name[:40]!r}",
            field=following.field,
            expected=_CALL,
        )
    if instruction == "MEMORY":
        return following.amount("MEMORY", "bytes")
    place = following.whole("ALIAS")
    if place < -1:
        raise following.error("ALIAS", f"{place} is not an argument", "write a position, or -1")
    return place
