"""Parameters of POFO's program, of its brackets, and of the plans timed with transfers at once."""

from __future__ import annotations

from dataclasses import dataclass

from jettison.solvers.core.baselines_first import BaselineParams
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
        Slots of the first grid, as in the paper; each further grid has up to twice as many.
    most_slots
        Slots of the finest grid.
    first_labels
        Labels for each stage on a grid, at first.
    most_labels
        Most labels for each stage.
    more_labels
        Factor on the labels from one bracket to the next, where the grid does not become finer.
    least_growth, most_growth
        Least and largest factor by which the time is taken to grow when the slots are doubled.
    least_refinement
        Least factor by which the next grid has to be finer to be worth its time.
    most_table_bytes
        Limit on the memory of the tables of one bracket.
    share_of_bracket
        Share of the time for the bracket of the fluid model, with transfers at once.
    share_of_fluid
        Share of the remaining time for the brackets of a short chain, with fluid transfers; the
        baselines come after them.
    less_memory_percent
        Part of the memory by which that of a plan is reduced at most, with transfers at once.
    slower_links
        Number of slower links for whose bandwidths plans are made, with transfers at once.
    slowest_link_percent
        Bandwidth of the slowest of these links, as a part of that of the problem.
    """

    most_stages_exact: int = 30
    exact_slots: int = 64
    exact_labels: int = 20_000
    first_slots: int = 50
    most_slots: int = 800
    first_labels: int = 100
    most_labels: int = 102_400
    more_labels: int = 4
    least_growth: float = 2.0
    most_growth: float = 4.0
    least_refinement: float = 1.2
    most_table_bytes: int = 2**30
    share_of_bracket: float = 0.3
    share_of_fluid: float = 0.7
    less_memory_percent: int = 16
    slower_links: int = 2
    slowest_link_percent: int = 50


@dataclass(frozen=True, kw_only=True)
class PofoParams(PlanParams, OffloadCutParams, BaselineParams):
    """Parameters of pofo: those of its plans, and of the cut bound beside them.

    Attributes
    ----------
    share_of_cuts
        Share of the time for the cut bound.
    """

    share_of_cuts: float = 0.3


PLANS = PlanParams()
POFO = PofoParams()
