"""Optimal messages and multipliers for the bound on sharding, from the linear relaxation."""

from __future__ import annotations

import numpy as np

from jettison.formulations.sharding.ilp import sharding_ilp
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import pass_interrupt_on
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.work import moves_of
from jettison.solvers.milp.highs_in_time import solve_in_time
from jettison.solvers.milp.highs_of_a_method import highs_options
from jettison.solvers.sharding.bounds.messages import Messages
from jettison.solvers.sharding.presolve.reduced_graph import ReducedGraph


def relaxed_messages(graph: ReducedGraph, clock: Clock, options: SolveOptions) -> Messages | None:
    """Solve the relaxation of the ILP; return its multipliers as messages, to be made exact.

    In `formulations.sharding.ilp` the multipliers of the rows *from* and *to* are the messages of
    an edge, those of the rows *memory* the multipliers of memory.

    Returns
    -------
    Messages or None
        None if the time is up before the relaxation is solved.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C.
    """
    data, _ = graph.written()
    built = sharding_ilp(data)
    solution = solve_in_time(built.model.relaxed(), highs_options(options, clock, gap=0))
    clock.spend(moves_of(built.model.num_columns, solution.work))
    pass_interrupt_on(solution.termination)
    if solution.row_duals is None:
        return None
    unit = float(built.cost_scale.unit * built.cost_scale.factor)
    duals = solution.row_duals * unit
    messages: list[float] = []
    for ends in data.tables:
        for rows in built.edge_rows[ends]:
            # A strategy without a row is forbidden, and its message is not used.
            messages.extend(np.where(rows >= 0, duals[rows], 0.0).tolist())
    multipliers = [
        max(0.0, -float(duals[row]) / (scale.unit * scale.factor))
        for row, scale in built.limit_rows
    ]
    found = Messages(graph)
    found.adopt(messages, multipliers)
    return found
