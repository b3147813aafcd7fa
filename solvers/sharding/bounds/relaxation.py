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
from jettison.solvers.sharding.bounds.messages import ExactSplit, Floats, Messages
from jettison.solvers.sharding.presolve.state import ShardingState
from jettison.solvers.sharding.reduced_choice import choice_of


def relaxed_split(state: ShardingState, clock: Clock, options: SolveOptions) -> ExactSplit | None:
    """Solve the relaxation of the ILP, and evaluate its multipliers in exact arithmetic.

    In `formulations.sharding.ilp` the multipliers of the rows *from* and *to* are the messages of
    an edge, those of the rows *memory* the multipliers of memory; see `messages` for why any values
    make a bound.

    Returns
    -------
    ExactSplit or None
        None if the time is up before the relaxation is solved.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C.
    """
    data, nodes = choice_of(state)
    built = sharding_ilp(data)
    solution = solve_in_time(built.model.relaxed(), highs_options(options, clock, gap=0))
    clock.spend(moves_of(built.model.num_columns, solution.work))
    pass_interrupt_on(solution.termination)
    if solution.row_duals is None:
        return None
    unit = float(built.cost_scale.unit * built.cost_scale.factor)
    duals = solution.row_duals * unit
    messages: dict[tuple[int, int], Floats] = {}
    for (first, second), (from_rows, to_rows) in built.edge_rows.items():
        # A strategy without a row is forbidden, and its message is not used.
        messages[nodes[second], nodes[first]] = np.where(from_rows >= 0, duals[from_rows], 0.0)
        messages[nodes[first], nodes[second]] = np.where(to_rows >= 0, duals[to_rows], 0.0)
    multipliers = np.array(
        [
            max(0.0, -float(duals[row]) / (scale.unit * scale.factor))
            for row, scale in built.limit_rows
        ]
    )
    found = Messages(state)
    found.adopt(messages, multipliers)
    return found.exact()
