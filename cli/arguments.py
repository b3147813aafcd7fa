"""Arguments and options that mean the same in every command."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from jettison.instances.catalog import load
from jettison.instances.chain import Chain
from jettison.instances.chain_to_graph import chain_to_graph, graph_memory_bytes
from jettison.instances.errors import InputError
from jettison.instances.graph import Graph
from jettison.instances.remat_chain import RematChain
from jettison.instances.remat_graph import RematGraph
from jettison.solvers.methods import PROBLEMS
from jettison.solvers.outcome import Problem

ProblemName = Annotated[
    str, typer.Argument(metavar="PROBLEM", help=f"One of {', '.join(PROBLEMS)}.")
]
InstanceName = Annotated[
    str,
    typer.Argument(
        metavar="INSTANCE", help="Name of a bundled instance (`jettison list instances`) or a file."
    ),
]
MemoryOption = Annotated[
    str,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="An amount (4GiB), a share of the no-saving peak (50%), or alpha=0.2 for chains.",
    ),
]
MethodOption = Annotated[
    str | None,
    typer.Option("--method", metavar="NAME", help="See `jettison list methods`."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
TimeLimitOption = Annotated[
    float, typer.Option("--time-limit", metavar="SECONDS", help="Wall-clock limit of each method.")
]
GapOption = Annotated[
    float,
    typer.Option(
        "--gap", metavar="SHARE", help="Stop at this relative gap: (time - bound) / time."
    ),
]
ThreadsOption = Annotated[int, typer.Option("--threads", metavar="N", help="Solver threads.")]
SeedOption = Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the solver.")]


def make_problem(problem: str, instance: str, memory: str) -> Problem:
    """Load the instance and make the problem; a chain given to remat-graph becomes its graph.

    Raises
    ------
    InputError
        If the problem is unknown, the instance cannot be loaded, or the memory cannot be read.
    """
    if problem not in PROBLEMS:
        raise InputError(
            f"{problem!r} is not a problem",
            field="PROBLEM",
            expected=f"choose one of {', '.join(PROBLEMS)}",
        )
    loaded = load(instance)
    if problem == RematChain.problem:
        return RematChain(_expect_chain(loaded), memory)
    if isinstance(loaded, Chain):
        reserve = graph_memory_bytes(loaded, 0)
        sys.stderr.write(
            f"note: {loaded.name} is a chain; using its graph, whose limit and peaks are larger "
            f"by {reserve} bytes\n"
        )
        limit = graph_memory_bytes(loaded, RematChain(loaded, memory).memory_bytes)
        return RematGraph(chain_to_graph(loaded), limit)
    return RematGraph(loaded, memory)


def _expect_chain(instance: Chain | Graph) -> Chain:
    if isinstance(instance, Graph):
        raise InputError(
            f"{instance.name} is a graph",
            field="INSTANCE",
            expected="give a chain, or use remat-graph",
        )
    return instance


def checked_picture(path: Path | None) -> Path | None:
    """Refuse a picture that cannot be written before the work starts.

    Raises
    ------
    InputError
        If the suffix is not that of a picture, or the folder does not exist.
    """
    if path is not None:
        from jettison.schedules.picture_file import check_picture_path

        check_picture_path(path)
    return path


def checked_output(path: Path | None) -> Path | None:
    """Refuse an output file whose folder does not exist before the work starts.

    Raises
    ------
    InputError
        If the folder does not exist.
    """
    if path is not None and not path.parent.is_dir():
        raise InputError(
            "the folder does not exist", source=str(path), expected="create it, or choose another"
        )
    return path
