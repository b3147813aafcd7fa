"""Nodes of graphs: operations, with one value or with several results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from jettison.instances.core.errors import InputError
from jettison.instances.core.instance_document import read_each
from jettison.instances.core.names import checked_name
from jettison.instances.core.units import checked_amount


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorResult:
    """Result of an operator that makes several: a tensor with a name, which others read.

    Attributes
    ----------
    name
        Unique among the nodes and the results of the graph.
    output_bytes
        Its size. It is freed by itself.
    keep
        True if it must be in memory at the end.

    Raises
    ------
    InputError
        If the name is empty, or the size is no amount.
    """

    name: str
    output_bytes: int
    keep: bool = False

    def __post_init__(self) -> None:
        checked_name(self.name, "name")
        checked_amount(self.output_bytes, "output_bytes", "bytes")

    def to_json(self) -> dict[str, object]:
        """Return the result as a JSON object."""
        return {"name": self.name, "output_bytes": self.output_bytes, "keep": self.keep}


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """Node of a graph: one operation and what it produces.

    Attributes
    ----------
    name
        Unique within the graph.
    duration_ns
        Time of one computation.
    output_bytes
        Size of the value that stays until it is freed.
    inputs
        Names of the nodes whose values must be in memory while this one is computed.
    workspace_bytes
        Extra memory in use only while the operation runs.
    backward
        True for an operation of the backward pass.
    keep
        True if the value must be in memory at the end: a weight gradient, say.
    results
        The tensors that the operation produces, where it has several; it has no bytes of its own
        then. One computation makes all of them: while it runs, its inputs, its workspace and all
        results are in memory, in fresh memory even where one of them is there from before. Right
        after it each result stays, in place of what was there before, or is dropped. Others read
        a result by its name, and nobody the operation. A graph lists such an operation as a node
        without a value, with each result behind it (`Graph.nodes`).
    result_of
        The operator of which this value is one result, where it has several; it is made again by
        running the operator. Of an operator with a value of its own it is taken from that value,
        in no time, while the value is in memory. None for a node that runs an operator itself.
    again
        False for an operator that is computed once, in every schedule: a collective, a draw of
        random numbers whose state is not saved, a write to memory, data loading, the optimizer.
        Its value stays as long as something reads it.
    offload
        False for a value that never leaves the device, nor do the results of such an operator:
        what no link can copy. Only problems with a link to the host look at it.
    has_value
        False for an operator that makes its results and nothing else. They come directly after it,
        in the order of the graph as in every schedule, and each of them is in memory as long as it
        is needed. The workspace of the operator includes all of them. Any of them may be left out
        where the operator runs again.

    Raises
    ------
    InputError
        If a field is not a non-negative integer, the name is empty, an input is named twice, a
        result takes time or a workspace, reads anything but its operator or is computed once, or a
        node without a value has bytes, is kept or is a result itself.
    """

    name: str
    duration_ns: int
    output_bytes: int = 0
    inputs: tuple[str, ...] = ()
    workspace_bytes: int = 0
    backward: bool = False
    keep: bool = False
    result_of: str | None = None
    has_value: bool = True
    operator_name: str | None = None
    again: bool = True
    offload: bool = True
    results: tuple[OperatorResult, ...] = ()

    def __post_init__(self) -> None:
        checked_name(self.name, "name")
        checked_amount(self.duration_ns, "duration_ns", "nanoseconds")
        checked_amount(self.output_bytes, "output_bytes", "bytes")
        checked_amount(self.workspace_bytes, "workspace_bytes", "bytes")
        for position, name in enumerate(self.inputs):
            if name in self.inputs[:position]:
                raise InputError(
                    f"{name!r} stands twice",
                    field=f"inputs[{position}]",
                    expected="name each input once",
                )
        if self.result_of is not None:
            self._check_result()
        if self.results:
            self._check_results()
        if not self.has_value:
            self._check_no_value()
        if self.operator_name is not None:
            checked_name(self.operator_name, "operator_name")

    def _check_results(self) -> None:
        for field_name, is_wrong, expected in (
            ("output_bytes", self.output_bytes != 0, "leave it out: the results have the bytes"),
            ("keep", self.keep, "keep results"),
            ("result_of", self.result_of is not None, "a result has no results"),
            ("has_value", not self.has_value, "leave it out"),
        ):
            if is_wrong:
                raise InputError(
                    f"{self.name!r} has several results", field=field_name, expected=expected
                )

    def run(self) -> tuple[Node, ...]:
        """Return the nodes of a graph that stand for the operation: itself if it has one value.

        Otherwise the operation without a value, whose workspace includes the results, and these.
        """
        if not self.results:
            return (self,)
        results_bytes = sum(result.output_bytes for result in self.results)
        operator = replace(
            self,
            workspace_bytes=self.workspace_bytes + results_bytes,
            has_value=False,
            results=(),
        )
        return (
            operator,
            *(
                Node(
                    name=result.name,
                    duration_ns=0,
                    output_bytes=result.output_bytes,
                    inputs=(self.name,),
                    backward=self.backward,
                    keep=result.keep,
                    result_of=self.name,
                    offload=self.offload,
                )
                for result in self.results
            ),
        )

    def _check_no_value(self) -> None:
        for field_name, is_wrong, expected in (
            ("output_bytes", self.output_bytes != 0, "write 0: its results have the bytes"),
            ("keep", self.keep, "keep its results"),
            ("result_of", self.result_of is not None, "results have values"),
        ):
            if is_wrong:
                raise InputError(
                    f"{self.name!r} has no value of its own", field=field_name, expected=expected
                )

    def _check_result(self) -> None:
        checked_name(self.result_of, "result_of")
        if self.inputs != (self.result_of,):
            reads = ", ".join(map(repr, self.inputs)) or "nothing"
            raise InputError(
                f"a result of {self.result_of!r} reads {reads}",
                field="inputs",
                expected="give the operator as the only input",
            )
        for field_name, amount in (
            ("duration_ns", self.duration_ns),
            ("workspace_bytes", self.workspace_bytes),
        ):
            if amount:
                raise InputError(
                    f"{amount} for a result of {self.result_of!r}",
                    field=field_name,
                    expected="write 0: the operator has the time and the workspace",
                )
        if not self.again:
            raise InputError(
                f"false for a result of {self.result_of!r}",
                field="again",
                expected="mark the operator: its results are made when it runs",
            )

    def to_json(self) -> dict[str, object]:
        """Return the node as a JSON object; what few nodes have is left out elsewhere."""
        entry: dict[str, object] = {
            "name": self.name,
            "duration_ns": self.duration_ns,
            "output_bytes": self.output_bytes,
            "inputs": list(self.inputs),
            "workspace_bytes": self.workspace_bytes,
            "backward": self.backward,
            "keep": self.keep,
        }
        if self.result_of is not None:
            entry["result_of"] = self.result_of
        if not self.has_value:
            entry["has_value"] = False
        if self.operator_name is not None:
            entry["operator_name"] = self.operator_name
        if not self.again:
            entry["again"] = False
        if not self.offload:
            entry["offload"] = False
        if self.results:
            entry["results"] = [result.to_json() for result in self.results]
            del entry["output_bytes"], entry["keep"]
        return entry


def read_node(entry: Mapping[str, Any]) -> Node:
    """Return the node of a JSON object that has passed the schema."""
    fields = {**entry, "inputs": tuple(entry.get("inputs", []))}
    if "results" in entry:
        fields["results"] = read_each(entry, "results", lambda result: OperatorResult(**result))
    return Node(**fields)


def with_results(node: Node, results: tuple[Node, ...]) -> Node:
    """Return a node without a value and its results as one node that has these results."""
    if not results:
        return node
    return replace(
        node,
        workspace_bytes=node.workspace_bytes - sum(result.output_bytes for result in results),
        has_value=True,
        results=tuple(
            OperatorResult(name=result.name, output_bytes=result.output_bytes, keep=result.keep)
            for result in results
        ),
    )
