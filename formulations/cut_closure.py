r"""The frontier model with rows that keep its relaxation from recomputing a little in every stage.

In the linear relaxation of `frontier` each of many stages may compute a small part of a node and
drop it again. Seen from one moment, the end of the first computation of a *cut* :math:`t`, that is
not enough: what is lost there must be computed again later as a whole. Symbols are those of
`frontier`.

Columns
-------
Those of `frontier`, ``R_t_i`` and ``S_t_i``, and for every cut :math:`t < n` and
:math:`i \in A_{t+1}`:

============================ ==============================================================
:math:`Z_{t,i}`, ``Z_t_i``   some stage after :math:`t` computes :math:`i` again; from 0 to 1
============================ ==============================================================

Model
-----
The rows of `frontier`, unchanged,

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

and for every cut :math:`t`, with :math:`N_t = \{p \le t : p \in K \text{ or some user of } p
\text{ is after } t\}`,

.. math::
    \text{(ever)} \quad & Z_{t,i} \le \sum_{\tau > t} R_{\tau,i} && \forall i \in A_{t+1} \\
    \text{(lost)} \quad & Z_{t,p} + S_{t+1,p} \ge 1 && \forall p \in N_t \\
    \text{(path)} \quad & Z_{t,p} + S_{t+1,p} \ge Z_{t,i}
        && \forall i \in A_{t+1},\; p \in \mathrm{in}(i)

Rows are named ``ever_t_i``, ``lost_t_p`` and ``path_t_i_p``.

They cut off no integer point. Put :math:`Z_{t,i} = \max_{\tau > t} R_{\tau,i}`. If :math:`p \le t`
is read by a first computation or by the end after :math:`t`, then by (stage) or (keep) and a chain
of (checkpoint) some stage after :math:`t` computes it, or :math:`S_{t+1,p} = 1`; the same holds by
(dependency) if a stage after :math:`t` computes an :math:`i` that reads it.

Size: :math:`2 |A_{t+1}| + |N_t|` and the edges among :math:`A_{t+1}` in rows, for each cut: many
for all cuts of a large graph. Most of their use is at the few stages that need most memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from jettison.formulations.recomputation import AnyNode, Recomputation
from jettison.formulations.stage_rows import StageRows
from jettison.formulations.staged_model import StagedModel
from jettison.instances.errors import InputError
from jettison.instances.remat_graph import RematGraph
from jettison.schedules.schedule_class import ScheduleClass


@dataclass(frozen=True, slots=True)
class EveryCut:
    """Every node is a cut."""


@dataclass(frozen=True, slots=True)
class ChosenCuts:
    """Some nodes are cuts.

    Attributes
    ----------
    nodes
        Nodes, counted from 0.
    """

    nodes: tuple[int, ...]


@dataclass(frozen=True)
class CutClosure:
    """The model in the docstring of this module.

    Attributes
    ----------
    cuts
        Where the rows of a cut are added.
    recomputation
        What may be computed again.
    """

    cuts: EveryCut | ChosenCuts = field(default_factory=EveryCut)
    recomputation: Recomputation = field(default_factory=AnyNode)

    def build(self, problem: RematGraph) -> StagedModel:
        """Build the model; about 3 µs for each coefficient.

        Raises
        ------
        InputError
            If a cut is no node of the graph.
        """
        stages = range(len(problem.instance))
        cuts = stages if isinstance(self.cuts, EveryCut) else sorted(set(self.cuts.nodes))
        for cut in cuts:
            if cut not in stages:
                raise InputError(
                    f"{cut}",
                    field="cuts",
                    expected=f"name nodes of the graph, 0 to {len(stages) - 1}",
                )
        rows = StageRows("cut_closure", problem, self.recomputation, ScheduleClass.IN_ORDER)
        rows.add_stages()
        rows.add_frontier()
        rows.add_closure(cuts)
        return rows.model()
