"""`jettison import`: instances from files of other projects."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from jettison.cli.arguments import checked_output, read_mesh
from jettison.cli.output import write_instance
from jettison.instances.core.errors import InputError
from jettison.instances.core.units import NANOSECOND_UNITS

app = typer.Typer(help="Turn a file of another project into an instance.", no_args_is_help=True)

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The file to read.")]
OutputOption = Annotated[
    Path, typer.Option("--output", "-o", metavar="OUT", help="The instance to write (.json).")
]


class InstanceKind(StrEnum):
    """Kind of instance that a layer profile becomes."""

    CHAIN = "chain"
    GRAPH = "graph"


class TimeUnit(StrEnum):
    """Units of time that `jettison.instances.core.units` knows."""

    NS = "ns"
    US = "us"
    MS = "ms"
    S = "s"


@app.command("pipedream", short_help="Import a PipeDream profile (graph.txt).")
def import_pipedream(
    file: FileArgument,
    output: OutputOption,
    kind: Annotated[
        InstanceKind, typer.Option(help="A chain of articulation points, or the whole graph.")
    ] = InstanceKind.CHAIN,
) -> None:
    """Import a PipeDream profile (graph.txt): layers with times and sizes.

    Example: jettison import pipedream graph.txt --kind graph -o resnet50.json
    """
    from jettison.instances.importers.pipedream import (
        import_pipedream_chain,
        import_pipedream_graph,
    )

    checked_output(output)
    read = import_pipedream_chain if kind is InstanceKind.CHAIN else import_pipedream_graph
    write_instance(read(file), output)


@app.command("dtr", short_help="Import a log of dynamic tensor rematerialization.")
def import_log(file: FileArgument, output: OutputOption) -> None:
    """Import a training step that PyTorch with DTR logged, operator by operator.

    Example: jettison import dtr step.log -o step.json
    """
    from jettison.instances.importers.dtr_graph import import_dtr_log

    checked_output(output)
    write_instance(import_dtr_log(file), output)


@app.command("layer-graph", short_help="Import a training graph of layers (Device Placement).")
def import_layers_and_backward(
    file: FileArgument,
    output: OutputOption,
    kind: Annotated[
        InstanceKind, typer.Option(help="The whole graph, or a chain of articulation points.")
    ] = InstanceKind.GRAPH,
) -> None:
    """Import a training graph of layers of Device Placement (dnn-partitioning, LayerGraphs).

    Example: jettison import layer-graph layers.json -o graph.json
    """
    from jettison.instances.importers.layer_graph import (
        import_layer_graph,
        import_layer_graph_chain,
    )

    checked_output(output)
    read = import_layer_graph_chain if kind is InstanceKind.CHAIN else import_layer_graph
    write_instance(read(file), output)


@app.command("networkx", short_help="Import graphs of Checkmate and MOCCASIN.")
def import_networkx(
    file: FileArgument,
    output: OutputOption,
    time_unit: Annotated[
        TimeUnit, typer.Option(help="Unit of the times, which the file does not state.")
    ] = TimeUnit.NS,
) -> None:
    """Import node-link JSON of networkx, as Checkmate and MOCCASIN publish it.

    Example: jettison import networkx VGG16.json -o vgg16.json
    """
    from jettison.instances.importers.networkx import import_networkx_graph

    checked_output(output)
    write_instance(import_networkx_graph(file, time_unit_ns=NANOSECOND_UNITS[time_unit]), output)


@app.command("sailor", short_help="Import a layer profile of Sailor (profile.json).")
def import_layers(
    file: FileArgument,
    output: OutputOption,
    sizes: Annotated[
        Path, typer.Option(metavar="FILE", help="The sizes of the layers (llm_info.json).")
    ],
    batch: Annotated[int, typer.Option(min=1, help="Microbatch, one of those in the profile.")],
    tensor_parallel: Annotated[
        int, typer.Option(min=1, help="Devices that share each layer, as in the profile.")
    ] = 1,
    model: Annotated[
        str | None, typer.Option(help="Model, if the file is not in MODEL/DEVICE/.")
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="Device, if the file is not in MODEL/DEVICE/.")
    ] = None,
) -> None:
    """Import Sailor's layer times and sizes of a language model, measured on a GPU, as a chain.

    Example: jettison import sailor profile.json --sizes llm_info.json --batch 2 --model
    OPT-350 --device A100-40 -o opt.json
    """
    from jettison.instances.importers.sailor import import_sailor

    checked_output(output)
    chain = import_sailor(
        file,
        sizes=sizes,
        batch=batch,
        tensor_parallel=tensor_parallel,
        model=model,
        device=device,
    )
    write_instance(chain, output)


@app.command("piper", short_help="Import a profile of Piper (bert32a100.json).")
def import_layers_twice(
    file: FileArgument,
    output: OutputOption,
    tensor_parallel: Annotated[
        int, typer.Option(min=1, help="Devices that share each layer, as in the profile.")
    ] = 1,
) -> None:
    """Import a profile of Piper: a language model with and without recomputation, as a chain.

    Example: jettison import piper bert32a100.json -o bert.json
    """
    from jettison.instances.importers.piper import import_piper

    checked_output(output)
    write_instance(import_piper(file, tensor_parallel=tensor_parallel), output)


@app.command("superscaler", short_help="Import an operator profile of SuperScaler (Aceso).")
def import_operators(
    file: FileArgument,
    output: OutputOption,
    layers: Annotated[
        int | None, typer.Option(min=1, help="Layers, unless the profile is a known one.")
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="Device, unless the profile is a known one.")
    ] = None,
    mesh: Annotated[
        str | None,
        typer.Option(metavar="SHAPE", help="1x4, say: a sharded graph, from all files beside it."),
    ] = None,
) -> None:
    """Import operators of SuperScaler (Aceso): a chain, or on a mesh a sharded graph of a GPT.

    Example: jettison import superscaler gpt_mbs2_tp1_algo0.csv --layers 24 --device V100-32
    -o gpt.json
    """
    from jettison.instances.importers.superscaler import import_superscaler
    from jettison.instances.importers.superscaler_mesh.mesh_graph import import_superscaler_mesh

    checked_output(output)
    if mesh is None:
        write_instance(import_superscaler(file, layers=layers, device=device), output)
        return
    shape = read_mesh(mesh)
    if len([size for size in shape if size > 1]) != 1:
        raise InputError(f"{mesh[:40]!r}", field="mesh", expected="write 1x2, 1x4 or 1x8, say")
    sharded = import_superscaler_mesh(file, devices=max(shape), layers=layers, device=device)
    write_instance(sharded, output)


@app.command("torch-trace", short_help="Import a training step that PyTorch recorded.")
def import_recording(
    file: FileArgument,
    output: OutputOption,
    execution_trace: Annotated[
        Path | None,
        typer.Option("--execution-trace", "-x", metavar="FILE", help="What the observer wrote."),
    ] = None,
    kind: Annotated[
        InstanceKind, typer.Option(help="All operators, or a chain cut between modules.")
    ] = InstanceKind.GRAPH,
    step: Annotated[
        int | None, typer.Option(min=0, help="Step among those marked by profiler.step().")
    ] = None,
) -> None:
    """Import a training step that PyTorch recorded: the profiler's trace and an execution trace.

    Without the latter only a Sequential becomes a chain, since what operators read is not recorded.

    Example: jettison import torch-trace step.kineto.json -x step.et.json -o step.json
    """
    from jettison.instances.importers.torch_trace.module_chain import import_torch_trace_chain
    from jettison.instances.importers.torch_trace.sequential_chain import import_sequential_chain
    from jettison.instances.importers.torch_trace.step_graph import import_torch_trace_graph

    checked_output(output)
    if execution_trace is not None:
        read = import_torch_trace_chain if kind is InstanceKind.CHAIN else import_torch_trace_graph
        write_instance(read(file, execution_trace=execution_trace, step=step), output)
    elif kind is InstanceKind.CHAIN and step is None:
        write_instance(import_sequential_chain(file), output)
    else:
        raise InputError(
            "it does not say which tensors an operator reads",
            source=str(file),
            field="execution_trace",
            expected="give the execution trace of the same run as well (--execution-trace); "
            "without it, one step of a Sequential becomes a chain (--kind chain)",
        )


@app.command("iopddl", short_help="Import a file of the ASPLOS'25 / IOPDDL contest.")
def import_contest(file: FileArgument, output: OutputOption) -> None:
    """Import a file of the ASPLOS'25 / IOPDDL contest (.json or .json.gz), for sharding.

    Example: jettison import iopddl asplos-2025-iopddl-S.json.gz -o s.json
    """
    from jettison.instances.importers.iopddl import import_iopddl

    checked_output(output)
    write_instance(import_iopddl(file), output)
