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
# No model uses repeated blocks, the pass of a node, or the operator of a result. Where an operator
# has no value, schedules keep more rules than the models know, which therefore relax the problem.
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
}


@dataclass(frozen=True)
class GivenGraph:
    """Graph: its nodes in the order of the instance, counted from 0.

    Attributes
    ----------
    durations_ns, output_bytes, workspace_bytes, keep, again
        One entry for each node; `again` is false of a node that is computed once.
    inputs
        For each node the nodes that it reads, ascending; all of them come before it.
    """

    durations_ns: tuple[int, ...]
    output_bytes: tuple[int, ...]
    workspace_bytes: tuple[int, ...]
    keep: tuple[bool, ...]
    again: tuple[bool, ...]
    inputs: tuple[tuple[int, ...], ...]

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
        position_of: dict[str, int] = {}
        inputs = []
        for position, node in enumerate(nodes):
            only_fields(node, _NODE_FIELDS, f"node {position}")
            names = list_field(node, "inputs")
            if not all(isinstance(name, str) and name in position_of for name in names):
                raise CertificateError(f"node {position} reads a node that is not before it")
            inputs.append(tuple(sorted({position_of[name] for name in names})))
            name = text_field(node, "name")
            if name in position_of:
                raise CertificateError(f"two nodes have the name {name[:60]!r}")
            position_of[name] = position
        return cls(
            durations_ns=tuple(integer_field(node, "duration_ns") for node in nodes),
            output_bytes=tuple(integer_field(node, "output_bytes") for node in nodes),
            workspace_bytes=tuple(
                integer_field(node, "workspace_bytes", default=0) for node in nodes
            ),
            keep=tuple(flag_field(node, "keep") for node in nodes),
            again=tuple(flag_field(node, "again", default=True) for node in nodes),
            inputs=tuple(inputs),
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
