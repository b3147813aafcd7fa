"""`jettison list`: tables of instances, problems, formulations and methods."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from jettison.cli.arguments import JsonOption
from jettison.cli.output import print_json, print_table
from jettison.instances.catalog import bundled_instances
from jettison.solvers.core.method import Method
from jettison.solvers.core.registry import PROBLEM_KINDS, find_kind

app = typer.Typer(help="List instances, problems or methods.", no_args_is_help=True)


@app.command("instances", short_help="List the bundled instances, and where they were measured.")
def list_instances(json: JsonOption = False) -> None:
    """List the bundled instances, with the device that they were measured on."""
    entries = bundled_instances()
    if json:
        print_json(
            {
                "instances": [
                    {
                        "name": entry.name,
                        "kind": entry.kind,
                        "size": entry.size,
                        "device": entry.device,
                        "device_kind": entry.device_kind,
                        "model": entry.model,
                        "batch": entry.batch,
                        "input_shape": list(entry.input_shape),
                        "source": entry.source,
                        "file_sha256": entry.file_sha256,
                        "instance_sha256": entry.instance_sha256,
                    }
                    for entry in entries
                ]
            }
        )
        return
    rows = [
        [
            entry.name,
            entry.kind,
            str(entry.size),
            entry.model,
            str(entry.batch),
            "x".join(str(size) for size in entry.input_shape),
            f"{entry.device_kind}: {entry.device}",
            entry.source,
        ]
        for entry in entries
    ]
    print_table(
        ["name", "kind", " size", "model", " batch", "input", "measured on", "source"], rows
    )


@app.command("problems")
def list_problems(json: JsonOption = False) -> None:
    """List the problems; the first method of each is its default."""
    listed = {kind.name: [method.name for method in kind.methods()] for kind in PROBLEM_KINDS}
    if json:
        print_json(
            {"problems": [{"name": name, "methods": names} for name, names in listed.items()]}
        )
        return
    print_table(
        ["problem", "methods"], [[name, ", ".join(methods)] for name, methods in listed.items()]
    )


@app.command("formulations", short_help="List the models that `jettison export` writes.")
def list_formulations(json: JsonOption = False) -> None:
    """List the models that `jettison export` writes; the first of each problem is its default."""
    listed = {
        kind.name: list(kind.model_files().formulations)
        for kind in PROBLEM_KINDS
        if kind.model_files is not None
    }
    if json:
        print_json(
            {"problems": [{"name": name, "formulations": names} for name, names in listed.items()]}
        )
        return
    print_table(
        ["problem", "formulations"], [[name, ", ".join(names)] for name, names in listed.items()]
    )


@app.command("methods", short_help="List the methods, what they promise, and their sources.")
def list_methods(
    problem: Annotated[
        str | None, typer.Argument(metavar="[PROBLEM]", help="List those of one problem only.")
    ] = None,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose", "-v", help="Add the parameters (--params), with meaning and default."
        ),
    ] = False,
    json: JsonOption = False,
) -> None:
    """List every method with what it promises and where it comes from."""
    kinds = list(PROBLEM_KINDS) if problem is None else [find_kind(problem)]
    listed = [(kind.name, method) for kind in kinds for method in kind.methods()]
    if json:
        print_json(
            {
                "methods": [
                    {
                        "name": method.name,
                        "problem": problem,
                        "promise": str(method.promise),
                        "source": method.source,
                        "summary": method.summary,
                        **({"params": _params(method)} if verbose else {}),
                    }
                    for problem, method in listed
                ]
            }
        )
        return
    rows = [
        [problem, method.name, str(method.promise), method.summary, method.source]
        for problem, method in listed
    ]
    print_table(["problem", "method", "promise", "what it does", "source"], rows)
    if verbose:
        tuned = [
            [name, method.name, entry["name"], f"{entry['default']}", entry["meaning"]]
            for name, method in listed
            for entry in _params(method)
        ]
        print_table(["problem", "method", "parameter", " default", "what it means"], tuned)


def _params(method: Method[Any]) -> list[dict[str, Any]]:
    """Return the parameters of a method."""
    meanings = method.params.meanings()
    return [
        {"name": name, "default": value, "meaning": meanings[name]}
        for name, value in asdict(method.params).items()
    ]
