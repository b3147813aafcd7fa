r"""The residency model: the staged optimum of a graph without columns for what is freed.

Where Checkmate's model (`checkmate`) follows the memory from operation to operation, by columns
FREE and U, this one counts at each *slot* :math:`(t, q)`, :math:`q < t`, the moment of stage
:math:`t` at which :math:`q` is computed again or would be, what is in memory: stored values of
later nodes, :math:`q` itself, and those of earlier nodes that something reads at :math:`q`, later
in the stage, or in a later one. Other symbols are those of `frontier`.

Columns
-------
:math:`R` and :math:`S` of `frontier`, ``R_t_i`` and ``S_t_i``, with :math:`R_{n,i} = 0`, and for
every slot and :math:`i \in A_t`, :math:`i < q`, :math:`t \notin \mathrm{us}(i)`:

================================ ==========================================================
:math:`L_{t,q,i}`, ``L_t_q_i``   the value of :math:`i` is in memory at the slot because
                                 something reads it from there on; from 0 to 1
================================ ==========================================================

Model
-----
.. math::
    \text{(objective)} \quad & \min \sum_{t < n} \sum_{i \in A_t} C_i R_{t,i} \\
    \text{(stage)} \quad & R_{t,i} + S_{t,i} \ge 1 && \forall t < n,\; i \in \mathrm{in}(t) \\
    \text{(dependency)} \quad & R_{t,j} \le R_{t,i} + S_{t,i}
        && \forall t,\; j \in A_t,\; i \in \mathrm{in}(j) \\
    \text{(checkpoint)} \quad & S_{t,i} \le R_{t-1,i} + S_{t-1,i}
        && \forall t,\; i \in A_t,\; i < t-1 \\
    \text{(keep)} \quad & S_{n,i} \ge 1 && \forall i \in K \\
    \text{(frontier)} \quad & M_t + W_t + \sum_{p \in \mathrm{in}(t)} M_p
        + \sum_{i \in A_{t+1},\; i < t,\; i \notin \mathrm{in}(t)} M_i S_{t+1,i} \le B
        && \forall t < n \\
    \text{(later)} \quad & L_{t,q,i} \ge S_{t+1,i}, \quad
        L_{t,q,i} \ge R_{t,j} \;\; \forall j \in \mathrm{us}(i),\; q \le j < t \\
    \text{(slot)} \quad & M_q (R_{t,q} + S_{t,q}) + W_q R_{t,q}
        + \sum_{i > q} M_i S_{t,i} + \sum_{i < q} M_i L_{t,q,i} \le B

for every slot, over :math:`i \in A_t`, with :math:`L_{t,q,i} = 1` if :math:`t \in \mathrm{us}(i)`.
Rows are named as in `frontier`, and ``slot_t_q``, ``later_t_q_i`` (for :math:`S`) and
``later_t_q_i_j``.

Every staged schedule that frees as early as it can is a point. `frontier` has the proof but for
(slot). A value that :math:`S_{t,i} = 1` finds in stage :math:`t` is read in it by a node after
:math:`i`, or stays beyond; so it is not computed in that stage, and is in memory at every slot up
to :math:`i`. A value of an :math:`i < q` that is read at :math:`q` or later, or stays, is in memory
at slot :math:`q`, for in this stage :math:`i` had its turn. So the row counts values that are in
memory together: while :math:`q` is computed, or, if it is not, at the end of the operation before,
which had room for them.

And every point becomes a staged schedule that fits: compute what :math:`R` says, stage by stage, in
ascending order, and free after last reads. Let :math:`i` be in memory while stage :math:`t`
computes :math:`q`, so that a later operation reads it before :math:`i` is computed again, or the
end keeps it.

* :math:`i > q`: in this stage only nodes after :math:`i` read it, so that :math:`R_{t,i} = 0`, or
  they would read what :math:`i` computes then. By (stage) and (dependency) if it is read in this
  stage, and by these, (keep) and a chain of (checkpoint) if later, :math:`S_{t,i} = 1`.
* :math:`i < q`: it is read by a :math:`j \ge q` of this stage, or by :math:`t`, or in a later stage
  and then :math:`S_{t+1,i} = 1` by the same chain. Each of them is a reason for :math:`L_{t,q,i}`.
* :math:`i = q`: counted with its workspace.

So (slot) bounds the memory of every recomputation, and (frontier) that of every first computation.
The objective is the time of the recomputations in :math:`R`, and leaving out those that nobody
reads only lowers it: the optimum is that of the best staged schedule. The same holds with slots
where `Recomputation` permits recomputing, for the others are never used.

Size: :math:`O(n^2)` binaries, :math:`n (n-1) / 2` slots, and :math:`O(n^3)` coefficients and
columns L; for graphs of some dozens of nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from jettison.formulations.recomputation import AnyNode, Recomputation
from jettison.formulations.stage_rows import StageRows
from jettison.formulations.staged_model import StagedModel
from jettison.instances.remat_graph import RematGraph
from jettison.schedules.schedule_class import ScheduleClass


@dataclass(frozen=True)
class Residency:
    """The model in the docstring of this module.

    Attributes
    ----------
    recomputation
        What may be computed again.
    """

    recomputation: Recomputation = field(default_factory=AnyNode)

    def build(self, problem: RematGraph) -> StagedModel:
        """Build the model; about 3 µs for each coefficient."""
        rows = StageRows("residency", problem, self.recomputation, ScheduleClass.STAGED)
        rows.add_stages()
        rows.add_frontier()
        rows.add_slots((t, q) for t in range(len(problem.instance)) for q in range(t))
        return rows.model()
