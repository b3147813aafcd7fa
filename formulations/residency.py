r"""The residency model: the staged optimum of a graph without columns for what is freed.

It is `windowed_frontier` with every node a cut and every slot, so that each stage is a window of
its own: :math:`R_{t,i}` says that stage :math:`t + 1` computes :math:`i` again, and
:math:`S_{t,i}` that :math:`i` is stored when that stage begins. Where Checkmate's model
(`checkmate`) follows the memory from operation to operation, by columns FREE and U, this one counts
at each slot :math:`(t, q)` what is in memory: stored values of later nodes, :math:`q` itself, and
those of earlier nodes that something reads at :math:`q`, later in the stage, or in a later one.

Every staged schedule is a point, as `windowed_frontier` proves. And every point becomes a staged
schedule that fits: compute what :math:`R` says, stage by stage, in ascending order, and free after
last reads. Let :math:`i` be in memory while stage :math:`t` computes :math:`q`, so that a later
operation reads it before :math:`i` is computed again, or the end keeps it.

* :math:`i > q`: in this stage only nodes after :math:`i` read it, so that :math:`R_{w,i} = 0` for
  the window :math:`w` of the stage, or they would read what :math:`i` computes then. By (need) and
  (again) if it is read in this stage, and by (need), (again) and a chain of (stay) if in a later
  one, :math:`S_{w,i} = 1`.
* :math:`i < q`: it is read by a :math:`j \ge q` of this stage, or by :math:`t`, or in a later stage
  and then :math:`S_{w+1,i} = 1` by the same chain. Each of them is a term of :math:`L_{t,q,i}`.
* :math:`i = q`: counted with its workspace.

So (slot) bounds the memory of every recomputation, and (memory) that of every first computation.
The objective is the time of the recomputations in :math:`R`, and leaving out those that nobody
reads only lowers it: the optimum is that of the best staged schedule.

Size: :math:`O(n^2)` binaries, :math:`n (n-1) / 2` slots, and :math:`O(n^3)` coefficients and
columns L; for graphs of some dozens of nodes.
"""

from __future__ import annotations

from dataclasses import dataclass

from jettison.formulations.windowed_frontier import WindowedFrontier
from jettison.formulations.windowed_model import WindowedModel
from jettison.instances.remat_graph import RematGraph
from jettison.schedules.schedule_class import ScheduleClass


@dataclass(frozen=True)
class Residency:
    """The model of all cuts and all slots; it is in the docstring of this module."""

    def build(self, problem: RematGraph) -> WindowedModel:
        """Build the model; about 3 µs for each coefficient."""
        stages = range(len(problem.instance))
        slots = tuple((t, q) for t in stages for q in range(t))
        return WindowedFrontier(tuple(stages), slots, ScheduleClass.STAGED).build(problem)


@dataclass(frozen=True)
class Frontier:
    """The model of all cuts and no slot: a relaxation with one memory row for each stage."""

    def build(self, problem: RematGraph) -> WindowedModel:
        """Build the model; about 3 µs for each coefficient."""
        return WindowedFrontier(tuple(range(len(problem.instance)))).build(problem)
