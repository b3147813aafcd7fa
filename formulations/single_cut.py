r"""What one moment of a graph's step forces to be computed again: a model of :math:`2n` binaries.

The moment is the end of the first computation of a node :math:`t`, the *cut*. What is needed after
it and is not in memory then must be computed again. Nodes are counted from 0 to :math:`n-1`, as in
`Graph`; :math:`\mathrm{in}(k)` are the inputs of :math:`k`. Durations are :math:`C_i`, outputs
:math:`M_i`, workspaces :math:`W_i`, the memory is :math:`B`, the set of kept nodes :math:`K`.
:math:`N` are the nodes :math:`p \le t` that a node after :math:`t` reads or that are kept, and
:math:`A` are they and their ancestors.

Columns
-------
For every :math:`i \in A`, binary:

======================= ===================================================================
:math:`Z_i`, ``Z_i``    :math:`i` is computed again after the cut, where the choice of
                        recomputations (`Recomputation`) permits it in some stage after
                        :math:`t`; 0 elsewhere
:math:`S_i`, ``S_i``    the value of :math:`i` is in memory at the cut and is read before
                        :math:`i` is computed next, or is kept
======================= ===================================================================

Model
-----
.. math::
    \text{(objective)} \quad & \min \sum_{i \in A} C_i Z_i \\
    \text{(lost)} \quad & Z_p + S_p \ge 1 && \forall p \in N \\
    \text{(path)} \quad & Z_p + S_p \ge Z_i && \forall i \in A,\; p \in \mathrm{in}(i) \\
    \text{(frontier)} \quad & M_t + W_t + \sum_{p \in \mathrm{in}(t)} M_p
        + \sum_{i \in A,\; i < t,\; i \notin \mathrm{in}(t)} M_i S_i \le B

where (lost) is :math:`S_p \ge 1` if :math:`p` may not be computed again before it is read.

Rows are named ``lost_p``, ``path_i_p`` and ``frontier_t``. The time of every schedule whose first
computations follow the order of the graph is at least :math:`\sum_i C_i` and the optimum, for each
:math:`t`: the columns of `frontier`, with :math:`Z_i = \max_{\tau > t} R_{\tau,i}` and
:math:`S_i = S_{t+1,i}`, satisfy these rows, as `cut_closure` shows. The optimum is never more than
that of `frontier`. The best :math:`t` is where the memory costs most, by a knapsack
(`solvers.eviction_cost`), which need not be where the step without recomputation needs most of it.
The matrix is the one of `windowed_frontier` with this cut alone.
"""

# The symbols of the model are the names of the code.
# ruff: noqa: N806

from __future__ import annotations

from dataclasses import dataclass, field

from jettison.formulations.array_model import ArrayModel
from jettison.formulations.array_model_builder import ArrayModelBuilder
from jettison.formulations.integer_scale import IntegerScale
from jettison.formulations.recomputation import AnyNode, Recomputation, permits_before_reading
from jettison.instances.errors import InputError
from jettison.instances.graph import Graph
from jettison.instances.remat_graph import RematGraph


@dataclass(frozen=True)
class SingleCutModel:
    """A built model.

    Attributes
    ----------
    graph
        The instance.
    model
        The model.
    memory_scale, time_scale
        For the row of memory, and for the objective.
    """

    graph: Graph
    model: ArrayModel
    memory_scale: IntegerScale
    time_scale: IntegerScale


@dataclass(frozen=True)
class SingleCut:
    """The model in the docstring of this module.

    Attributes
    ----------
    cut
        The node after whose first computation memory is looked at, counted from 0.
    recomputation
        What may be computed again.
    """

    cut: int
    recomputation: Recomputation = field(default_factory=AnyNode)

    def build(self, problem: RematGraph) -> SingleCutModel:
        """Build the model, in :math:`O(n (n + |E|))`.

        Raises
        ------
        InputError
            If the cut is no node of the graph.
        """
        graph, t, count = problem.instance, self.cut, len(problem.instance)
        if not 0 <= t < count:
            raise InputError(
                f"{t}", field="cut", expected=f"name a node of the graph, 0 to {count - 1}"
            )
        N = [
            p
            for p in range(t + 1)
            if graph.nodes[p].keep or any(user > t for user in graph.users[p])
        ]
        A = _with_ancestors(graph, N)
        sizes = [size for node in graph.nodes for size in (node.output_bytes, node.workspace_bytes)]
        memory_scale = IntegerScale.of(sizes)
        time_scale = IntegerScale.of(node.duration_ns for node in graph.nodes)
        M = [memory_scale.to_model(node.output_bytes) for node in graph.nodes]

        model = ArrayModelBuilder("single_cut")
        Z, S = {}, {}
        for i in A:
            permitted = any(
                self.recomputation.permits(graph, stage, i) for stage in range(t + 1, count + 1)
            )
            C = time_scale.to_model(graph.nodes[i].duration_ns)
            Z[i] = model.add_column(f"Z_{i}", upper=int(permitted), cost=C, integer=True)
        for i in A:
            S[i] = model.add_column(f"S_{i}", upper=1, integer=True)
        for p in N:
            in_time = permits_before_reading(self.recomputation, graph, t, p, count)
            model.add_row(f"lost_{p}", [Z[p], S[p]], [in_time, 1], lower=1)
        for i in A:
            for p in graph.inputs[i]:
                model.add_row(f"path_{i}_{p}", [Z[p], S[p], Z[i]], [1, 1, -1], lower=0)
        beside = [i for i in A if i < t and i not in graph.inputs[t]]
        workspace = memory_scale.to_model(graph.nodes[t].workspace_bytes)
        running = M[t] + workspace + sum(M[p] for p in graph.inputs[t])
        model.add_row(
            f"frontier_{t}",
            [S[i] for i in beside],
            [M[i] for i in beside],
            upper=memory_scale.to_model(problem.memory_bytes) - running,
        )
        return SingleCutModel(graph, model.build(), memory_scale, time_scale)


def _with_ancestors(graph: Graph, nodes: list[int]) -> list[int]:
    """Return the nodes and all that leads to them, ascending."""
    found = set(nodes)
    waiting = list(nodes)
    while waiting:
        for source in graph.inputs[waiting.pop()]:
            if source not in found:
                found.add(source)
                waiting.append(source)
    return sorted(found)
