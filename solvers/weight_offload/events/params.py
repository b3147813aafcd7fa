"""Parameters of event-milp: its start, and the largest model that it writes down."""

from __future__ import annotations

from dataclasses import dataclass

from jettison.solvers.milp.highs_of_a_method import WrittenModelParams
from jettison.solvers.weight_offload.local_search import WeightSearchParams


@dataclass(frozen=True, kw_only=True)
class EventMilpParams(WeightSearchParams, WrittenModelParams):
    """Parameters of event-milp.

    Attributes
    ----------
    share_of_start
        Share of the time limit for the local search from which HiGHS starts.
    """

    share_of_start: float = 0.2


EVENT_MILP = EventMilpParams()
