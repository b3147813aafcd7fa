"""`jettison show`: one instance, in numbers."""

from __future__ import annotations

from jettison.cli.arguments import InstanceName, JsonOption
from jettison.cli.output import print_json, print_pairs
from jettison.instances.catalog import Instance, kind_of, load
from jettison.instances.core.link import Link
from jettison.instances.core.units import exact_bytes
from jettison.solvers.core.answers.rows import span
from jettison.solvers.core.registry import PROBLEM_KINDS


def show(instance: InstanceName, json: JsonOption = False) -> None:
    """Show an instance: times, memory, where it comes from.

    Example: jettison show gpt2-small-b8-1024-h200
    """
    loaded = load(instance)
    kind = kind_of(loaded)
    facts = {
        "name": loaded.name,
        "kind": loaded.kind,
        "sha256": loaded.sha256,
        **kind.facts(loaded),
        **_of_problems(loaded),
    }
    origin = loaded.provenance.to_json()
    if json:
        print_json({**facts, **kind.parts(loaded), "provenance": origin})
        return
    rows = [(name, _written(name, value)) for name, value in facts.items()]
    rows += kind.part_rows(loaded)
    origin.pop("spread", None)
    rows += [(name, _plain(value)) for name, value in origin.items()]
    print_pairs(rows)


def _of_problems(instance: Instance) -> dict[str, str | int]:
    """Return the numbers that problems compute of an instance, without converting it."""
    return {
        name: value
        for problem in PROBLEM_KINDS
        if isinstance(instance, problem.instances)
        for name, value in problem.facts(instance).items()
    }


def _written(name: str, value: str | int) -> str:
    if name.endswith("_bytes"):
        return exact_bytes(int(value))
    if name.endswith("_bytes_per_s"):
        return f"{Link(int(value))} ({value} bytes per second)"
    if name.endswith("_ns"):
        return span(int(value))
    return str(value)


def _plain(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_plain(entry)}" for name, entry in value.items())
    if isinstance(value, list):
        return "x".join(map(str, value))
    return str(value)
