"""Training steps that dynamic tensor rematerialization's authors logged, as graphs.

A log is JSON, line by line: what a framework was asked to do, with the names that it gave to
tensors. Copies and views are other names of a value, a mutation makes a new one, constants
(parameters, the batch) stay in memory throughout, and what still has a name at the end is kept. The
value of an operator with several results holds all of them that are read or kept, and those beside
its first one are taken from it.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from jettison.instances.remat_graph.graph import Graph, Node


@dataclass(frozen=True)
class LoggedStep:
    """A step as a graph.

    Attributes
    ----------
    graph
        Operators and their results; constants are no nodes.
    constant_bytes
        Size of the constants.
    peak_bytes
        Peak of the logged program, which frees a value with its last name, with the constants.
    """

    graph: Graph
    constant_bytes: int
    peak_bytes: int

    def memory_for(self, percent: int) -> int:
        """Return what this share of the peak leaves beside the constants."""
        return self.peak_bytes * percent // 100 - self.constant_bytes


@dataclass
class _Operator:
    duration_ns: int
    inputs: list[int]
    results: list[int]
    backward: bool


@dataclass
class _Reader:
    """What is known after each line; values are numbered, constants are -1."""

    value_of: dict[str, int] = field(default_factory=dict)
    names: Counter[int] = field(default_factory=Counter)
    sizes: list[int] = field(default_factory=list)
    operators: list[_Operator] = field(default_factory=list)
    constant_bytes: int = 0
    stored_bytes: int = 0
    peak_bytes: int = 0

    def name(self, name: str, value: int) -> None:
        self.value_of[name] = value
        if value >= 0:
            self.names[value] += 1

    def release(self, name: str) -> None:
        value = self.value_of.pop(name)
        self.names[value] -= 1
        if value >= 0 and not self.names[value]:
            self.stored_bytes -= self.sizes[value]

    def run(self, line: dict[str, object], sizes: list[int], *, backward: bool) -> list[int]:
        """Add an operator and its results."""
        reads = dict.fromkeys(self.value_of[name] for name in line["ARGS"])  # type: ignore[attr-defined]
        results = list(range(len(self.sizes), len(self.sizes) + len(sizes)))
        self.sizes += sizes
        self.stored_bytes += sum(sizes)
        self.peak_bytes = max(self.peak_bytes, self.stored_bytes)
        inputs = [value for value in reads if value >= 0]
        duration_ns = int(line["TIME"])  # type: ignore[call-overload]
        self.operators.append(_Operator(duration_ns, inputs, results, backward))
        return results


def read_dtr_log(path: Path) -> LoggedStep:
    """Read a log."""
    reader = _Reader()
    lines = iter([json.loads(line) for line in path.read_text().splitlines()])
    backward = False
    for line in lines:
        match line["INSTRUCTION"]:
            case "ANNOTATE":
                backward |= line["ANNOTATION"] == "BACKWARD"
            case "CONSTANT":
                reader.constant_bytes += int(next(lines)["MEMORY"])
                reader.name(line["NAME"], -1)
            case "COPY":
                reader.name(line["DST"], reader.value_of[line["SRC"]])
            case "RELEASE":
                reader.release(line["NAME"])
            case "CALL":
                made = [
                    (int(next(lines)["MEMORY"]), int(next(lines)["ALIAS"])) for _ in line["RESULT"]
                ]
                if all(viewed >= 0 for _, viewed in made):
                    values = [reader.value_of[line["ARGS"][viewed]] for _, viewed in made]
                else:
                    assert all(viewed < 0 for _, viewed in made)
                    values = reader.run(line, [size for size, _ in made], backward=backward)
                for name, value in zip(line["RESULT"], values, strict=True):
                    reader.name(name, value)
            case "MUTATE":
                names = [line["ARGS"][place] for place in line["MUTATE"]]
                sizes = [reader.sizes[reader.value_of[name]] for name in names]
                for name, value in zip(
                    names, reader.run(line, sizes, backward=backward), strict=True
                ):
                    reader.release(name)
                    reader.name(name, value)
            case other:
                raise AssertionError(other)
    return LoggedStep(
        Graph(path.stem, _nodes(reader)),
        reader.constant_bytes,
        reader.peak_bytes + reader.constant_bytes,
    )


def _nodes(reader: _Reader) -> tuple[Node, ...]:
    read = {value for operator in reader.operators for value in operator.inputs}
    stays = {value for value, names in reader.names.items() if names}
    nodes = []
    for operator in reader.operators:
        wanted = [value for value in operator.results if value in read | stays]
        wanted.sort(key=lambda value: value in stays)
        first, *others = wanted or operator.results[:1]
        held_bytes = sum(reader.sizes[value] for value in (first, *others))
        nodes.append(
            Node(
                name=f"x{first}",
                duration_ns=operator.duration_ns,
                output_bytes=held_bytes,
                inputs=tuple(f"x{value}" for value in operator.inputs),
                workspace_bytes=sum(reader.sizes[value] for value in operator.results) - held_bytes,
                backward=operator.backward,
                keep=first in stays,
            )
        )
        nodes += [
            Node(
                name=f"x{value}",
                duration_ns=0,
                output_bytes=reader.sizes[value],
                inputs=(f"x{first}",),
                backward=operator.backward,
                keep=value in stays,
                result_of=f"x{first}",
            )
            for value in others
        ]
    return tuple(nodes)
