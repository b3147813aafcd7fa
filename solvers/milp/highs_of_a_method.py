"""Options of HiGHS for the models of a method, from the method's own options and clock."""

from __future__ import annotations

from dataclasses import dataclass

from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.params import Params
from jettison.solvers.milp.highs_options import HighsOptions

# The default of HiGHS, 1e-6, lets a row with a coefficient of 1024 be off by 1e-3: too many bytes.
_FEASIBILITY_TOLERANCE = 1e-9


@dataclass(frozen=True, kw_only=True)
class WrittenModelParams(Params):
    """Largest model that is written down with PuLP.

    Attributes
    ----------
    most_coefficients
        Coefficients of the largest model that is built; five million take about 3 GB as a PuLP
        problem and 6 GB more inside HiGHS.
    seconds_per_coefficient
        Time to build a model and to hand it over, as measured; a model that would take longer than
        the time limit is not begun.
    """

    most_coefficients: int = 5_000_000
    seconds_per_coefficient: float = 1.4e-5


def highs_options(options: SolveOptions, clock: Clock, gap: float) -> HighsOptions:
    """Return the options for a run that may use the time that is left and end at `gap`."""
    return HighsOptions(
        time_limit_s=clock.left_s,
        gap=gap,
        threads=options.threads,
        seed=options.seed,
        feasibility_tolerance=_FEASIBILITY_TOLERANCE,
    )
