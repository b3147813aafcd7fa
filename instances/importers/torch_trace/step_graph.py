"""Importer of recordings of PyTorch as graphs: an execution trace beside a Kineto trace.

A node is an operator and what it makes; where several results are read, each has a life of its own
(`Node.results`). Views are the value that they view, and a call that writes an
argument makes a new value, so that both are in memory while it runs. Gradients of parameters are
kept. Parameters, buffers and all else that was there before the step are resident and in no node,
and the graph has their bytes beside its nodes; what writes them makes a value of 0 bytes.

An operator that gives back nothing that is read, in no time on the device, is left out.
"""

from __future__ import annotations

from pathlib import Path

from jettison.instances.core.errors import InputError
from jettison.instances.core.names import checked_name
from jettison.instances.importers.torch_trace.provenance_of import provenance_of
from jettison.instances.importers.torch_trace.recorded_operators import Value
from jettison.instances.importers.torch_trace.recording import Recording, read_recording_of_step
from jettison.instances.remat_graph.graph import Graph, Node, OperatorResult


def import_torch_trace_graph(
    kineto_trace: str | Path, *, execution_trace: str | Path, step: int | None = None
) -> Graph:
    r"""Read a recorded training step as a graph; :math:`O(n \log n)` for n recorded calls.

    Nodes are called after their operator and its place among the nodes, ``mm 17``; where it has
    several results, these are ``native_batch_norm 4 result 1`` and so on.

    Parameters
    ----------
    kineto_trace
        What the profiler exported, plain or compressed by gzip.
    execution_trace
        What the observer of execution traces wrote, in the same run.
    step
        Number of the step among those marked by ``profiler.step()``, where there are several.

    Raises
    ------
    InputError
        If a file cannot be read, is truncated or of another form, has no storages or no backward
        pass, steps without a choice, recomputation, compiled code, or the files do not belong
        together; the message names the file.
    """
    kineto_trace, execution_trace = Path(kineto_trace), Path(execution_trace)
    recording = read_recording_of_step(kineto_trace, execution_trace, step)
    try:
        nodes = _nodes(recording)
        if not nodes:
            raise InputError(
                "no operator makes anything on the device",
                field="nodes",
                expected="record a training step that runs on it",
            )
        return Graph(
            name_of_recording(kineto_trace),
            nodes,
            provenance=provenance_of(recording, kineto_trace, execution_trace),
            resident_bytes=recording.resident_bytes,
        )
    except InputError as error:
        raise error.within(source=str(execution_trace)) from None


def name_of_recording(path: Path) -> str:
    """Return the name of a file without its endings."""
    name = path.name
    for ending in (".gz", ".json", ".kineto", ".trace", ".pt"):
        name = name.removesuffix(ending)
    return checked_name(name or path.name, "name")


def _nodes(recording: Recording) -> tuple[Node, ...]:
    operators = recording.operators
    backward_from = recording.backward_from
    read = {value for operator in operators for value in operator.inputs}
    kept = recording.step.kept
    name_of: dict[Value, str] = {}
    nodes: list[Node] = []
    for number, operator in enumerate(operators, start=1):
        short = operator.call.name.removeprefix("aten::")[:100]
        name = checked_name(f"{short} {number}", f"node {operator.call.number}: name")
        counted = [value for value in operator.results if recording.counts(value)]
        held = [value for value in counted if value in read or value in kept] or counted[:1]
        is_one = len(held) < 2
        name_of.update((value, f"{name} result {place}") for place, value in enumerate(held, 1))
        if is_one:
            name_of.update((value, name) for value in held)
        held_bytes = sum(map(recording.size_bytes, held))
        unread_bytes = sum(map(recording.size_bytes, operator.results)) - held_bytes
        stays = [value in kept and not value.is_resident for value in held]
        nodes.append(
            Node(
                name=name,
                duration_ns=recording.duration_ns(operator),
                output_bytes=held_bytes if is_one else 0,
                inputs=tuple(
                    dict.fromkeys(name_of[value] for value in operator.inputs if value in name_of)
                ),
                workspace_bytes=recording.workspace_bytes(operator) + unread_bytes,
                backward=operator.is_backward(backward_from),
                keep=is_one and any(stays),
                results=()
                if is_one
                else tuple(
                    OperatorResult(
                        name=name_of[value], output_bytes=recording.size_bytes(value), keep=keep
                    )
                    for value, keep in zip(held, stays, strict=True)
                ),
            )
        )
    return tuple(nodes)
