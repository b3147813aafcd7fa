r"""Saved set: which forward values to save, where all others are computed again, once.

The class is that of `jettison.schedules.remat_graph.saved_set`: what a policy of names in JAX can
say. Forward nodes :math:`F` come first, backward nodes :math:`\bar F` after them. Durations are
:math:`C_i`, outputs :math:`M_i`, workspaces :math:`W_i`, the memory is :math:`B`;
:math:`\mathrm{in}(k)` are the inputs of :math:`k`. For a forward node, :math:`a_i` and :math:`b_i`
are its first and its last reader among the backward nodes, if it has any (else :math:`a_i =
\infty`, :math:`b_i = -\infty`), and :math:`f_i` its last reader among the forward nodes.

Columns
-------
====================== ===================================================================
:math:`s_i`, ``s_i``   the value of :math:`i \in F` is saved; binary
:math:`r_i`, ``r_i``   :math:`i` is computed again; from 0 to 1
:math:`n_{t,i}`,       some computation up to the first one of the backward node :math:`t` needs
``n_t_i``              the value of :math:`i` in the backward pass; from 0 to 1, for
                       :math:`a_i > t`
:math:`m_{t,i}`,       the value of :math:`i` is in memory while :math:`t` runs; from 0 to 1, for
``m_t_i``              :math:`a_i > t`
====================== ===================================================================

Model
-----
.. math::
    \text{(objective)} \quad & \min \sum_{i \in F} C_i r_i \\
    \text{(lost)} \quad & r_i + s_i \ge 1 && \forall i \in F,\; a_i < \infty \\
    \text{(path)} \quad & r_p + s_p \ge r_i && \forall i \in F,\; p \in \mathrm{in}(i) \\
    \text{(forward)} \quad & G_t + \sum_{i < t,\; f_i < t} M_i s_i \le B && \forall t \in F \\
    \text{(backward)} \quad & G_t + \sum_{i \in F,\; a_i > t} M_i m_{t,i} \le B
        && \forall t \in \bar F \\
    \text{(stay)} \quad & m_{t,i} \ge s_i && \forall t,\; t < a_i < \infty \\
    \text{(back)} \quad & m_{t,i} \ge n_{t,i} && \forall t,\; t < a_i < \infty \\
    \text{(wait)} \quad & m_{t,i} \ge s_i + r_j - n_{t,j} - 1
        && \forall t,\; a_i = \infty,\; i \in \mathrm{in}(j),\; j \in F \\
    \text{(need)} \quad & n_{t,p} \ge n_{t,i} - s_i && \forall t,\; i \in F,\; p \in \mathrm{in}(i)

where :math:`n_{t,i} = 1` if :math:`a_i \le t`. :math:`G_t` is what is in memory while :math:`t`
runs whatever is saved: its output and workspace; for :math:`t \in F` every :math:`i < t` with
:math:`f_i \ge t`; for :math:`t \in \bar F` the values of backward nodes that are read at :math:`t`
or later, or kept, and every :math:`i \in F` with :math:`a_i \le t \le b_i`, which is in memory
because it was saved or because it was computed again for :math:`a_i`. Values that are kept count at
the end as well as any other.

Rows are named ``lost_i``, ``path_i_p``, ``forward_t``, ``backward_t``, ``stay_t_i``, ``back_t_i``,
``wait_t_i_j`` and ``need_t_i_p``. Rows (forward) and (backward) are there for chosen nodes only:
with fewer of them the model is a relaxation.

Proof
-----
Take a saved set whose members are all read in the backward pass (others change nothing and can be
left out), and the columns as they are defined. A value that the backward pass reads and that is not
saved is computed again (lost), and so is in turn what that reads (path). While a forward node runs,
what was saved before stays, since something in the backward pass reads it (forward). While
:math:`t \in \bar F` runs, :math:`i` with :math:`t < a_i < \infty` is in memory if it was saved, or
if it was computed again for something up to :math:`t` (stay), (back): :math:`a_i` reads it, and
nothing is computed a third time. If :math:`a_i = \infty`, a saved :math:`i` is in memory as long
as a :math:`j` that reads it is to be computed again and has not been needed yet (wait). What is
needed and not saved needs its inputs (need). So the optimum is at most the recomputation of the
best saved set. What is in memory *between* first computations, while something is computed again,
is not counted: the optimum is a lower bound, which is reached if its saved set fits.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from jettison.formulations.milp.array_model import ArrayModel, Floats
from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.formulations.milp.integer_scale import IntegerScale
from jettison.instances.remat_graph.graph import Graph
from jettison.schedules.remat_graph.saved_set import check_forward_first


@dataclass(frozen=True, eq=False)
class BuiltSavedSet:
    """Model of a saved set.

    Attributes
    ----------
    model
        The model.
    saved
        Column of each forward node.
    time_scale
        Unit of its objective.
    """

    model: ArrayModel
    saved: tuple[int, ...]
    time_scale: IntegerScale

    def saved_set(self, values: Floats) -> frozenset[int]:
        """Return the saved nodes of a point."""
        return frozenset(node for node, column in enumerate(self.saved) if values[column] > 0.5)


@dataclass(frozen=True)
class SavedSetModel:
    """Model of saved sets of a graph within an amount of memory.

    Attributes
    ----------
    limit_bytes
        For chosen nodes, forward or backward, the memory while they run for the first time.
    can_be_saved
        Forward nodes that may be saved.
    never_again
        Of these, the ones that may not be computed again: :math:`r_i = 0`.
    """

    limit_bytes: Mapping[int, int]
    can_be_saved: Collection[int]
    never_again: Collection[int] = ()

    def build(self, graph: Graph) -> BuiltSavedSet:
        """Build the model.

        Raises
        ------
        InputError
            If forward nodes do not come first, or a node is a result of another one.
        """
        return _Writer(self, graph).write()


class _Writer:
    def __init__(self, settings: SavedSetModel, graph: Graph) -> None:
        self._settings = settings
        self._graph = graph
        self._forward = check_forward_first(graph)
        self._builder = ArrayModelBuilder("saved_set")
        forward = range(self._forward)
        readers = [[user for user in graph.users[i] if user >= self._forward] for i in forward]
        self._first = [min(found, default=len(graph)) for found in readers]
        self._last = [max(found, default=-1) for found in readers]
        self._last_forward = [
            max((user for user in graph.users[i] if user < self._forward), default=i)
            for i in forward
        ]
        nodes = graph.nodes
        self._time = IntegerScale.of(node.duration_ns for node in nodes[: self._forward])
        amounts = [node.output_bytes for node in nodes] + [node.workspace_bytes for node in nodes]
        self._bytes = IntegerScale.of(amounts)

    def write(self) -> BuiltSavedSet:
        """Add all columns and rows."""
        graph, builder = self._graph, self._builder
        forward = range(self._forward)
        may, never = set(self._settings.can_be_saved), set(self._settings.never_again)
        self._s = [
            builder.add_column(f"s_{i}", upper=float(i in may), integer=True) for i in forward
        ]
        costs = [self._time.to_model(node.duration_ns) for node in graph.nodes]
        self._r = [
            builder.add_column(f"r_{i}", upper=float(i not in never), cost=costs[i])
            for i in forward
        ]
        for i in forward:
            if self._first[i] < len(graph):
                builder.add_row(f"lost_{i}", [self._r[i], self._s[i]], [1, 1], lower=1)
            for p in graph.inputs[i]:
                builder.add_row(
                    f"path_{i}_{p}", [self._r[p], self._s[p], self._r[i]], [1, 1, -1], lower=0
                )
        for t in sorted(self._settings.limit_bytes):
            if t < self._forward:
                self._add_forward(t)
            else:
                self._add_backward(t)
        return BuiltSavedSet(builder.build(), tuple(self._s), self._time)

    def _add_forward(self, t: int) -> None:
        nodes = self._graph.nodes
        stays = [i for i in range(t) if self._last_forward[i] >= t]
        given = nodes[t].output_bytes + nodes[t].workspace_bytes
        given += sum(nodes[i].output_bytes for i in stays)
        rest = [i for i in range(t) if self._last_forward[i] < t and nodes[i].output_bytes]
        self._add_memory(f"forward_{t}", t, given, [(i, self._s[i]) for i in rest])

    def _add_backward(self, t: int) -> None:
        graph, builder = self._graph, self._builder
        nodes, count = graph.nodes, len(graph)
        given = nodes[t].output_bytes + nodes[t].workspace_bytes
        for i in range(self._forward, t):
            if nodes[i].keep or any(user >= t for user in graph.users[i]):
                given += nodes[i].output_bytes
        needed: dict[int, int] = {}
        stored: list[tuple[int, int]] = []
        for i in range(self._forward):
            if self._first[i] <= t:
                is_there = self._last[i] >= t or nodes[i].keep
                given += nodes[i].output_bytes if is_there else 0
                continue
            needed[i] = builder.add_column(f"n_{t}_{i}", upper=1)
            stored.append((i, builder.add_column(f"m_{t}_{i}", upper=1)))
        for i, m in stored:
            if self._first[i] < count:
                builder.add_row(f"stay_{t}_{i}", [m, self._s[i]], [1, -1], lower=0)
                builder.add_row(f"back_{t}_{i}", [m, needed[i]], [1, -1], lower=0)
                continue
            for j in graph.users[i]:
                # What is needed by now has read it.
                if j in needed:
                    builder.add_row(
                        f"wait_{t}_{i}_{j}",
                        [m, self._s[i], self._r[j], needed[j]],
                        [1, -1, -1, 1],
                        lower=-1,
                    )
        for i in range(self._forward):
            for p in graph.inputs[i]:
                if p not in needed:
                    continue
                name = f"need_{t}_{i}_{p}"
                if i in needed:
                    builder.add_row(name, [needed[p], needed[i], self._s[i]], [1, -1, 1], lower=0)
                else:
                    builder.add_row(name, [needed[p], self._s[i]], [1, 1], lower=1)
        self._add_memory(f"backward_{t}", t, given, stored)

    def _add_memory(
        self, name: str, t: int, given_bytes: int, columns: list[tuple[int, int]]
    ) -> None:
        limit = self._settings.limit_bytes[t] - given_bytes
        amounts = [self._bytes.to_model(self._graph.nodes[i].output_bytes) for i, _ in columns]
        # Rounded towards zero: a negative limit stays negative, and no point fits.
        upper = self._bytes.to_model(limit)
        self._builder.add_row(name, [column for _, column in columns], amounts, upper=upper)
