r"""The frontier model: recomputation in every stage, one row of memory for each first computation.

Stage :math:`t` of a graph's step computes some earlier nodes again and then :math:`t` for the first
time; stage :math:`n` follows the last first computation. Nodes are counted from 0 to :math:`n-1`,
as in `Graph`; :math:`\mathrm{in}(k)` are the inputs of :math:`k` and :math:`\mathrm{us}(i)` the
users of :math:`i`. Durations are :math:`C_i`, outputs :math:`M_i`, workspaces :math:`W_i`, the
memory is :math:`B`, the set of kept nodes :math:`K`. :math:`A_t`, for :math:`t \le n`, are the
nodes :math:`i < t` that are kept, or ancestors of a kept node or of one from :math:`t` on.

Columns
-------
For every :math:`t \le n` and :math:`i \in A_t`, binary:

============================ ==============================================================
:math:`R_{t,i}`, ``R_t_i``   stage :math:`t` computes :math:`i` again, where the choice of
                             recomputations (`Recomputation`) permits it; 0 elsewhere
:math:`S_{t,i}`, ``S_t_i``   the value of :math:`i` is in memory when stage :math:`t` begins and
                             is read before :math:`i` is computed next, or is kept
============================ ==============================================================

Model
-----
.. math::
    \text{(objective)} \quad & \min \sum_{t \le n} \sum_{i \in A_t} C_i R_{t,i} \\
    \text{(stage)} \quad & R_{t,i} + S_{t,i} \ge 1 && \forall t < n,\; i \in \mathrm{in}(t) \\
    \text{(dependency)} \quad & R_{t,j} \le R_{t,i} + S_{t,i}
        && \forall t,\; j \in A_t,\; i \in \mathrm{in}(j) \\
    \text{(checkpoint)} \quad & S_{t,i} \le R_{t-1,i} + S_{t-1,i}
        && \forall t,\; i \in A_t,\; i < t-1 \\
    \text{(keep)} \quad & R_{n,i} + S_{n,i} \ge 1 && \forall i \in K \\
    \text{(frontier)} \quad & M_t + W_t + \sum_{p \in \mathrm{in}(t)} M_p
        + \sum_{i \in A_{t+1},\; i < t,\; i \notin \mathrm{in}(t)} M_i S_{t+1,i} \le B
        && \forall t < n

Rows are named ``stage_t_i``, ``dependency_t_j_i``, ``checkpoint_t_i``, ``keep_i`` and
``frontier_t``. The time of a step is :math:`\sum_i C_i` and the objective.

It relaxes the problem for every schedule whose first computations follow the order of the graph,
whatever is computed again between them, how often and in which order. Let the columns be what such
a schedule says. What stage :math:`t` reads was there when it began and has not been computed in
between, or was computed in it: (stage), (dependency), and at the end (keep). What is there when
stage :math:`t` begins and is older than :math:`t-1` was there a stage before or was computed in
it: (checkpoint). While :math:`t` is computed for the first time, its inputs, its output and its
workspace are in memory, and so is each older value that stage :math:`t+1` finds, for nothing else
is computed meanwhile: (frontier). For staged schedules :math:`R_{n,i} = 0`.

What recomputations need themselves is in no row; `residency` adds it and is exact. Source:
Checkmate (MLSys 2020) for (dependency) and (checkpoint); its columns FREE and U are gone.

Size: :math:`n (n+1)` columns and :math:`n (n + |E|) / 2` rows at most.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from jettison.formulations.recomputation import AnyNode, Recomputation
from jettison.formulations.stage_rows import StageRows
from jettison.formulations.staged_model import StagedModel
from jettison.instances.remat_graph import RematGraph
from jettison.schedules.schedule_class import ScheduleClass


@dataclass(frozen=True)
class Frontier:
    """The model in the docstring of this module.

    Attributes
    ----------
    recomputation
        What may be computed again.
    """

    recomputation: Recomputation = field(default_factory=AnyNode)

    def build(self, problem: RematGraph) -> StagedModel:
        """Build the model; about 3 µs for each coefficient."""
        rows = StageRows("frontier", problem, self.recomputation, ScheduleClass.IN_ORDER)
        rows.add_stages()
        rows.add_frontier()
        return rows.model()
