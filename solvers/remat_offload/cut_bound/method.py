r"""Lower bound for chains with offloading: the least deadline that no cut rules out, exactly.

Any schedule that recomputes, offloads, prefetches and drops at any time takes at least the least
deadline :math:`D` that no cut of the chain rules out (`cuts`). The deadline is found by doubling
and halving. A deadline that is ruled out is a proof by itself, so that the search can stop at any
time. It stops when the open part of the time is at most the gap that was asked for, or a millionth.

Where transfers are at once, the cuts are first searched as if transfers were fluid. That is faster,
and the bound is valid: a transfer at once takes as long and holds more memory.
"""

from __future__ import annotations

from dataclasses import replace

from jettison.instances.core.link import Transfers
from jettison.instances.remat_offload.problem import RematOffloadChain
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.answers.gap import most_open_ns
from jettison.solvers.core.bound import Bound, Evidence
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import Outcome, Progress, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_offload.cut_bound.cuts import (
    OFFLOAD_CUTS,
    Delays,
    OffloadCutParams,
    OffloadCuts,
)
from jettison.solvers.remat_offload.least_memory import offload_infeasibility

# Times of a chain are below this; where a slow link makes them longer, this much is proved.
_LATEST_NS = 2**60


class DeadlineSearch:
    """Search for the least deadline that no cut rules out, with the bound proved so far.

    Parameters
    ----------
    problem
        Its memory is at least `least_memory_with_offloading`.
    options
        Time limit, gap, and the callbacks for better bounds.
    params
        The accuracy.
    """

    def __init__(
        self,
        problem: RematOffloadChain,
        options: SolveOptions,
        params: OffloadCutParams = OFFLOAD_CUTS,
    ) -> None:
        self._params = params
        self._problem = problem
        self._options = options
        self._clock = Clock(options.time_limit_s)
        self.bound_ns = problem.instance.base_time_ns
        self.searches = 0

    @property
    def bound(self) -> Bound:
        """The bound that is proved."""
        return Bound(
            time_ns=self.bound_ns,
            valid_for=ScheduleClass.ALL,
            evidence=Evidence.EXACT,
            method="cut-bound",
        )

    def run(self) -> Termination:
        """Search until the bound is found, the time is up, or Ctrl-C is pressed."""
        with Ending() as ending:
            if self._problem.transfers is Transfers.AT_ONCE:
                self._raise_bound(replace(self._problem, transfers=Transfers.FLUID))
            self._raise_bound(self._problem)
        return ending.termination

    def _raise_bound(self, problem: RematOffloadChain) -> None:
        cuts = OffloadCuts(problem, self._params)
        step_ns = max(1, self.bound_ns >> self._params.first_deadline_bits)
        deadline_ns = self.bound_ns
        while (known := self._delays(cuts, deadline_ns, None)) is None:
            if deadline_ns == _LATEST_NS:
                return
            deadline_ns = min(self.bound_ns + step_ns, _LATEST_NS)
            step_ns *= 2
        precise_ns = self.bound_ns >> self._params.deadline_bits
        base_ns = problem.instance.base_time_ns
        while deadline_ns - self.bound_ns > max(
            precise_ns, most_open_ns(self._options.gap, deadline_ns, base_ns)
        ):
            middle_ns = (self.bound_ns + deadline_ns) // 2
            delays = self._delays(cuts, middle_ns, known)
            if delays is not None:
                deadline_ns, known = middle_ns, delays

    def _delays(
        self, cuts: OffloadCuts, deadline_ns: int, at_least: Delays | None
    ) -> Delays | None:
        """Return the delays that a deadline forces; raise the bound where it cannot be met."""
        before = cuts.searches
        try:
            delays = cuts.delays(deadline_ns, at_least, self._clock)
        finally:
            self.searches += cuts.searches - before
        if delays is None:
            self.bound_ns = deadline_ns + 1
            if self._options.on_bound is not None:
                self._options.on_bound(self.bound)
            if self._options.on_progress is not None:
                self._options.on_progress(Progress(self._clock.seconds, None, self.bound_ns))
        return delays


def bound_offload_cut(
    problem: RematOffloadChain, options: SolveOptions, params: OffloadCutParams = OFFLOAD_CUTS
) -> Outcome:
    """Bound the time of every schedule by the reruns and transfers that each cut forces.

    At the time limit and on Ctrl-C the best bound so far is returned.

    Returns
    -------
    Outcome
        A bound valid for all schedules, in exact arithmetic; or, where the memory is below what
        single operations need, the proof that nothing fits.
    """
    refused = offload_infeasibility(problem.instance, problem.memory_bytes)
    if refused is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refused)
    search = DeadlineSearch(problem, options, params)
    termination = search.run()
    return Outcome(
        termination=termination, bounds=(search.bound,), work={"searches": search.searches}
    )
