"""Least memory of a pipeline's devices: what is proved to be too little, and what would do.

A table whose sizes are rounded down, on which no cuts fit, proves a memory to be too little; cuts
on a table whose sizes are rounded up show that one would do. Both are true whatever the grid, so
that two bisections close in on the least memory from both sides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from jettison.instances.core.memory import Amount
from jettison.instances.core.units import LARGEST_AMOUNT
from jettison.instances.pipeline_chain.problem import PipelineChain
from jettison.solvers.core.clock import Clock
from jettison.solvers.pipeline_chain.pipeline_params import PipelineParams
from jettison.solvers.pipeline_chain.search import PipelineSearch


@dataclass(frozen=True)
class LeastMemory:
    """Bracket of the least memory in which a persistent schedule fits.

    Attributes
    ----------
    least_bytes
        No schedule fits in less.
    enough_bytes
        One fits in this; None if none was found.
    """

    least_bytes: int
    enough_bytes: int | None


def least_memory(
    problem: PipelineChain, params: PipelineParams, time_limit_s: float | None, clock: Clock
) -> LeastMemory:
    """Return the bracket for a problem in whose memory nothing fits.

    Parameters
    ----------
    problem, params, time_limit_s
        As those of the search; `least_memory_share` of the limits on work is for each table.
    clock
        When it is over, the bracket is returned as wide as it is.
    """
    own = replace(params, most_work=params.most_work * params.least_memory_share)
    limit_s = None if time_limit_s is None else time_limit_s * params.least_memory_share

    def ask(memory_bytes: int) -> tuple[bool, bool]:
        """Tell whether a memory is proved to be too little, and whether it would do."""
        asked = replace(problem, memory=Amount(memory_bytes))
        return PipelineSearch(asked, own, limit_s).fits()

    least, enough = problem.memory_bytes + 1, None
    step = max(1, problem.memory_bytes // 8)
    trial = least
    while enough is None and trial <= LARGEST_AMOUNT // 4 and clock.left_s:
        too_little, does = ask(trial)
        if too_little:
            least = trial + 1
        if does:
            enough = trial
        trial, step = trial + step, 2 * step
    if enough is None:
        return LeastMemory(least, None)
    # Below `unproved` every memory that was asked about is too little; from there on none is.
    unproved = enough
    for proves in (True, False):
        low, high = least, unproved if proves else enough
        while high - low > low // params.least_memory_precision and clock.left_s:
            middle = (low + high) // 2
            too_little, does = ask(middle)
            if does:
                enough = min(enough, middle)
            if too_little:
                least = max(least, middle + 1)
            else:
                unproved = min(unproved, middle)
            if too_little if proves else not does:
                low = middle + 1
            else:
                high = middle
    return LeastMemory(least, enough)
