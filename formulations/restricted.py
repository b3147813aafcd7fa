r"""The restricted model: forward values are computed again in the backward pass, and nothing else.

A model of schedules that a step is usually run with: the forward pass computes every node once,
backward operations are never repeated. It has a quarter of the columns of `residency`, its points
are schedules, and so its optimum is an upper bound on the staged one, rarely far from it. A lower
bound it is not.

Symbols are those of `residency`. A stage is a backward one if its node has the mark of the backward
pass; :math:`F` are the nodes without the mark, :math:`T` the backward stages, and :math:`b` the
first of them that has a node of :math:`F` to compute again.

Columns
-------
======================================= ===================================================
:math:`R_{t,i}`, ``R_t_i``              stage :math:`t \in T` computes :math:`i \in F \cap A_t`
                                        again; binary; 0 for others
:math:`S_{t,i}`, ``S_t_i``              the value of :math:`i \in A_t` is in memory when stage
                                        :math:`t` begins; binary. If :math:`t < b` and no stage
                                        from :math:`t` to :math:`b - 1` reads :math:`i`, it is
                                        the column ``S_b_i``
:math:`L_{t,q,i}`, ``L_t_q_i``          as in `residency`, for chosen slots
======================================= ===================================================

Model
-----
.. math::
    \text{(objective)} \quad & \min \sum_{t \in T} \sum_{i \in F \cap A_t} C_i R_{t,i} \\
    \text{(stage)} \quad & R_{t,i} + S_{t,i} \ge 1 && \forall t < n,\; i \in \mathrm{in}(t) \\
    \text{(dependency)} \quad & R_{t,j} \le R_{t,i} + S_{t,i}
        && \forall t \in T,\; j \in F \cap A_t,\; i \in \mathrm{in}(j) \\
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

with (later) and (slot) for the chosen slots :math:`(t, q)`, :math:`t \in T`, :math:`q \in F`. Rows
are named as in `residency`.

One column for stages before :math:`b` loses nothing. Nothing is computed again there, so that a
value that is dropped stays away until :math:`b`: what no stage up to :math:`b` reads any more is
best dropped at once, or in memory throughout.

With all slots the points are the restricted staged schedules, by the proof of `residency`. With
fewer the memory of some recomputations is not counted: the replay says which slots are missing.

Size: :math:`|T| |F|` binaries R and about as many S: some ten thousand for a few hundred nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from jettison.formulations.recomputation import ForwardNodesInBackwardStages
from jettison.formulations.stage_rows import StageRows
from jettison.formulations.staged_model import StagedModel
from jettison.instances.remat_graph import RematGraph
from jettison.schedules.schedule_class import ScheduleClass


@dataclass(frozen=True, slots=True)
class EverySlot:
    """All slots: the model is exact for the schedules that it allows."""


@dataclass(frozen=True, slots=True)
class ChosenSlots:
    """Some slots, or none.

    Attributes
    ----------
    slots
        Pairs of a stage and a node; those where nothing may be computed again add nothing.
    """

    slots: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Restricted:
    """The model in the docstring of this module.

    Attributes
    ----------
    slots
        Where the memory of recomputations is counted.
    """

    slots: EverySlot | ChosenSlots = field(default_factory=EverySlot)

    def build(self, problem: RematGraph) -> StagedModel:
        """Build the model; about 3 µs for each coefficient."""
        stages = range(len(problem.instance))
        slots = (
            [(t, q) for t in stages for q in range(t)]
            if isinstance(self.slots, EverySlot)
            else self.slots.slots
        )
        rows = StageRows(
            "restricted", problem, ForwardNodesInBackwardStages(), ScheduleClass.STAGED
        )
        rows.add_stages()
        rows.add_frontier()
        rows.add_slots(slots)
        return rows.model()
