"""Program of a training step as torch's partitioner sees it: values, their operators and users.

The nodes of PyTorch's joint graph have views, parameters and single results of operators, which a
`Graph` does not have: a view is in memory as what it views, parameters are resident, and results
are held together. `program_of_graph` makes a program of what a graph has. A reader of PyTorch's
own graphs makes it of all of their nodes; the rules of the partitioner are the same for both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property

from jettison.instances.remat_graph.graph import Graph
from jettison.solvers.remat_graph.planners.operator_lists import GETITEM, packet_name

FAR = 10**9
"""Distance of a value from the backward pass if no path leads there."""


class Role(Enum):
    """Role of a value in the step."""

    PARAMETER = auto()
    """In memory all the time: saving it costs nothing."""

    INPUT = auto()
    OPERATION = auto()
    """Result of an operator that does not depend on the gradient of the loss."""

    GRADIENT = auto()
    """The gradient of an output, or what depends on one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JointValue:
    """Value of a joint program.

    Attributes
    ----------
    name
        Name in the program.
    operator
        The packet name of its operator; None for parameters, inputs and constants.
    inputs
        Positions of what it reads, each once.
    size_bytes
        Size of its elements, whether a view or not.
    argument_bytes
        Size of all arguments that are values, as often as they stand there, lists left out.
    role
        Its role.
    is_output
        Whether the forward pass returns it.
    is_gradient_output
        Whether the backward pass returns it, though it does not depend on a gradient.
    is_tuple
        Whether it is all results of an operator together, which cannot be saved as one.
    views_input
        Whether it lies in the storage of an input or parameter.
    duration_ns
        Time of its operator.
    graph_node
        The node of the graph whose value is in memory where this is saved; None for what is in
        memory all the time, or is no tensor.
    """

    name: str
    operator: str | None
    inputs: tuple[int, ...]
    size_bytes: int
    argument_bytes: int
    role: Role
    is_output: bool = False
    is_gradient_output: bool = False
    is_tuple: bool = False
    views_input: bool = False
    duration_ns: int = 0
    graph_node: int | None = None


@dataclass(frozen=True)
class JointProgram:
    """Values of a training step, each after what it reads."""

    values: tuple[JointValue, ...]

    @cached_property
    def users(self) -> tuple[tuple[int, ...], ...]:
        """For each value the positions of its users, ascending."""
        found: list[list[int]] = [[] for _ in self.values]
        for position, value in enumerate(self.values):
            for source in value.inputs:
                found[source].append(position)
        return tuple(map(tuple, found))

    @cached_property
    def forward_place(self) -> dict[int, int]:
        """Place of each value that the forward pass needs for its outputs, counted from 0.

        Parameters and inputs are among them, read or not.
        """
        needed = {
            position
            for position, value in enumerate(self.values)
            if value.role in (Role.PARAMETER, Role.INPUT)
        }
        open_values = [position for position, value in enumerate(self.values) if value.is_output]
        while open_values:
            position = open_values.pop()
            if position not in needed:
                needed.add(position)
                open_values.extend(self.values[position].inputs)
        return {position: place for place, position in enumerate(sorted(needed))}

    @cached_property
    def distances(self) -> tuple[int, ...]:
        """For each value, the steps to the nearest value that the forward pass does not need."""
        found = [0] * len(self.values)
        for position in range(len(self.values) - 1, -1, -1):
            if position in self.forward_place:
                found[position] = min(
                    (found[user] + 1 for user in self.users[position]), default=FAR
                )
                found[position] = min(found[position], FAR)
        return tuple(found)

    @cached_property
    def inputs_bytes(self) -> int:
        """Size of all parameters and inputs."""
        return sum(
            value.size_bytes for value in self.values if value.role in (Role.PARAMETER, Role.INPUT)
        )


def unnamed_nodes(graph: Graph) -> tuple[str, ...]:
    """Return the names of the forward nodes whose operator is not known."""
    return tuple(
        node.name
        for node in graph.nodes
        if not node.backward and node.operator_name is None and node.result_of is None
    )


def program_of_graph(graph: Graph) -> JointProgram:
    """Return the program of a graph whose forward nodes have their `operator_name`.

    A forward node that is kept is an output; where none is, those of which no forward node reads a
    result.
    Views, parameters and inputs are missing: what torch counts of them (`JointValue.size_bytes` of
    the arguments of a reduction, distances, places in the forward pass) is smaller here. Of an
    operator with a value of its own from which results are taken (`Node.result_of`), the value is
    one result beside those. :math:`O(n + |E|)`.
    """
    values: list[JointValue] = []
    # The value that a reader of a node reads, and the results of an operator as a whole.
    value_of: list[int] = []
    tuple_of: dict[int, int] = {}
    with_results = {operator for node, operator in enumerate(graph.operators) if operator != node}
    outputs = _outputs(graph)

    def add(node: int, operator: str, inputs: Sequence[int], size: int, **others: bool) -> int:
        item = graph.nodes[node]
        values.append(
            JointValue(
                name=item.name,
                operator=operator,
                inputs=tuple(sorted(set(inputs))),
                size_bytes=size,
                argument_bytes=sum(values[source].size_bytes for source in inputs),
                role=Role.GRADIENT if item.backward else Role.OPERATION,
                is_output=node in outputs and not others.get("is_tuple", False),
                duration_ns=item.duration_ns,
                graph_node=node,
                **others,
            )
        )
        return len(values) - 1

    for position, node in enumerate(graph.nodes):
        name = packet_name(node.operator_name or "")
        if node.result_of is not None:
            whole = tuple_of[graph.operators[position]]
            value_of.append(add(position, GETITEM, (whole,), node.output_bytes))
            continue
        inputs = [value_of[source] for source in graph.inputs[position]]
        if position not in with_results:
            value_of.append(add(position, name, inputs, node.output_bytes))
            continue
        held = sum(
            graph.nodes[user].output_bytes
            for user in graph.users[position]
            if graph.operators[user] == position
        )
        size = max(held, node.output_bytes)
        tuple_of[position] = add(position, name, inputs, size, is_tuple=True)
        value_of.append(
            add(position, GETITEM, (tuple_of[position],), node.output_bytes)
            if node.has_value
            else tuple_of[position]
        )
    return JointProgram(tuple(values))


def _outputs(graph: Graph) -> frozenset[int]:
    """Return the nodes that the forward pass returns."""
    forward = [position for position, node in enumerate(graph.nodes) if not node.backward]
    kept = frozenset(position for position in forward if graph.nodes[position].keep)
    if kept:
        return kept
    read_by_others = {
        graph.operators[source]
        for position in forward
        for source in graph.inputs[position]
        if graph.operators[position] != graph.operators[source]
    }
    return frozenset(
        position for position in forward if graph.operators[position] not in read_by_others
    )
