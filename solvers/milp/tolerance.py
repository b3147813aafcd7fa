"""What is left where the amounts of an instance differ by more than a solver can tell apart.

A model counts in at most :math:`2^{29}` units, and a point may violate rows by a tolerance
(`IntegerScale`). The plan of a point can then need some bytes more than the limit, or take some
nanoseconds more than the bound, though the model is solved and nothing is left to add to it. That
is no end of the search: the question stays open.
"""

from __future__ import annotations

from dataclasses import replace

from jettison.solvers.core.outcome import Outcome
from jettison.solvers.core.status import Termination

BELOW_TOLERANCE = "what is left of the gap is below the tolerance of the solver"


def left_open(outcome: Outcome) -> Outcome:
    """Return an outcome without a proof after a run to its end, which did not settle it."""
    if outcome.termination is Termination.GAP_REACHED and outcome.schedule is not None:
        return outcome
    if not outcome.termination.is_regular:
        return outcome
    return replace(outcome, termination=Termination.ERROR, note=outcome.note or BELOW_TOLERANCE)
