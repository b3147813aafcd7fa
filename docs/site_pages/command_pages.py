"""Pages of the command line: one for each command, from the help that it prints."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from jettison.cli.main import app

from . import command_outputs
from .page_text import SECTION, SUBSECTION, TITLE, heading, toctree, write_page


def write(folder: Path) -> None:
    """Write a page for each command, and one that lists them."""
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    context = typer.Context(group, info_name="jettison")
    names = group.list_commands(context)
    lines = []
    with tempfile.TemporaryDirectory() as made:
        printed = command_outputs.outputs(Path(made))
    for name in names:
        command = group.get_command(context, name)
        lines.append(f":doc:`{name}`\n   {_first_sentence(command.help)}")
        parts = _described(command, name, context, level=0)
        # Behind the heading, the usage and what it does, before the options.
        parts[3:3] = [_output(text) for text in printed.get(name, ())]
        write_page(folder / f"{name}.rst", *parts)
    write_page(
        folder / "index.rst",
        heading("The command line", TITLE),
        _prose(group.help),
        "\n\n".join(lines),
        toctree((name, name) for name in names),
    )


def _output(text: str) -> str:
    """Return a command and what it prints as a block."""
    return ".. code-block:: console\n\n" + "\n".join(
        f"   {line}".rstrip() for line in text.splitlines()
    )


def _described(command: Any, name: str, parent: typer.Context, level: int) -> list[str]:
    marks = (TITLE, SECTION, SUBSECTION)
    context = typer.Context(command, info_name=name, parent=parent)
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    parts = [
        heading(context.command_path, marks[level]),
        f".. code-block:: text\n\n   {usage}",
        _prose(command.help),
    ]
    records = [
        record for parameter in command.get_params(context) if (record := _help(parameter, context))
    ]
    if records:
        parts.append(
            "\n\n".join(f"``{term}``\n   {text or 'See above.'}" for term, text in records)
        )
    if isinstance(command, TyperGroup):
        for inner in command.list_commands(context):
            parts += _described(command.get_command(context, inner), inner, context, level + 1)
    return parts


def _help(parameter: Any, context: typer.Context) -> tuple[str, str] | None:
    record = parameter.get_help_record(context)
    if record is None:
        return None
    return record[0], _escaped(" ".join(record[1].split()))


def _first_sentence(text: str | None) -> str:
    return _escaped((text or "").strip().split("\n\n")[0].replace("\n", " "))


def _prose(text: str | None) -> str:
    """Return help as paragraphs; examples, which begin with the command, are printed as typed."""
    paragraphs = []
    for paragraph in (text or "").replace("\b\n", "").strip().split("\n\n"):
        joined = " ".join(paragraph.split())
        example = re.fullmatch(r"Examples?: (jettison .*)", joined)
        if example:
            commands = example[1].replace("; jettison ", "\njettison ").splitlines()
            paragraphs.append("\n   ".join((".. code-block:: sh\n", *commands)))
        else:
            paragraphs.append(_escaped(joined))
    return "\n\n".join(paragraphs)


def _escaped(text: str) -> str:
    """Return help text for reStructuredText, where `names` and | mean something else."""
    return re.sub(r"([*|\\_])", r"\\\1", text)
