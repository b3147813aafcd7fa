"""Outcome of a search that the tolerances of the solver have left open.

A model counts in at most :math:`2^{29}` units, and a point may violate rows by a tolerance
(`IntegerScale`). Where the amounts of an instance differ by more than that, the plan of a point can
need some bytes more than the limit, or take some nanoseconds more than the bound, though the model
is solved and nothing is left to add to it. Then the search has ended, but the question is open.
"""

from __future__ import annotations

from dataclasses import replace

from jettison.solvers.core.outcome import Outcome
from jettison.solvers.core.status import Termination

BELOW_TOLERANCE = "the model is solved, within tolerances of the solver that leave this gap open"


def left_open(outcome: Outcome) -> Outcome:
    """Return an outcome that a complete run has left without a proof, with a note that says so."""
    if outcome.termination is Termination.GAP_REACHED and outcome.schedule is not None:
        return outcome
    if not outcome.termination.is_regular:
        return outcome
    return replace(outcome, termination=Termination.ERROR, note=outcome.note or BELOW_TOLERANCE)
