"""`jettison profile`: measure a model, and write the instance that it is."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from jettison.cli.arguments import checked_output
from jettison.instances.catalog import save
from jettison.instances.errors import InputError
from jettison.instances.graph import Graph
from jettison.instances.link import parse_link
from jettison.instances.multi_model import MultiModel
from jettison.instances.provenance import Scalar
from jettison.instances.zoo.models import MODEL_NAMES

if TYPE_CHECKING:
    from jettison.instances.profilers.run import ProfileRun


class DeviceKind(StrEnum):
    """Where the model runs."""

    CPU = "cpu"
    CUDA = "cuda"


class InstanceKind(StrEnum):
    """What a model becomes."""

    CHAIN = "chain"
    GRAPH = "graph"
    MULTI_MODEL = "multi-model"


class Costs(StrEnum):
    """How durations of the operations of a graph are known."""

    MEASURED = "measured"
    ROOFLINE = "roofline"


KindOption = Annotated[
    InstanceKind,
    typer.Option(
        "--kind",
        help="Stages of a sequential model, all operations of any model's step, or those of "
        "several models fused.",
    ),
]
CostsOption = Annotated[
    Costs,
    typer.Option(
        "--costs",
        help="Of a graph: every operation run by itself, or a roofline of assumed A100 rates.",
    ),
]
ModelsOption = Annotated[
    int, typer.Option("--models", metavar="N", help="Of a multi-model instance.")
]
BandwidthOption = Annotated[
    str,
    typer.Option(
        "--bandwidth", metavar="RATE", help="Of the link of a multi-model instance, each way."
    ),
]
TargetArgument = Annotated[
    str,
    typer.Argument(
        metavar="TARGET",
        help=f"A model of the zoo ({', '.join(MODEL_NAMES)}), or module:function. The function "
        "returns an nn.Sequential, (model, input) or (model, input, loss).",
    ),
]
DeviceOption = Annotated[DeviceKind, typer.Option("--device", help="Where the model runs.")]
BatchOption = Annotated[
    int | None, typer.Option("--batch", metavar="N", help="Samples in one step.")
]
InputOption = Annotated[
    str | None,
    typer.Option(
        "--input", metavar="SHAPE", help="Of one sample: 3x224x224 for images, 128 for tokens."
    ),
]
OutputOption = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="The instance to write (.json); its name in this folder by default.",
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="An argument of the model, as often as needed: --set depth=12 for gpt2.",
    ),
]
RepeatsOption = Annotated[
    int, typer.Option("--repeats", metavar="N", help="Runs of each operation; the median counts.")
]
WarmupOption = Annotated[
    int, typer.Option("--warmup", metavar="N", help="Runs of each operation before those.")
]
ThreadsOption = Annotated[
    int,
    typer.Option(
        "--threads", metavar="N", help="CPU threads; one disturbs and is disturbed least."
    ),
]
SeedOption = Annotated[
    int, typer.Option("--seed", metavar="N", help="Seed of weights, inputs and labels.")
]


def profile(
    target: TargetArgument,
    device: DeviceOption = DeviceKind.CPU,
    batch: BatchOption = None,
    input_shape: InputOption = None,
    output: OutputOption = None,
    arguments: SetOption = None,
    repeats: RepeatsOption = 7,
    warmup: WarmupOption = 2,
    threads: ThreadsOption = 1,
    seed: SeedOption = 0,
    kind: KindOption = InstanceKind.CHAIN,
    costs: CostsOption = Costs.MEASURED,
    models: ModelsOption = 4,
    bandwidth: BandwidthOption = "25GB/s",
) -> None:
    """Measure a model, and write it as a chain, a graph, or several models that share a device.

    What is measured of a chain stands at once in a file beside the output, FILE.partial. A run that
    was stopped goes on from there when the same command is given again; with another target, device
    or version it starts anew.
    """
    checked_output(output)
    if threads < 1:
        raise InputError(f"{threads}", field="threads", expected="write a whole number from 1")
    shape = None if input_shape is None else _read_shape(input_shape)
    settings = _read_arguments(arguments or [])
    from jettison.instances.profilers.target import workload_of

    workload = workload_of(target, batch=batch, input_shape=shape, arguments=settings, seed=seed)
    from jettison.instances.profilers.run import ProfileRun

    run = ProfileRun(target, workload, device.value, warmup, repeats, threads)
    if kind is InstanceKind.CHAIN:
        _profile_chain(run, output or Path(f"{run.name}.json"))
        return
    line = _StageLine(run.name)
    try:
        if kind is InstanceKind.GRAPH:
            traced: Graph | MultiModel = run.graph(costs.value, line.show_operation)
        else:
            link = parse_link(bandwidth).bytes_per_s
            traced = run.multi_model(
                costs.value, line.show_operation, models=models, bandwidth=link
            )
    finally:
        line.close()
    path = output or Path(f"{traced.name}-{kind.value}.json")
    save(traced, path)
    sys.stderr.write(f"wrote {path}: {kind.value} {traced.name}, {len(traced)} operations\n")


def _profile_chain(run: ProfileRun, output: Path) -> None:
    line = _StageLine(run.name)
    partial = run.partial(output.with_name(f"{output.name}.partial"), line.show)
    if partial.differs_in:
        sys.stderr.write(
            f"{output}.partial is of another run ({', '.join(partial.differs_in)} differ): "
            "starting anew\n"
        )
    elif partial.measured:
        sys.stderr.write(f"going on after {len(partial.measured)} measured stages\n")
    try:
        chain = run.chain(partial)
    except KeyboardInterrupt:
        line.close()
        if partial.measured:
            sys.stderr.write(
                f"{len(partial.measured)} stages are in {output}.partial; "
                "the same command goes on from there\n"
            )
        raise
    finally:
        line.close()
    save(chain, output)
    partial.discard()
    sys.stderr.write(f"wrote {output}: chain {chain.name}, {len(chain)} stages\n")


class _StageLine:
    """One line on standard error that says which stage runs; silent when it is no terminal."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._is_terminal = sys.stderr.isatty()

    def show(self, number: int, count: int, stage: str) -> None:
        """Rewrite the line."""
        if self._is_terminal:
            sys.stderr.write(f"\r\x1b[K{self._label}: stage {number} of {count}, {stage}")
            sys.stderr.flush()

    def show_operation(self, name: str) -> None:
        """Rewrite the line for one operation of a graph."""
        if self._is_terminal:
            sys.stderr.write(f"\r\x1b[K{self._label}: operation {name}")
            sys.stderr.flush()

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self._is_terminal:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _read_shape(text: str) -> tuple[int, ...]:
    words = text.lower().split("x")
    if not all(word.isascii() and word.isdigit() and 0 < len(word) < 10 for word in words) or any(
        int(word) == 0 for word in words
    ):
        raise InputError(
            f"{text[:40]!r}", field="input", expected="write sizes from 1, such as 3x224x224 or 128"
        )
    return tuple(int(word) for word in words)


def _read_arguments(words: list[str]) -> dict[str, Scalar]:
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
            # Neither kind of number: a word, such as 3x3.
            continue
    return text
