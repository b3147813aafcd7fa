"""Options that commands share, as dataclasses: each field becomes an option of the command."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, TypeGuard, get_type_hints

import typer

from jettison.cli.arguments import (
    AlphaOption,
    BandwidthOption,
    CardOption,
    ChunksOption,
    DevicesOption,
    HostMemoryOption,
    InstanceName,
    MemoryOption,
    MicrobatchesOption,
    ModelsOption,
    ProblemName,
    ResidentOption,
    TransfersOption,
    WeightCopiesOption,
)
from jettison.cli.output import ProgressLine
from jettison.cli.posed_problem import make_problem
from jettison.cli.search_log import SearchLog
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.problem import Problem
from jettison.solvers.core.resources import Resources


@dataclass(frozen=True, kw_only=True)
class ResourceOptions:
    """Options on memory, link, models and pipelines."""

    memory: MemoryOption = None
    alpha: AlphaOption = None
    card: CardOption = None
    resident: ResidentOption = None
    bandwidth: BandwidthOption = None
    transfers: TransfersOption = None
    models: ModelsOption = None
    devices: DevicesOption = None
    microbatches: MicrobatchesOption = None
    weight_copies: WeightCopiesOption = None
    chunks: ChunksOption = None
    host_memory: HostMemoryOption = None

    def resources(self) -> Resources:
        """Return the resources that they say."""
        return Resources(
            self.memory,
            self.alpha,
            self.bandwidth,
            self.transfers,
            self.models,
            self.devices,
            self.microbatches,
            self.weight_copies,
            self.chunks,
            self.host_memory,
            self.card,
            self.resident,
        )


@dataclass(frozen=True, kw_only=True)
class ProblemOptions(ResourceOptions):
    """A problem, an instance, and the options on its resources."""

    problem: ProblemName
    instance: InstanceName

    def posed(self) -> Problem:
        """Return the problem, as `make_problem` makes it."""
        return make_problem(self.problem, self.instance, self.resources())


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """Options on the limits of methods, on their parameters, and on what is told of a search."""

    params: Annotated[
        Path | None,
        typer.Option(
            "--params",
            metavar="FILE.toml",
            help="Parameters of methods, a table for each: see `jettison list methods PROBLEM -v`.",
        ),
    ] = None
    time_limit: Annotated[
        float,
        typer.Option("--time-limit", metavar="SECONDS", help="Wall-clock limit of each method."),
    ] = 60.0
    gap: Annotated[
        float,
        typer.Option(
            "--gap",
            metavar="SHARE",
            help="Stop when the bound leaves at most this share of the overhead open: "
            "(time - bound) / (time - base time).",
        ),
    ] = 0.0
    threads: Annotated[int, typer.Option("--threads", metavar="N", help="Solver threads.")] = 1
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the solver.")] = 0
    log: Annotated[
        bool,
        typer.Option(
            "--log",
            help="Write a line on standard error for each better schedule and larger bound.",
        ),
    ] = False

    def limits(self, **told: Any) -> SolveOptions:
        """Return the options of a solve, with what else it is told."""
        return SolveOptions(
            time_limit_s=self.time_limit, gap=self.gap, threads=self.threads, seed=self.seed, **told
        )

    def followed(self, posed: Problem, line: ProgressLine, **told: Any) -> SolveOptions:
        """Return the options of a solve that shows either its log or a progress line."""
        if not self.log:
            return self.limits(on_progress=line, **told)
        log = SearchLog(posed)
        return self.limits(**{"on_schedule": log.schedule, "on_bound": log.bound, **told})


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that has an option for each field of its parameters of dataclasses."""
    hints = get_type_hints(command, include_extras=True)
    groups = {name: hint for name, hint in hints.items() if _is_group(hint)}
    options = list(_options(signature(command), hints))

    @wraps(command)
    def grouped(**values: Any) -> None:
        for name, group in groups.items():
            own = {field.name: values.pop(field.name) for field in fields(group)}
            values[name] = group(**own)
        command(**values)

    grouped.__signature__ = Signature(options)  # type: ignore[attr-defined]
    grouped.__annotations__ = {option.name: option.annotation for option in options}
    return grouped


def _options(parameters: Signature, hints: dict[str, Any]) -> Iterator[Parameter]:
    for parameter in parameters.parameters.values():
        hint = hints[parameter.name]
        if not _is_group(hint):
            yield parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=hint)
            continue
        own = get_type_hints(hint, include_extras=True)
        for name, field in signature(hint).parameters.items():
            yield field.replace(annotation=own[name])


def _is_group(hint: Any) -> TypeGuard[type]:
    return isinstance(hint, type) and is_dataclass(hint)
