r"""Offloaded set: which forward values to save on the device, on the host, or not at all.

The class is that of `jettison.schedules.remat_graph.offloaded_set`: computations do not wait, and
the link moves data beside first computations only. Forward nodes :math:`F = \{0, \dots, |F| - 1\}`
come first, backward nodes :math:`\bar F` after them. Durations are :math:`C_i`, outputs
:math:`M_i`, workspaces :math:`W_i`, the memory is :math:`B`, and :math:`D_i` is the time of a
transfer of :math:`i`. For a forward node, :math:`a_i` and :math:`b_i` are its first and its last
reader among the backward nodes (:math:`\infty` and :math:`-\infty` without one), and :math:`f_i`
its last reader among the forward nodes. :math:`T` are chosen nodes; the model is exact if it has
all of them, and otherwise a relaxation. The passes fall into *segments* :math:`g`: each chosen node
is one, and so is each run of others between them; :math:`g < t` are those before :math:`t`.

Columns
-------
====================== ===================================================================
:math:`s_i`, ``s_i``   the value of :math:`i \in F` is saved on the device; binary
:math:`o_i`, ``o_i``   it is offloaded; binary, 0 for what is kept
:math:`n_{t,i}`,       the value of :math:`i` has been needed in the backward pass when :math:`t`
``n_t_i``              runs, for :math:`t \in T \cup \{\infty\}`; from 0 to 1, and 1 for
                       :math:`a_i \le t`
:math:`r_{t,i}`,       :math:`i` has been computed again by then; from 0 to 1;
``r_t_i``              :math:`r_i = r_{\infty,i}`
:math:`q_{g,i}`,       share of the transfer of :math:`i` to the host in segment :math:`g` of the
``q_g_i``              forward pass, behind :math:`i`
:math:`p_{g,i}`,       share of the transfer back in segment :math:`g` of the backward pass, before
``p_g_i``              :math:`a_i`
:math:`y_{t,i}`,       :math:`i` is offloaded and still on the device at :math:`t \in F`; binary
``y_t_i``
:math:`u_{t,i}`,       its transfer back has begun by :math:`t \in \bar F`; binary
``u_t_i``
:math:`m_{t,i}`,       :math:`i` is on the device during :math:`t`; from 0 to 1, where
``m_t_i``              :math:`b_i < t`
:math:`x_{t,j,i}`,     :math:`i` is on the device while :math:`j` runs again for :math:`t`; from 0
``x_t_j_i``            to 1
====================== ===================================================================

Model
-----
.. math::
    \text{(objective)} \quad & \min \sum_{i \in F} C_i r_i \\
    \text{(one)} \quad & s_i + o_i \le 1 \\
    \text{(needed)} \quad & n_{t,i} \ge r_{t,k} && \forall k \in \mathrm{users}(i) \cap F \\
    \text{(wanted)} \quad & n_{t,i} \le \sum_{k} r_{t,k} && \forall a_i > t \\
    \text{(again)} \quad & r_{t,i} \ge n_{t,i} - s_i - o_i,\; r_{t,i} \le n_{t,i},\;
        r_{t,i} \le 1 - s_i - o_i \\
    \text{(out)} \quad & \sum_g q_{g,i} = o_i, \qquad \sum_g p_{g,i} = o_i \\
    \text{(link)} \quad & \sum_i D_i q_{g,i} \le \sum_{t \in g} C_t, \qquad
        \sum_i D_i p_{g,i} \le \sum_{t \in g} C_t && \forall g \\
    \text{(gone)} \quad & y_{t,i} \ge o_i - \sum_{g < t} q_{g,i} && \forall t \in T \cap F \\
    \text{(begun)} \quad & u_{t,i} \ge \sum_{g \le t} p_{g,i} && \forall t \in T \cap \bar F \\
    \text{(there)} \quad & \sum_{g < t} p_{g,i} \ge o_i + n_{t,i} - 1 \\
    \text{(forward)} \quad & G_t + \sum_{i < t,\; f_i < t} M_i (s_i + y_{t,i}) \le B
        && \forall t \in T \cap F \\
    \text{(backward)} \quad & G_t + \sum_{b_i \ge t} M_i A_{t,i} + \sum_{b_i < t} M_i m_{t,i} \le B
        && \forall t \in T \cap \bar F \\
    \text{(later)} \quad & m_{t,i} \ge A_{t,i} + (r_k - r_{t,k}) - 1
        && \forall k \in \mathrm{users}(i) \cap F,\; b_i < t \\
    \text{(anew)} \quad & G'_t + W_j + M_j + \sum_{i \ne j} M_i x_{t,j,i} \le B +
        N (1 - r_{t,j} + r_{t^-,j}) \\
    \text{(meanwhile)} \quad & x_{t,j,i} \ge A_{t,j,i} + (r_k - r_{\tau,k}) - 1
        && \forall k \in \mathrm{users}(i) \cap F

where :math:`A_{t,i} = s_i + r_{t,i} + u_{t,i}` is 1 if the device has :math:`i` at :math:`t`, and
:math:`A_{t,j,i} = s_i + u_{t^-,i} + r_{\tau',i}` while :math:`j` runs again for :math:`t`. Here
:math:`t^- = t - 1` is the backward node before :math:`t` (for the first one nothing has been needed
by :math:`t^-`), :math:`\tau' = t` if :math:`i < j` and else :math:`t^-`, and :math:`\tau = t^-` if
:math:`k \ge j` and else :math:`t`; where :math:`b_i \ge t` the row (meanwhile) has 1 in place of
the difference. Kept forward values are on the device but between their last reader in the forward
pass and their second computation: :math:`1 - r_i + r_{t,i}` stands in place of :math:`s_i +
y_{t,i}`, :math:`A_{t,i}` and :math:`x_{t,j,i}`. :math:`G_t` and :math:`G'_t` are what is there in
any case: the output and workspace of :math:`t`, every forward :math:`i < t` with :math:`f_i \ge
t`, and backward values that are read at :math:`t` or later, or kept. :math:`N` is all memory there
is. Rows (anew) and (meanwhile) are there for :math:`t \in T` with :math:`t^- \in T` or
:math:`t = |F|`.

Rows are named as above with their indices: ``one_i``, ``needed_t_i_k``, ``wanted_t_i``,
``again_t_i``, ``not_needed_t_i``, ``not_again_t_i``, ``out_i``, ``back_i``, ``link_g``,
``gone_t_i``, ``begun_t_i``, ``there_t_i``, ``forward_t``, ``backward_t``, ``later_t_i_k``,
``anew_t_j`` and ``meanwhile_t_j_i_k``.

Proof
-----
Leave out of an offloaded set whatever is saved or offloaded and not needed in the backward pass. By
induction from the last forward node, rows (needed), (wanted) and (again) let
:math:`n` and :math:`r` have one value only for given :math:`s` and :math:`o`: that of the
computations. Shares of segments of one node are the transfers, and of longer ones their sums, so
that the rows hold for every set in the class. If all nodes are chosen, (gone), (begun) and (there)
give each transfer a window outside of which the value is counted, and (link) says that there are
transfers within them; transfers of whole nanoseconds exist where any do, since flows in a network
with whole capacities are whole. What is on the device, and has a reader to come, is counted at each
computation. So the optimum is that of the class.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from jettison.formulations.milp.array_model import ArrayModel, Floats
from jettison.formulations.milp.integer_scale import IntegerScale
from jettison.formulations.remat_graph.offloaded_set_rows import OffloadedSetRows
from jettison.instances.core.link import Link
from jettison.instances.remat_graph.graph import Graph


@dataclass(frozen=True, eq=False)
class BuiltOffloadedSet:
    """Model of an offloaded set.

    Attributes
    ----------
    model
        The model.
    saved, offloaded
        Columns of each forward node.
    time_scale
        Unit of its objective.
    stays, begins
        Columns y and u by node and value, which say where transfers end and begin.
    """

    model: ArrayModel
    saved: tuple[int, ...]
    offloaded: tuple[int, ...]
    time_scale: IntegerScale
    stays: dict[tuple[int, int], int]
    begins: dict[tuple[int, int], int]

    def sets(self, values: Floats) -> tuple[frozenset[int], frozenset[int]]:
        """Return the saved and the offloaded nodes of a point."""
        return (
            frozenset(i for i, column in enumerate(self.saved) if values[column] > 0.5),
            frozenset(i for i, column in enumerate(self.offloaded) if values[column] > 0.5),
        )

    def window(self, values: Floats, value: int) -> tuple[int, int | None]:
        """Return the last node at which an offloaded value leaves, and the first of its return.

        For a model of all nodes; None if it does not return.
        """
        stays = [t for (t, i), column in self.stays.items() if i == value and values[column] > 0.5]
        begins = [
            t for (t, i), column in self.begins.items() if i == value and values[column] > 0.5
        ]
        return max(stays, default=value), min(begins, default=None)


@dataclass(frozen=True)
class OffloadedSetModel:
    """Model of offloaded sets of a graph within an amount of memory.

    Attributes
    ----------
    memory_bytes
        The memory.
    link
        The link.
    chosen
        Nodes at which memory is counted, forward or backward.
    can_be_saved
        Forward nodes that may be saved or offloaded.
    never_again
        Forward nodes that are saved or offloaded wherever they are needed.
    never_moved
        Forward nodes that stay on the device, if they are saved.
    """

    memory_bytes: int
    link: Link
    chosen: Collection[int]
    can_be_saved: Collection[int]
    never_again: Collection[int] = ()
    never_moved: Collection[int] = ()

    def build(self, graph: Graph) -> BuiltOffloadedSet:
        """Build the model.

        Raises
        ------
        InputError
            If forward nodes do not come first, or a node is a result of another one.
        """
        rows = OffloadedSetRows(
            graph,
            memory_bytes=self.memory_bytes,
            link=self.link,
            chosen=self.chosen,
            can_be_saved=self.can_be_saved,
            never_again=self.never_again,
            never_moved=self.never_moved,
        )
        model = rows.write()
        return BuiltOffloadedSet(
            model,
            tuple(rows.saved),
            tuple(rows.offloaded),
            rows.time_scale,
            rows.stays,
            rows.begins,
        )
