"""How HiGHS runs Checkmate's models."""

from __future__ import annotations

from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.milp.highs_options import HighsOptions

# Five million coefficients take about 3 GB as a PuLP problem and 6 GB more inside HiGHS.
MOST_COEFFICIENTS = 5_000_000
# To write the model down and to hand it over, measured; a slower machine overshoots its limit.
SECONDS_PER_COEFFICIENT = 1.4e-5
# HiGHS's own 1e-6, of a binary with a coefficient of 1024, would be a thousandth: too many bytes.
_FEASIBILITY_TOLERANCE = 1e-9


def highs_options(options: SolveOptions, clock: Clock, gap: float) -> HighsOptions:
    """Return the options for a run that may use the time that is left and end at `gap`."""
    return HighsOptions(
        time_limit_s=clock.left_s,
        gap=gap,
        threads=options.threads,
        seed=options.seed,
        feasibility_tolerance=_FEASIBILITY_TOLERANCE,
    )
