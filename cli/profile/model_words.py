"""Shape of a sample and arguments of a model, as they are written on the command line."""

from __future__ import annotations

from jettison.instances.core.errors import InputError
from jettison.instances.core.provenance import Scalar


def read_shape(text: str) -> tuple[int, ...]:
    """Read the shape of one sample, such as ``3x224x224``.

    Raises
    ------
    InputError
        If it is something else.
    """
    words = text.lower().split("x")
    if not all(word.isascii() and word.isdigit() and 0 < len(word) < 10 for word in words) or any(
        int(word) == 0 for word in words
    ):
        raise InputError(
            f"{text[:40]!r}", field="input", expected="write sizes from 1, such as 3x224x224 or 128"
        )
    return tuple(int(word) for word in words)


def read_arguments(words: list[str]) -> dict[str, Scalar]:
    """Read arguments of a model, such as ``depth=12``.

    Raises
    ------
    InputError
        If a word is something else, or a name stands twice.
    """
    found: dict[str, Scalar] = {}
    for word in words:
        name, sign, text = word.partition("=")
        if not sign or not name.isidentifier() or name in found:
            raise InputError(
                f"{word[:40]!r}", field="set", expected="write each name once, as in depth=12"
            )
        found[name] = _read_value(text)
    return found


def _read_value(text: str) -> Scalar:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            # Not a number but a word, such as 3x3.
            continue
    return text
