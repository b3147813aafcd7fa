"""`jettison list`: tables of instances, links, cards, problems, formulations and methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

from jettison.cli.arguments import JsonOption
from jettison.cli.listing.chosen_entries import chosen_entries
from jettison.cli.listing.entries import Entry, print_entries
from jettison.cli.listing.method_parameters import parameters_of, print_parameters
from jettison.cli.output import print_json, print_table
from jettison.instances.catalog import CatalogEntry, bundled_instances
from jettison.instances.core.errors import InputError
from jettison.instances.core.link import link_keys
from jettison.instances.core.measured_links import MEASURED_LINKS
from jettison.instances.core.named_cards import NAMED_CARDS
from jettison.instances.core.names import suggestion
from jettison.instances.core.units import format_bytes
from jettison.solvers.core.method import Method
from jettison.solvers.core.registry import PROBLEM_KINDS, find_kind

app = typer.Typer(help="List instances, links, cards, problems or methods.", no_args_is_help=True)


@app.command("instances", short_help="List the bundled instances, and where they were measured.")
def list_instances(
    kind: Annotated[
        str | None, typer.Option(metavar="KIND", help="Only this kind: chain, graph, ...")
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Only this device; a word of its name will do: A100, of A100-40 too.",
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            metavar="SOURCE",
            help="measured here, imported from those who measured it, or modelled.",
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """List the bundled instances: the device, and who measured it there, if anybody did.

    Measured: by jettison. Imported: measured and published by others. Modelled: computed from
    published totals or assumed rates of the device.

    Example: jettison list instances --source imported --device A100
    """
    entries = chosen_entries(bundled_instances(), kind=kind, device=device, source=source)
    if json:
        print_json({"instances": [_described(entry) for entry in entries]})
        return
    rows = [
        [
            entry.name,
            entry.kind,
            str(entry.size),
            str(entry.batch),
            entry.device_label,
            entry.origin,
        ]
        for entry in entries
    ]
    print_table(["name", "kind", " size", " batch", "device", "source"], rows)


def _described(entry: CatalogEntry) -> dict[str, object]:
    return {**asdict(entry), "input_shape": list(entry.input_shape), "origin": entry.origin}


@app.command("links", short_help="List the measured links that --bandwidth takes by name.")
def list_links(json: JsonOption = False) -> None:
    """List the links to the host that others have measured, with what was measured and by whom.

    Example: jettison list links
    """
    measured = MEASURED_LINKS.values()
    if json:
        print_json(
            {
                "links": [
                    {
                        "name": item.name,
                        **link_keys(item.link),
                        "device": item.device,
                        "measured": item.measured,
                        "source": item.source,
                    }
                    for item in measured
                ]
            }
        )
        return
    print_entries(
        "",
        [
            Entry(item.name, str(item.link), (item.device, item.measured, item.source))
            for item in measured
        ],
    )


@app.command("cards", short_help="List the cards that --card takes by name.")
def list_cards(json: JsonOption = False) -> None:
    """List the cards that --card takes by name, with the bytes usable on them, and who says so.

    Example: jettison list cards
    """
    cards = NAMED_CARDS.values()
    if json:
        print_json({"cards": [asdict(card) for card in cards]})
        return
    print_table(
        ["name", " usable", "device", "source"],
        [[card.name, format_bytes(card.usable_bytes), card.device, card.source] for card in cards],
    )


@app.command("problems")
def list_problems(json: JsonOption = False) -> None:
    """List the problems; the first method of each is its default.

    Example: jettison list problems --json
    """
    listed = {kind.name: [method.name for method in kind.methods()] for kind in PROBLEM_KINDS}
    if json:
        print_json(
            {
                "problems": [
                    {"name": kind.name, "summary": kind.summary, "methods": listed[kind.name]}
                    for kind in PROBLEM_KINDS
                ]
            }
        )
        return
    print_entries(
        "",
        [
            Entry(kind.name, "", (kind.summary, f"methods: {', '.join(listed[kind.name])}"))
            for kind in PROBLEM_KINDS
        ],
    )


@app.command("formulations", short_help="List the models that `jettison export` writes.")
def list_formulations(json: JsonOption = False) -> None:
    """List the models that `jettison export` writes; the first of each problem is its default.

    Example: jettison list formulations
    """
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
    print_entries("", [Entry(name, "", (", ".join(names),)) for name, names in listed.items()])


@app.command("methods", short_help="List the methods, what they promise, and their sources.")
def list_methods(
    problem: Annotated[
        str | None, typer.Argument(metavar="[PROBLEM]", help="List those of one problem only.")
    ] = None,
    promise: Annotated[
        str | None,
        typer.Option(
            metavar="WORD",
            help="Only those that promise this: exact, bracket, heuristic or bound; exact is "
            "exact-persistent as well, and so on.",
        ),
    ] = None,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose", "-v", help="Add the parameters (--params), with meaning and default."
        ),
    ] = False,
    json: JsonOption = False,
) -> None:
    """List every method with what it promises and where it comes from.

    The first method of a problem is its default.

    Example: jettison list methods remat-graph --promise exact
    """
    kinds = list(PROBLEM_KINDS) if problem is None else [find_kind(problem)]
    listed = {kind: _promising(kind.methods(), promise) for kind in kinds}
    if promise is not None and not any(listed.values()):
        known = sorted({str(method.promise) for kind in kinds for method in kind.methods()})
        raise InputError(
            f"{promise[:80]!r} is the promise of none of these methods",
            field="promise",
            expected=f"{suggestion(promise, known)}choose one of: {', '.join(known)}",
        )
    if json:
        print_json(
            {
                "methods": [
                    {
                        "name": method.name,
                        "problem": kind.name,
                        "promise": str(method.promise),
                        "source": method.source,
                        "summary": method.summary,
                        **({"params": parameters_of(method)} if verbose else {}),
                    }
                    for kind, methods in listed.items()
                    for method in methods
                ]
            }
        )
        return
    for place, (kind, methods) in enumerate((kind, own) for kind, own in listed.items() if own):
        if place:
            typer.echo()
        print_entries(
            f"{kind.name}: {kind.summary}",
            [
                Entry(
                    method.name, str(method.promise), (method.summary, f"Source: {method.source}")
                )
                for method in methods
            ],
        )
    if verbose:
        for kind, methods in listed.items():
            print_parameters(kind.name, methods)


def _promising(methods: Sequence[Method[Any]], promise: str | None) -> list[Method[Any]]:
    """Return the methods with a promise, or with one that narrows it to a class of schedules."""
    if promise is None:
        return list(methods)
    return [
        method
        for method in methods
        if method.promise == promise or method.promise.startswith(f"{promise}-")
    ]
