"""Parameters of POFO's program, of its brackets, and of the plans timed with transfers at once."""

from __future__ import annotations

from dataclasses import dataclass

from jettison.solvers.core.params import Params
from jettison.solvers.remat_offload.cut_bound.cuts import OffloadCutParams


@dataclass(frozen=True, kw_only=True)
class PlanParams(Params):
    """Parameters of the brackets of POFO's program, and of its plans for other resources.

    Attributes
    ----------
    most_stages_exact
        Longest chain that is solved without a grid, in about a second.
    exact_slots
        Slots of the bound on what a label leads to, where a chain is solved without a grid.
    exact_labels
        Labels for each stage at first, where a chain is solved without a grid.
    first_slots
        Least number of slots of the first grid.
    usual_slots
        Slots of one of the grids where the sizes have no common unit.
    most_units
        Most slots of a grid of the common unit of the sizes.
    most_slots
        Most slots of the finest grid.
    most_backward_slots
        Most slots of the memory of the backward phase, which rounds far less often than what is
        kept of the forward phase.
    most_entries_of_both
        Slots times stages up to which the bound on a grid has both its programs. On finer ones it
        has the stronger one alone, and both close the gap where they are affordable.
    grid_growth
        Factor on the slots from one grid to the next.
    negligible_part
        Sizes of at most one of so many parts of the memory do not count for the common unit.
    first_labels
        Labels for each stage of the first search on a grid.
    labels_of_plans, labels_of_floors
        Most labels for each stage on a grid that is not the last, for plans and for floors. From
        the usual number of slots on, plans have as many as floors.
    most_labels
        Most labels for each stage on the last grid.
    most_labels_to_the_byte
        Most labels of a search on a grid after which memory is counted to the byte.
    least_s_to_the_byte
        Least number of seconds for that, before finer grids.
    more_labels
        Factor on the labels from one search to the next.
    least_growth, most_growth
        Least and largest factor by which the time is taken to grow from one grid to the next.
    most_table_bytes
        Limit on the memory of the tables of one bracket.
    most_entries_of_first
        Slots times stages of the grids of a bracket that come before all other searches but the
        baselines.
    most_labels_of_first
        Labels for each stage of the searches that do.
    less_memory_percent
        Part of the memory by which that of a plan is reduced at most, with transfers at once.
    slower_links
        Number of slower links for whose bandwidths plans are made, with transfers at once.
    first_slots_of_plans, most_slots_of_plans
        Slots of the first of these plans, as in the paper, and of the finest.
    slowest_link_percent
        Bandwidth of the slowest of these links, as a part of that of the problem.
    """

    most_stages_exact: int = 30
    exact_slots: int = 64
    exact_labels: int = 20_000
    first_slots: int = 48
    usual_slots: int = 800
    most_units: int = 1600
    most_slots: int = 52_000
    most_backward_slots: int = 1600
    most_entries_of_both: int = 300_000
    grid_growth: int = 4
    negligible_part: int = 4096
    first_labels: int = 16
    labels_of_plans: int = 256
    labels_of_floors: int = 1024
    most_labels: int = 102_400
    most_labels_to_the_byte: int = 20_000
    least_s_to_the_byte: float = 1.0
    more_labels: int = 4
    least_growth: float = 2.0
    most_growth: float = 8.0
    most_table_bytes: int = 2**31
    most_entries_of_first: int = 110_000
    most_labels_of_first: int = 20_000
    less_memory_percent: int = 16
    slower_links: int = 2
    first_slots_of_plans: int = 50
    most_slots_of_plans: int = 800
    slowest_link_percent: int = 50


@dataclass(frozen=True, kw_only=True)
class PofoParams(PlanParams, OffloadCutParams):
    """Parameters of pofo: those of its plans, and of the cut bound beside them.

    Attributes
    ----------
    share_of_cuts
        Share of the time for the cut bound.
    least_s_of_baselines
        Least time for all baselines together, whatever the limit.
    idle_changes
        Changes of the best schedule for each stage that are tried, with transfers at once, since
        the last one that made it faster.
    """

    share_of_cuts: float = 0.3
    least_s_of_baselines: float = 1.0
    idle_changes: int = 200


PLANS = PlanParams()
POFO = PofoParams()
