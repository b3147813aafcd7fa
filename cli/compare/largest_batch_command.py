"""`jettison largest-batch`: the largest batch that a memory allows at a bounded cost."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Annotated

import typer

from jettison.cli.arguments import CardOption, JsonOption, MethodOption, ResidentOption
from jettison.cli.exit_status import ExitStatus
from jettison.cli.option_groups import SearchOptions, with_groups
from jettison.cli.output import ProgressLine, print_json, print_table
from jettison.cli.params_file import read_params
from jettison.cli.posed_problem import check_options
from jettison.instances.core.card import Card
from jettison.instances.core.errors import InputError
from jettison.instances.core.memory import Amount
from jettison.instances.core.units import format_bytes, format_ns, parse_bytes, percent
from jettison.instances.generators.training_networks import NETWORKS
from jettison.instances.generators.training_step import LARGEST_BATCH
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.solvers.core.registry import find_kind, find_method
from jettison.solvers.core.resources import Resources
from jettison.studies.largest_batch import BatchTrial, LargestBatch, largest_batch

_PROBLEM = RematGraph.problem
_PASSES = re.compile(r"[0-9]{1,6}(\.[0-9]{1,9}|/[1-9][0-9]{0,5})?", re.ASCII)


@with_groups
def largest_batch_command(
    network: Annotated[
        str, typer.Argument(metavar="NETWORK", help=f"One of {', '.join(NETWORKS)}.")
    ],
    search: SearchOptions,
    memory: Annotated[
        str | None,
        typer.Option("--memory", metavar="SIZE", help="An amount for the values, such as 12GiB."),
    ] = None,
    card: CardOption = None,
    resident: ResidentOption = None,
    extra_passes: Annotated[
        str,
        typer.Option(
            "--extra-passes",
            metavar="X",
            help="Largest overhead of a step, in forward passes.",
        ),
    ] = "1",
    most: Annotated[
        int, typer.Option("--most", metavar="B", help="The largest batch to try.")
    ] = LARGEST_BATCH,
    method: MethodOption = None,
    json: JsonOption = False,
) -> None:
    """Find the largest batch of a network that a memory allows at a bounded cost.

    A batch counts if its step takes at most one forward pass longer than without recomputation, or
    --extra-passes of them. The last line has the largest batch found and the smallest one that is
    proved impossible. The networks are those of `jettison generate training-graph`; their
    parameters are not counted: give their bytes with --resident if the memory is a card.

    Examples: jettison largest-batch vgg-19 --memory 14GiB; jettison largest-batch vgg-19 --card
    v100-16 --resident 1600MiB
    """
    make = _network(network)
    amount = _amount(memory, card, resident)
    passes = _passes(extra_passes)
    if not 1 <= most <= LARGEST_BATCH:
        raise InputError(f"{most}", field="most", expected=f"write 1 to {LARGEST_BATCH}")
    chosen = find_method(_PROBLEM, method).name
    tuning = read_params(search.params, _PROBLEM, [chosen])
    line = ProgressLine(f"{network} {chosen}")
    try:
        found = largest_batch(
            lambda batch: RematGraph(make(batch), amount),
            most=most,
            extra_passes=passes,
            method=chosen,
            options=search.limits(on_progress=line),
            params=tuning.get(chosen),
        )
    finally:
        line.close()
    if json:
        print_json(_document(found))
    else:
        _print(found, network)
    raise typer.Exit(_status(found))


def _network(name: str) -> Callable[[int], Graph]:
    if name not in NETWORKS:
        raise InputError(name, field="network", expected=f"name one of {', '.join(NETWORKS)}")
    return NETWORKS[name]


def _amount(text: str | None, card: str | None, resident: str | None) -> Amount | Card:
    resources = Resources(text, card=card, resident=resident)
    check_options(find_kind(_PROBLEM), resources)
    if card is not None:
        return Card(card, resident)
    # A share of the peak would be another amount for each batch.
    try:
        return Amount(parse_bytes(resources.memory_text))
    except InputError as error:
        raise InputError(
            error.problem, field="memory", expected="write one amount for all, such as 12GiB"
        ) from None


def _passes(text: str) -> Fraction:
    if not _PASSES.fullmatch(text):
        raise InputError(
            f"{text[:40]!r}",
            field="extra_passes",
            expected="write a number from 0 on, such as 1, 0.5 or 1/3",
        )
    return Fraction(text)


def _document(found: LargestBatch) -> dict[str, object]:
    best, refuted = found.best, found.refuted
    return {
        "largest_batch": None if best is None else best.batch,
        "at_most": found.at_most,
        "refuted_for": None if refuted is None else str(refuted.refuted_for),
        "settled": found.is_settled,
        "trials": [
            {
                "batch": trial.batch,
                "limit_ns": trial.limit_ns,
                "within": trial.is_within,
                "refuted_for": None if trial.refuted_for is None else str(trial.refuted_for),
                **trial.result.to_json(),
            }
            for trial in found.trials
        ],
    }


def _print(found: LargestBatch, network: str) -> None:
    first = found.trials[0].result
    columns = [" batch", " time", " limit", " overhead", " peak", "answer"]
    rows = [
        [
            f"{trial.batch}",
            "-" if trial.result.time_ns is None else format_ns(trial.result.time_ns),
            format_ns(trial.limit_ns),
            _overhead(trial),
            "-" if trial.result.peak_bytes is None else format_bytes(trial.result.peak_bytes),
            _answer(trial),
        ]
        for trial in found.trials
    ]
    title = f"{network} by {first.method} in {format_bytes(first.problem.memory_bytes)}"
    print_table(columns, rows, title=title)
    best, refuted = found.best, found.refuted
    said = "no batch within the limit was found" if best is None else f"largest: {best.batch}"
    if refuted is not None:
        said += f"; {refuted.batch} and more cannot be ({refuted.refuted_for})"
    elif found.is_settled:
        said += ", the largest asked about"
    else:
        said += "; larger ones are not ruled out"
    typer.echo(said)


def _overhead(trial: BatchTrial) -> str:
    time_ns, base_ns = trial.result.time_ns, trial.result.problem.base_time_ns
    return "-" if time_ns is None or base_ns == 0 else percent(time_ns / base_ns - 1)


def _answer(trial: BatchTrial) -> str:
    if trial.is_within:
        return "within the limit"
    if trial.refuted_for is not None:
        return f"impossible ({trial.refuted_for})"
    return "not known"


def _status(found: LargestBatch) -> ExitStatus:
    if found.best is None:
        return ExitStatus.INFEASIBLE if found.is_settled else ExitStatus.NO_SCHEDULE
    return ExitStatus.DONE if found.is_settled else ExitStatus.LIMIT_WITH_SCHEDULE
