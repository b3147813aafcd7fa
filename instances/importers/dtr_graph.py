"""Importer of training steps that dynamic tensor rematerialization (DTR) logged, as graphs.

`dtr_log` describes the file. A node is an operator and the value that it makes. Where several of
its results are read or kept, each of these is in memory for itself (`Node.results`). Results that
are neither read nor kept are part of its workspace. What still has a name at the end of the log is
kept. Constants, parameters and the batch, are in memory throughout: they are the resident bytes of
the graph. So the peak without recomputation is that of the logged program less its constants,
unless that holds on to names that it no longer reads.
"""

from __future__ import annotations

from pathlib import Path

from jettison.instances.core.errors import InputError
from jettison.instances.core.json_file import read_text
from jettison.instances.core.provenance import Provenance
from jettison.instances.importers.dtr_log import LoggedStep, read_dtr_log
from jettison.instances.remat_graph.graph import Graph, Node, OperatorResult


def import_dtr_log(path: str | Path) -> Graph:
    """Read a log as a graph, in the order in which the operators ran. :math:`O(n)`.

    Nodes are called after their operator and its place, ``cudnn_convolution 17``; where it has
    several results, these are ``cudnn_convolution 17 result 1`` and so on.

    Raises
    ------
    InputError
        If the file cannot be read, a line is no instruction or not complete or uses a name that
        stands for nothing, or no operator ran; the message names the file and the line.
    """
    path = Path(path)
    text = read_text(path)
    try:
        step = read_dtr_log(text)
        if not step.operators:
            raise InputError(
                "no operator ran", field="CALL", expected="give the log of a training step"
            )
        return Graph(
            path.stem,
            _nodes(step),
            provenance=_provenance(step),
            resident_bytes=step.constant_bytes,
        )
    except InputError as error:
        raise error.within(source=str(path)) from None


def _provenance(step: LoggedStep) -> Provenance:
    return Provenance(
        source="imported",
        note=(
            "Times and sizes of operators as PyTorch with DTR logged them. Workspaces of operators "
            f"are unknown. {step.constant_bytes} bytes of constants (parameters, the batch) are in "
            "memory throughout: they are resident and in no node. The logged program, which frees "
            f"a value with its last name, has its peak at {step.peak_bytes} bytes, constants "
            "included. Times of views are left out. Model, batch and device are unknown."
        ),
    )


def _nodes(step: LoggedStep) -> tuple[Node, ...]:
    read = {value for operator in step.operators for value in operator.inputs}
    sizes = step.value_bytes
    name_of: dict[int, str] = {}
    nodes: list[Node] = []
    for number, operator in enumerate(step.operators, start=1):
        name = f"{operator.name} {number}"
        wanted = [value for value in operator.results if value in read or value in step.kept]
        held = wanted or list(operator.results[:1])
        is_single = len(held) < 2
        held_bytes = sum(sizes[value] for value in held)
        if is_single:
            name_of.update((value, name) for value in held)
        else:
            name_of |= {value: f"{name} result {place}" for place, value in enumerate(held, 1)}
        nodes.append(
            Node(
                name=name,
                duration_ns=operator.duration_ns,
                output_bytes=held_bytes if is_single else 0,
                inputs=tuple(name_of[value] for value in operator.inputs),
                workspace_bytes=sum(sizes[value] for value in operator.results) - held_bytes,
                backward=operator.backward,
                keep=is_single and any(value in step.kept for value in held),
                results=()
                if is_single
                else tuple(
                    OperatorResult(
                        name=name_of[value], output_bytes=sizes[value], keep=value in step.kept
                    )
                    for value in held
                ),
            )
        )
    return tuple(nodes)
