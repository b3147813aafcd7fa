"""The example in the help of each command is one that the command takes."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from jettison.cli.main import app

# Typer's own classes: it brings its parser with it.
ROOT: Any = typer.main.get_command(app)


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if hasattr(command, "commands"):
        for name, part in command.commands.items():
            yield from commands(part, (*path, name))
    else:
        yield path


def found(path: tuple[str, ...]) -> Any:
    command = ROOT
    for name in path:
        command = command.commands[name]
    return command


@pytest.mark.parametrize("path", list(commands(ROOT)), ids=" ".join)
def test_the_help_has_an_example_with_arguments_and_options_that_there_are(
    path: tuple[str, ...],
) -> None:
    text = " ".join((found(path).help or "").split())
    _, _, examples = text.partition(" Example")
    assert examples, f"the help of {' '.join(path)} has no example"
    for example in examples.split(": ", 1)[1].split("; "):
        program, *words = shlex.split(example)
        assert (program, *words[: len(path)]) == ("jettison", *path)
        context = found(path).make_context("jettison", words[len(path) :])
        assert context.params
