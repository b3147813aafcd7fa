"""`jettison profile`: measure a model, and write it as an instance."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from importlib import util
from pathlib import Path
from typing import Annotated, Any

import typer

from jettison.cli.arguments import JsonOption, checked_output, read_mesh
from jettison.cli.output import write_instance
from jettison.cli.profile.compared_profiles import ComparedProfiles
from jettison.cli.profile.model_words import read_arguments, read_shape
from jettison.cli.profile.stage_line import StageLine
from jettison.instances.catalog import Instance
from jettison.instances.core.errors import InputError, MissingExtraError
from jettison.instances.core.link import parse_link
from jettison.instances.core.parameter_gradients import ParameterGradients
from jettison.instances.multi_model.instance import MultiModel
from jettison.instances.profilers.cost_check import CostCheck, DoubtfulCostsError
from jettison.instances.profilers.device.rates import A100, NAMED_RATES, parse_rates
from jettison.instances.profilers.settings import ProfileSettings
from jettison.instances.profilers.torch_chains.partial_profile import PartialProfile
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.tensor_programs.program_names import NAMES, program_of
from jettison.instances.tensor_programs.tensor_program import TensorProgram
from jettison.instances.zoo.models import MODEL_NAMES


class DeviceKind(StrEnum):
    """Device on which the model runs."""

    CPU = "cpu"
    CUDA = "cuda"


class InstanceKind(StrEnum):
    """Kind of instance that a model becomes."""

    CHAIN = "chain"
    GRAPH = "graph"
    MULTI_MODEL = "multi-model"
    SHARDING = "sharding"


class Costs(StrEnum):
    """Source of the durations of operations."""

    MEASURED = "measured"
    ROOFLINE = "roofline"


KindOption = Annotated[
    InstanceKind,
    typer.Option(
        "--kind",
        help="Stages of a sequential model, all operations of any model's step, those of several "
        "models fused, or every strategy of every operation on a mesh.",
    ),
]
CostsOption = Annotated[
    Costs,
    typer.Option(
        "--costs",
        help="Run every stage or operation by itself, or run nothing and take a roofline of "
        "--rates: sizes are exact, durations are modelled, and no memory is too small.",
    ),
]
RatesOption = Annotated[
    str | None,
    typer.Option(
        "--rates",
        metavar="DEVICE",
        help=f"Rates of a roofline: {' or '.join(NAMED_RATES)}, by default a100; or one's own, "
        "14TFLOP/s,900GB/s,3us.",
    ),
]
ModelsOption = Annotated[
    int, typer.Option("--models", metavar="N", help="Number of models of a multi-model instance.")
]
BandwidthOption = Annotated[
    str,
    typer.Option(
        "--bandwidth",
        metavar="RATE",
        help="Bandwidth of the link of a multi-model instance, each way.",
    ),
]
TargetArgument = Annotated[
    str,
    typer.Argument(
        metavar="TARGET",
        help=f"A model of the zoo ({', '.join(MODEL_NAMES)}), or module:function. The function "
        "returns an nn.Sequential, (model, input) or (model, input, loss), the input a tensor, a "
        "tuple or a mapping of arguments; or, for a step in JAX, "
        f"(loss, parameters, inputs). For sharding also a tensor program: {NAMES}; or its file.",
    ),
]
DeviceOption = Annotated[DeviceKind, typer.Option("--device", help="Where the model runs.")]
BatchOption = Annotated[
    int | None, typer.Option("--batch", metavar="N", help="Samples in one step.")
]
InputOption = Annotated[
    str | None,
    typer.Option(
        "--input",
        metavar="SHAPE",
        help="Shape of one sample: 3x224x224 for images, 128 for tokens.",
    ),
]
OutputOption = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="The instance to write (.json); by default a file of its name in this folder.",
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
    int,
    typer.Option(
        "--repeats", metavar="N", help="Runs of each operation; the lower quartile counts."
    ),
]
WarmupOption = Annotated[
    int, typer.Option("--warmup", metavar="N", help="Runs of each operation that do not count.")
]
ThreadsOption = Annotated[
    int,
    typer.Option("--threads", metavar="N", help="CPU threads; measurements vary least with one."),
]
GradientsOption = Annotated[
    ParameterGradients,
    typer.Option(
        "--gradients",
        help="Gradients of parameters, for a chain: new in each step, as after zero_grad(), or "
        "accumulated.",
    ),
]
TrustOption = Annotated[
    bool,
    typer.Option(
        "--trust",
        help="Write durations without a check. Otherwise none are written that are more than 25 % "
        "apart from whole steps in sum, or 10 % from what the same operations take at the end.",
    ),
]
CompareOption = Annotated[
    Path | None,
    typer.Option(
        "--compare-with",
        metavar="FILE",
        help="An earlier profile of the same model, by any program. If all durations together are "
        "more than 10 % apart, none are written, unless --trust is given. What the output file "
        "holds already is compared in any case.",
    ),
]
MeshOption = Annotated[
    str | None,
    typer.Option("--mesh", metavar="SHAPE", help="For sharding: 4 or 2x4, nodes x devices."),
]
SlowdownOption = Annotated[
    int,
    typer.Option(
        "--slowdown", metavar="N", help="For sharding: divisor of the assumed bandwidths."
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
    gradients: GradientsOption = ParameterGradients.NEW,
    costs: CostsOption = Costs.MEASURED,
    rates: RatesOption = None,
    models: ModelsOption = 4,
    bandwidth: BandwidthOption = "25GB/s",
    mesh: MeshOption = None,
    slowdown: SlowdownOption = 1,
    compare_with: CompareOption = None,
    trust: TrustOption = False,
    json: JsonOption = False,
) -> None:
    """Measure a model, and write it as a chain, a graph, fused models, or shards of a mesh.

    Measurements are kept in a file beside the output, FILE.partial. A run that was stopped goes on
    from there when the same command is given again; with another target, device or version it
    starts again.

    Example: jettison profile gpt2-tiny --kind chain --batch 1 --input 64 -o tiny.json
    """
    checked_output(output)
    if rates is not None and costs is Costs.MEASURED:
        raise InputError(
            f"{rates} is given, and durations are measured",
            field="rates",
            expected="write --costs roofline as well, or leave --rates out",
        )
    compared = _compared(compare_with, costs, kind, trust=trust)
    settings = ProfileSettings(
        device=device.value,
        warmup=warmup,
        repeats=repeats,
        threads=threads,
        gradients=gradients,
        rates=A100 if rates is None else parse_rates(rates),
        check=CostCheck.TRUST if trust else CostCheck.REFUSE,
    )
    shape = None if input_shape is None else read_shape(input_shape)
    chosen = read_arguments(arguments or [])
    from jettison.instances.profilers.shards.jax_step import JaxStep
    from jettison.instances.profilers.target import workload_of

    if kind is InstanceKind.SHARDING and ":" not in target:
        program = program_of(target)
        _profile_sharding(program, read_mesh(mesh), slowdown, costs, settings, output, json)
        return
    workload = workload_of(target, batch=batch, input_shape=shape, arguments=chosen, seed=seed)
    if isinstance(workload, JaxStep):
        from jettison.instances.profilers.shards.jax_run import JaxRun

        steps = JaxRun(target, workload, settings)
        if kind is InstanceKind.SHARDING:
            _profile_sharding(
                steps.program, read_mesh(mesh), slowdown, costs, settings, output, json
            )
            return
        if kind is not InstanceKind.GRAPH:
            raise InputError(
                f"a step in JAX is no {kind}", field="kind", expected="write graph or sharding"
            )
        path = output or Path(f"{steps.name}-graph.json")
        line = StageLine(steps.name)
        operations = steps.operations(_beside(path))
        with _going_on(operations, path, line, "operations"):
            graph = steps.graph(costs.value, operations, line.show_operation)
            compared.settle(graph, path)
        _finish(graph, path, operations, with_json=json)
        return
    if kind is InstanceKind.SHARDING:
        raise InputError(
            "its operations have no axes",
            field="target",
            expected="for sharding name a tensor program or a step in JAX",
        )
    from jettison.instances.profilers.profile_run import ProfileRun

    run = ProfileRun(target, workload, settings)
    line = StageLine(run.name)
    if kind is InstanceKind.CHAIN and costs is Costs.ROOFLINE:
        path = output or Path(f"{run.instance_name(costs.value)}.json")
        write_instance(run.modelled_chain(), path, with_json=json)
        return
    if kind is InstanceKind.CHAIN:
        path = output or Path(f"{run.name}.json")
        stages = run.stages(_beside(path))
        with _going_on(stages, path, line, "stages"):
            chain = run.chain(stages, line.show)
            compared.settle(chain, path)
        _finish(chain, path, stages, with_json=json)
        return
    if kind is InstanceKind.GRAPH:
        name = run.instance_name(costs.value)
    else:
        name = run.multi_model_name(costs.value, models)
    path = output or Path(f"{name}-{kind}.json")
    operations = run.operations(_beside(path), kind.value)
    with _going_on(operations, path, line, "operations"):
        traced: Graph | MultiModel
        if kind is InstanceKind.GRAPH:
            traced = run.graph(costs.value, operations, line.show_operation)
        else:
            link = parse_link(bandwidth).bytes_per_s
            traced = run.multi_model(
                costs.value, operations, line.show_operation, models=models, bandwidth=link
            )
        compared.settle(traced, path)
    _finish(traced, path, operations, with_json=json)


def _compared(
    compare_with: Path | None, costs: Costs, kind: InstanceKind, *, trust: bool
) -> ComparedProfiles:
    """Return what a profile will be compared with, which is read before anything is measured."""
    if compare_with is not None and (costs is not Costs.MEASURED or kind is InstanceKind.SHARDING):
        raise InputError(
            f"{compare_with} is given, and what is made is a {costs} of a {kind}",
            field="compare-with",
            expected="compare measured durations of a chain, a graph or fused models",
        )
    return ComparedProfiles.of(compare_with, is_measured=costs is Costs.MEASURED, trust=trust)


def _profile_sharding(
    program: TensorProgram,
    mesh: tuple[int, ...],
    slowdown: int,
    costs: Costs,
    settings: ProfileSettings,
    output: Path | None,
    with_json: bool,
) -> None:
    if costs is not Costs.MEASURED:
        raise InputError(
            f"{costs}",
            field="costs",
            expected="use `jettison generate sharded-graph` for assumed rates",
        )
    if util.find_spec("torch") is None:
        raise MissingExtraError("PyTorch", "torch", "measuring the strategies of a mesh")
    from jettison.instances.profilers.shards.sharding_run import ShardingRun
    from jettison.solvers.remat_sharding.fastest_plan import with_fastest

    run = ShardingRun(program, mesh, slowdown, settings)
    line = StageLine(run.name)
    path = output or Path(f"{run.name}.json")
    operations = run.operations(_beside(path))
    with _going_on(operations, path, line, "shares of operations"):
        graph = run.graph(operations, line.show_operation)
    # Shares of memory refer to the fastest plan.
    _finish(with_fastest(graph), path, operations, with_json=with_json)


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.partial")


@contextmanager
def _going_on(
    partial: PartialProfile[Any], path: Path, line: StageLine, what: str
) -> Iterator[None]:
    """Report the measurements that an earlier run left and, if this one is stopped, its own."""
    if partial.differs_in:
        sys.stderr.write(
            f"{path}.partial is of another run ({', '.join(partial.differs_in)} differ): "
            "starting anew\n"
        )
    elif partial.measured:
        sys.stderr.write(f"going on after {len(partial.measured)} measured {what}\n")
    try:
        yield
    except DoubtfulCostsError as error:
        line.close()
        sys.stderr.write(
            f"the measurements are in {path}.partial: the same command with --trust writes them; "
            "remove that file to measure again\n"
        )
        raise error from None
    except KeyboardInterrupt:
        line.close()
        if partial.measured:
            sys.stderr.write(
                f"{len(partial.measured)} {what} are in {path}.partial; "
                "the same command goes on from there\n"
            )
        raise
    finally:
        line.close()


def _finish(
    instance: Instance, path: Path, partial: PartialProfile[Any], *, with_json: bool
) -> None:
    write_instance(instance, path, with_json=with_json)
    partial.discard()
