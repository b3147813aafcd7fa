r"""Graph of a step in JAX, with the kernels that a compiler makes of its equations.

A node is what stays in memory: changes of shape are no nodes, and an equation that is computed
element by element is fused into its readers, so that its value is never in memory, unless

- something reads it that is no elementwise equation or reduction (a product, a loop),
- it is dear (an exponential, say) and has two readers,
- the backward pass reads what the forward pass computes, and it is smaller than what it is
  computed from: a mask, say,
- it is a separator (`NamedProgram.separators`), as what is added up along a network is,
- it is a result of the step, or has several results.

Results of the step (the loss, gradients) have no bytes: XLA gives them buffers of their own, apart
from its temporary memory. An equation with several results is one node with all their bytes. Values
that no argument decides, an ``iota`` say, take no memory.

*Backward* is what depends on the gradients that are given, and what ``jax.checkpoint`` runs after
the forward pass even if every name is saved: derivatives of activations, say. The latter are run
right before their first reader.

Nodes have the names of their values in JAX (`jettison.schedules.remat_graph.value_names`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from jettison.instances.core.provenance import Provenance
from jettison.instances.remat_graph.graph import Graph, Node
from jettison.jax.named_program import NamedProgram
from jettison.jax.result_buffers import temporary_peak_bytes
from jettison.jax.step_trace import StepTrace
from jettison.jax.step_values import Kernel, StepValues
from jettison.schedules.remat_graph.lazy_schedule import lazy_computations
from jettison.schedules.remat_graph.value_names import node_name

# Nanoseconds of a kernel, by the bytes of a value.
Duration = Callable[[Kernel, Callable[[int], int]], int]


@dataclass(frozen=True, eq=False)
class StepGraph:
    """Graph of a step, and which of its values policies can name.

    Attributes
    ----------
    graph
        The graph: forward nodes first.
    kernels
        The kernel of each node.
    names
        Names that save the value of a node, by its position.
    entering
        Forward nodes that are saved by whatever policy.
    results
        Bytes of the results of the step that a node makes, by its position.
    """

    graph: Graph
    kernels: tuple[Kernel, ...]
    names: Mapping[int, tuple[str, ...]]
    entering: frozenset[int]
    results: Mapping[int, tuple[int, ...]]

    @cached_property
    def num_forward(self) -> int:
        """Number of forward nodes, which come first."""
        return sum(not node.backward for node in self.graph.nodes)

    def temporary_bytes(self, saved: Collection[int]) -> int:
        """Return the predicted temporary memory of XLA, if these forward nodes are saved.

        This is the peak without what lies in the buffers of results, which the graph does not have.
        """
        again = frozenset(range(self.num_forward)).difference(saved)
        computations = lazy_computations(self.graph, again)
        return temporary_peak_bytes(self.graph, computations, self.results)

    def names_of(self, places: Iterable[int]) -> tuple[str, ...]:
        """Return the names of values, in order."""
        return tuple(sorted(name for place in places for name in self.names.get(place, ())))

    @cached_property
    def position_of_name(self) -> Mapping[str, int]:
        """Position of the node that a name saves."""
        return {name: place for place, names in self.names.items() for name in names}


def build_step_graph(
    named: NamedProgram,
    trace: StepTrace,
    duration_ns: Duration,
    *,
    name: str,
    provenance: Provenance,
) -> StepGraph:
    """Return the graph of a trace.

    Parameters
    ----------
    named
        The program of the loss.
    trace
        Its trace.
    duration_ns
        Duration of a kernel.
    name, provenance
        Of the graph.

    Raises
    ------
    InputError
        If the step computes nothing.

    Notes
    -----
    :math:`O(n + |E|)`, where what is fused counts once for each of its readers.
    """
    # What is kept of the step of a plan is seen in it.
    separators = set() if trace.is_planned else {named.names[value] for value in named.separators}
    values = StepValues(trace, separators)
    kernels = values.kernels()
    position = {value: place for place, item in enumerate(kernels) for value in item.root.outputs}
    entering_names = {named.names[value] for value in named.entering if value in named.names}
    names: dict[int, tuple[str, ...]] = {}
    entering: set[int] = set()
    for place, item in enumerate(kernels):
        if item.is_backward:
            continue
        found = [values.names[value] for value in item.root.outputs if value in values.names]
        if found:
            # A change of shape has given a value another name: the first one is enough.
            names[place] = tuple(several[0] for several in found)
        if any(entering_names & set(several) for several in found) or any(
            value in values.saved_anyway for value in item.root.outputs
        ):
            entering.add(place)
    node_names = [
        node_name(item.root.name, names.get(place, ()), always=place in entering)
        for place, item in enumerate(kernels)
    ]
    nodes = []
    results: dict[int, tuple[int, ...]] = {}
    for place, item in enumerate(kernels):
        outputs = item.root.outputs
        inputs = dict.fromkeys(position[value] for value in item.reads if value in position)
        returned = [value for value in outputs if value in values.returned]
        if returned:
            results[place] = tuple(map(values.size_bytes, returned))
        nodes.append(
            Node(
                name=node_names[place],
                duration_ns=duration_ns(item, values.size_bytes),
                output_bytes=sum(
                    values.size_bytes(value) for value in outputs if value not in values.returned
                ),
                inputs=tuple(node_names[source] for source in inputs),
                workspace_bytes=values.copied_bytes(item),
                backward=item.is_backward,
                keep=bool(returned),
            )
        )
    graph = Graph(name, tuple(nodes), provenance=provenance)
    return StepGraph(graph, kernels, names, frozenset(entering), results)
