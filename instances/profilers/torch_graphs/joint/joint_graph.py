r"""Joint graph of a model, as ahead-of-time autograd hands it to a partitioner, as an instance.

The graph has the forward and the backward operators of one call of a model. Its inputs are
*primals* (parameters, buffers, inputs) and *tangents* (gradients with respect to the outputs); its
outputs are those of the forward pass, then the gradients of the primals.

An operator that an output of the forward pass needs is *forward*, and so is one that draws random
numbers; all others are *backward*. Of those, the ones that need no tangent run right before their
first reader. Views are no operators, as in `traced_step`. Of an operator with several results that
something reads, each result has a life of its own: the operator is a node without a value, and its
results follow it (`Node.results`).

Primals are resident and not counted. What else is there and no node of the graph is in
`JointGraph.reserve_bytes`, as if it were there from the beginning:

- tangents, which the caller makes when the backward pass begins;
- outputs of the forward pass that are small: they stay with the user, whatever the schedule does;
- old contents of primals that the graph writes to and reads, of which a copy is saved where the
  backward pass reads them, and the new contents until they are written;
- seeds, which are drawn once.

The state of the generator is kept for operators that draw random numbers again
(`JointGraph.states_bytes`), some kilobytes on a CPU.

An output that is not small is kept: it is in memory from its first computation to the end, since
the user has it, and freeing it in between would free no memory. So its operator is computed once,
in every schedule (`Node.again`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, fx

from jettison.instances.core.provenance import Provenance
from jettison.instances.profilers.torch_graphs.joint.ends import (
    JointEnds,
    check_nodes,
    joint_ends,
    values_of,
)
from jettison.instances.profilers.torch_graphs.operation_reader import (
    OperationReader,
    Source,
    TracedOperation,
    all_needed,
    is_random,
    source_of,
)
from jettison.instances.profilers.torch_graphs.operator_cost import OperatorCost
from jettison.instances.profilers.torch_graphs.operator_memory import OperatorMemory, TracedMemory
from jettison.instances.remat_graph.graph import Graph, Node, OperatorResult

# An output below this share of what all results have together is small.
_SMALL_SHARE = 1000


@dataclass(frozen=True)
class JointGraph:
    """Joint graph of a model and the instance that schedules are made for.

    Attributes
    ----------
    module
        The graph as it was read; its attributes are constants.
    graph
        The instance.
    operations
        The operators in the order of the instance, forward ones first.
    owners
        For each node of the instance, the position of its operator in `operations`, and the number
        of its result where it is one of several.
    resident
        Operators that run once, first of all, and whose results stay (seeds).
    ends
        Inputs and outputs.
    once
        Positions of the nodes that the user holds: outputs that are not small, whose operators are
        computed once.
    reserve_bytes
        Memory for what is no node, as the module says.
    """

    module: fx.GraphModule
    graph: Graph
    operations: tuple[TracedOperation, ...]
    owners: tuple[tuple[int, int | None], ...]
    resident: tuple[fx.Node, ...]
    ends: JointEnds
    once: frozenset[int]
    reserve_bytes: int

    def states_bytes(self, repeated: Iterable[int] | None = None) -> int:
        """Return the size of the states of the generator for operators that draw again.

        Parameters
        ----------
        repeated
            Positions of the nodes that are computed more than once; None for all.
        """
        owners = self.owners if repeated is None else [self.owners[node] for node in repeated]
        drawn = {owner for owner, _ in owners if is_random(self.operations[owner].node)}
        return sum(state_bytes(self.operations[owner].node) for owner in drawn)


def read_joint_graph(
    module: fx.GraphModule,
    *,
    forward_outputs: int,
    cost: OperatorCost,
    memory: OperatorMemory | None = None,
    name: str = "joint-graph",
    provenance: Provenance | None = None,
) -> JointGraph:
    """Read a joint graph as an instance; nothing is computed unless `cost` or `memory` measures.

    Parameters
    ----------
    module
        The joint graph. Its nodes have fake values (``meta["val"]``).
    forward_outputs
        How many of its outputs are those of the forward pass (``num_fwd_outputs``).
    cost
        Source of the durations.
    memory
        Source of the sizes: `MeasuredMemory` for what kernels allocate beside their results. By
        default they allocate nothing.
    name, provenance
        Of the instance.

    Raises
    ------
    InputError
        If sizes are symbolic, or an operator cannot be computed again and is named: it writes to
        its arguments, calls other graphs, or talks to other processes.
    """
    nodes = [node for node in module.graph.nodes if node.op != "output"]
    ends = joint_ends(module, nodes, forward_outputs)
    check_nodes(nodes, ends)
    wanted = [item for item in (*ends.forward, *ends.forward_writes) if isinstance(item, fx.Node)]
    drawn = [node for node in nodes if is_random(node)]
    late = _depends_on(nodes, ends.tangents)
    forward = all_needed(nodes, [*wanted, *(node for node in drawn if node not in late)])
    last = [item for item in (*ends.backward, *ends.backward_writes) if isinstance(item, fx.Node)]
    needed = forward | all_needed(nodes, [*last, *drawn])
    resident = tuple(node for node in nodes if node in needed and _is_seed(node))
    needed -= {*resident, *ends.forward_writes, *ends.backward_writes}
    # The gradients, and what the user holds of the outputs, stay to the end.
    gradients = {source_of(node) for node in last}
    outputs = {source_of(item) for item in ends.forward if isinstance(item, fx.Node)}
    written = {source_of(node.args[1]) for node in ends.forward_writes}
    reader = OperationReader(
        nodes,
        needed=needed,
        backward=needed - forward,
        kept=frozenset(gradients | outputs | written),
    )
    sizes = TracedMemory() if memory is None else memory
    operations = sizes.sized_whole(_in_order(reader.operations(), late))
    total = sum(item.output_bytes for item in operations)
    small = {source for source in outputs if source_bytes(source) * _SMALL_SHARE <= total}
    kept = frozenset(gradients | (outputs - small))
    assembly = _Assembly(operations, kept, outputs - small, cost)
    return JointGraph(
        module=module,
        graph=Graph(
            name,
            tuple(assembly.nodes),
            provenance=provenance or Provenance(source=cost.source),
            resident_bytes=sum(source_bytes((primal, 0)) for primal in ends.primals),
        ),
        operations=operations,
        owners=tuple(assembly.owners),
        resident=resident,
        ends=ends,
        once=frozenset(
            position
            for position, (owner, place) in enumerate(assembly.owners)
            if assembly.nodes[position].has_value
            and not operations[owner].backward
            and any(
                (operations[owner].node, stored) in outputs - small
                for stored in (operations[owner].stored if place is None else (place,))
            )
        ),
        reserve_bytes=_reserve_bytes(operations, ends, resident, small, written),
    )


def source_bytes(source: Source) -> int:
    """Return the size of the storage of a result."""
    value = source[0].meta["val"]
    if isinstance(value, tuple | list):
        value = value[source[1]]
    return int(value.untyped_storage().nbytes()) if isinstance(value, Tensor) else 0


def _is_seed(node: fx.Node) -> bool:
    """Whether a node draws seeds of later operators, as Inductor writes random numbers."""
    return is_random(node) and str(node.target).startswith("prims.inductor_seed")


def _depends_on(nodes: Iterable[fx.Node], first: Iterable[fx.Node]) -> set[fx.Node]:
    found = set(first)
    for node in nodes:
        if not found.isdisjoint(node.all_input_nodes):
            found.add(node)
    return found


def _in_order(
    operations: Sequence[TracedOperation], late: set[fx.Node]
) -> tuple[TracedOperation, ...]:
    """Return forward operations, then backward ones; those without a tangent before a reader."""
    of_node = {item.node: item for item in operations}
    placed: dict[fx.Node, TracedOperation] = {
        item.node: item for item in operations if not item.backward
    }

    def place(first: TracedOperation) -> None:
        # A stack, since graphs are deeper than Python's recursion goes.
        stack = [first]
        while stack:
            before = [
                of_node[source]
                for source, _ in map(source_of, stack[-1].node.all_input_nodes)
                if source in of_node and source not in placed
            ]
            if before:
                stack.append(before[0])
            else:
                item = stack.pop()
                placed.setdefault(item.node, item)

    for item in (*(item for item in operations if item.node in late), *operations):
        place(item)
    return tuple(placed.values())


class _Assembly:
    """Nodes of the instance, with the operator and the number of the result of each."""

    def __init__(
        self,
        operations: Sequence[TracedOperation],
        kept: frozenset[Source],
        large_outputs: frozenset[Source] | set[Source],
        cost: OperatorCost,
    ) -> None:
        self.nodes: list[Node] = []
        self.owners: list[tuple[int, int | None]] = []
        self._kept = kept
        self._name_of: dict[Source, str] = {}
        self._large_outputs = large_outputs
        for position, item in enumerate(operations):
            self._add(position, item, cost.spread_ns(item)[1])

    def _add(self, position: int, item: TracedOperation, duration_ns: int) -> None:
        is_one = len(item.stored) < 2
        is_held = any((item.node, place) in self._large_outputs for place in item.stored)
        sources = [(item.node, place) for place in item.stored]
        inputs = self._inputs(item)
        for source in sources:
            self._name_of[source] = item.name if is_one else f"{item.name}.{source[1]}"
        node = Node(
            name=item.name,
            duration_ns=duration_ns,
            output_bytes=item.output_bytes if is_one else 0,
            inputs=inputs,
            # Measured results may be larger than they are.
            workspace_bytes=item.workspace_bytes
            + (0 if is_one else item.output_bytes - sum(map(source_bytes, sources))),
            backward=item.backward,
            keep=is_one and any(source in self._kept for source in sources),
            operator_name=item.operator_name,
            again=item.backward or not is_held,
            results=()
            if is_one
            else tuple(
                OperatorResult(
                    name=self._name_of[source],
                    output_bytes=source_bytes(source),
                    keep=source in self._kept,
                )
                for source in sources
            ),
        )
        self.nodes += node.run()
        self.owners.append((position, None))
        if not is_one:
            self.owners += [(position, place) for place in item.stored]

    def _inputs(self, item: TracedOperation) -> tuple[str, ...]:
        sources = [source_of(argument) for argument in item.node.all_input_nodes]
        found = [self._name_of[source] for source in sources if source in self._name_of]
        if any(source.op == "placeholder" and _is_tangent(source) for source, _ in sources):
            # The caller has these outputs when it gives their gradients.
            found += [
                self._name_of[source]
                for source in sorted(self._large_outputs, key=lambda item: (item[0].name, item[1]))
                if source in self._name_of
            ]
        return tuple(dict.fromkeys(found))


def _is_tangent(node: fx.Node) -> bool:
    return "tangents" in str(node.target)


def _reserve_bytes(
    operations: Sequence[TracedOperation],
    ends: JointEnds,
    resident: Sequence[fx.Node],
    small: set[Source],
    written: set[Source],
) -> int:
    read = {
        source
        for item in operations
        for argument in item.node.all_input_nodes
        for source in (source_of(argument)[0],)
    }
    return sum(
        source_bytes(source)
        for source in (
            *((node, 0) for node in ends.tangents),
            *((node, 0) for node in resident),
            *((node, 0) for node in ends.written if node in read),
            *(source for source in small | written if source[0].op == "call_function"),
        )
    )


def state_bytes(node: fx.Node) -> int:
    """Return the size of the state of the generator that an operator draws from."""
    value = next(item for item in values_of(node) if isinstance(item, Tensor))
    if value.device.type == "cpu":
        return int(torch.get_rng_state().nbytes)
    # A seed and an offset.
    return 16
