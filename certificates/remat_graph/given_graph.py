"""Graph as the checker reads it from the parsed JSON of an instance."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import CertificateError
from ..header_fields import (
    Fields,
    check_kind,
    flag_field,
    integer_field,
    list_field,
    only_fields,
    text_field,
)

_MOST_NODES = 100_000
# No model uses repeated blocks, the pass of a node, the operator of a result, or what may be sent
# to a host. Where an operator is listed without a value (has_value), and its results as nodes,
# schedules keep more rules than the models know, which therefore relax the problem; of `results`
# they know them.
_FIELDS = {"nodes", "repeated_blocks"}
_NODE_FIELDS = {
    "name",
    "duration_ns",
    "output_bytes",
    "inputs",
    "workspace_bytes",
    "backward",
    "keep",
    "result_of",
    "has_value",
    "operator_name",
    "again",
    "offload",
    "results",
}
_RESULT_FIELDS = {"name", "output_bytes", "keep"}


@dataclass(frozen=True)
class GivenGraph:
    """Graph: its nodes in the order of the instance, counted from 0.

    Attributes
    ----------
    durations_ns, output_bytes, workspace_bytes, keep, again
        One entry for each node; `again` is false of a node that is computed once.
    inputs
        For each node the nodes that it reads, ascending; all of them come before it.
    runs
        For each operator with several results, a node of no bytes, these: the nodes after it.
    """

    durations_ns: tuple[int, ...]
    output_bytes: tuple[int, ...]
    workspace_bytes: tuple[int, ...]
    keep: tuple[bool, ...]
    again: tuple[bool, ...]
    inputs: tuple[tuple[int, ...], ...]
    runs: dict[int, range]

    @classmethod
    def from_json(cls, document: Fields) -> GivenGraph:
        """Read the fields that models use.

        Raises
        ------
        CertificateError
            If it is no graph of version 1, a field is unknown, a number is none, or a node reads
            one after it.
        """
        check_kind(document, "graph", _FIELDS)
        nodes = list_field(document, "nodes")
        if not 0 < len(nodes) <= _MOST_NODES or not all(isinstance(node, dict) for node in nodes):
            raise CertificateError(f"a graph has 1 to {_MOST_NODES} nodes, each an object")
        reader = _NodeReader()
        for number, node in enumerate(nodes):
            only_fields(node, _NODE_FIELDS, f"node {number}")
            reader.add(number, node)
        return cls(
            durations_ns=tuple(reader.durations_ns),
            output_bytes=tuple(reader.output_bytes),
            workspace_bytes=tuple(reader.workspace_bytes),
            keep=tuple(reader.keep),
            again=tuple(reader.again),
            inputs=tuple(reader.inputs),
            runs=reader.runs,
        )

    def __len__(self) -> int:
        return len(self.durations_ns)

    def with_ancestors(self, nodes: set[int]) -> set[int]:
        """Return some nodes and all of their ancestors."""
        found = set(nodes)
        waiting = list(nodes)
        while waiting:
            for source in self.inputs[waiting.pop()]:
                if source not in found:
                    found.add(source)
                    waiting.append(source)
        return found

    def is_result(self, node: int) -> bool:
        """Tell whether a node is one of several results of an operator."""
        return any(source in self.runs for source in self.inputs[node])


class _NodeReader:
    """Reader of nodes one by one, each of which is one node, or one and its results."""

    def __init__(self) -> None:
        self.durations_ns: list[int] = []
        self.output_bytes: list[int] = []
        self.workspace_bytes: list[int] = []
        self.keep: list[bool] = []
        self.again: list[bool] = []
        self.inputs: list[tuple[int, ...]] = []
        self.runs: dict[int, range] = {}
        self._position_of: dict[str, int] = {}
        self._names: set[str] = set()

    def add(self, number: int, node: Fields) -> None:
        names = list_field(node, "inputs")
        if not all(isinstance(name, str) and name in self._position_of for name in names):
            raise CertificateError(f"node {number} reads a value that is not before it")
        inputs = tuple(sorted({self._position_of[name] for name in names}))
        duration_ns = integer_field(node, "duration_ns")
        workspace_bytes = integer_field(node, "workspace_bytes", default=0)
        again = flag_field(node, "again", default=True)
        if "results" not in node:
            size, keep = integer_field(node, "output_bytes"), flag_field(node, "keep")
            place = self._add(node, duration_ns, size, workspace_bytes, keep, again, inputs)
            self._position_of[text_field(node, "name")] = place
            return
        if not {"output_bytes", "keep", "result_of", "has_value"}.isdisjoint(node):
            raise CertificateError(f"node {number} has results and a value of its own")
        results = list_field(node, "results")
        if not results or not all(isinstance(result, dict) for result in results):
            raise CertificateError(f"the results of node {number} are no list of objects")
        for result in results:
            only_fields(result, _RESULT_FIELDS, f"a result of node {number}")
        sizes = [integer_field(result, "output_bytes") for result in results]
        place = self._add(node, duration_ns, 0, workspace_bytes + sum(sizes), False, again, inputs)
        for result, size in zip(results, sizes, strict=True):
            keep = flag_field(result, "keep")
            position = self._add(result, 0, size, 0, keep, again, (place,))
            self._position_of[text_field(result, "name")] = position
        self.runs[place] = range(place + 1, place + 1 + len(results))

    def _add(
        self,
        named: Fields,
        duration_ns: int,
        output_bytes: int,
        workspace_bytes: int,
        keep: bool,
        again: bool,
        inputs: tuple[int, ...],
    ) -> int:
        name = text_field(named, "name")
        if name in self._names:
            raise CertificateError(f"two nodes or results have the name {name[:60]!r}")
        if len(self._names) == _MOST_NODES:
            raise CertificateError(f"a graph has {_MOST_NODES} nodes and results at most")
        self._names.add(name)
        self.durations_ns.append(duration_ns)
        self.output_bytes.append(output_bytes)
        self.workspace_bytes.append(workspace_bytes)
        self.keep.append(keep)
        self.again.append(again)
        self.inputs.append(inputs)
        return len(self._names) - 1
