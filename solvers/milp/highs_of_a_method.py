"""Options of HiGHS for the models of a method, from the method's own options and clock."""

from __future__ import annotations

from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.milp.highs_options import HighsOptions

# Five million coefficients take about 3 GB as a PuLP problem and 6 GB more inside HiGHS.
MOST_COEFFICIENTS = 5_000_000
# Time to build the model and to hand it over, measured; a slower machine overshoots its limit.
SECONDS_PER_COEFFICIENT = 1.4e-5
# The default of HiGHS, 1e-6, lets a row with a coefficient of 1024 be off by 1e-3: too many bytes.
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
