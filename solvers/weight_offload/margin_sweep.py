r"""Greedy with a margin: select for less memory than there is, schedule with all of it.

Algorithm 1 takes out no more than the operations need. A transfer that needs some memory for a
short time then has to wait, and operations wait for it. Here Algorithm 1 gets :math:`M - \delta`
for :math:`\delta = 0, \Delta, 2 \Delta, \dots` down to the least memory, Algorithm 2 gets
:math:`M`, and the best schedule is kept. :math:`\Delta` is half of the median size of the weights
with a size, so that chains of equal layers are tried in steps of half a layer; where that would
make more steps than `MarginParams` allows it is larger.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass

from jettison.instances.weight_offload.problem import WeightOffload
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SILENT, Outcome, SolveOptions
from jettison.solvers.core.params import Params
from jettison.solvers.core.status import Termination
from jettison.solvers.weight_offload.greedy.selection import Choice, select_choices
from jettison.solvers.weight_offload.incumbent import WeightIncumbent, run_within_kernels
from jettison.solvers.weight_offload.least_memory import weight_infeasibility
from jettison.solvers.weight_offload.scheduler import WeightScheduler


@dataclass(frozen=True, kw_only=True)
class MarginParams(Params):
    """Parameters of the sweep over margins of memory.

    Attributes
    ----------
    most_margins
        Margins between no memory to spare and all of it, at most.
    """

    most_margins: int = 400


MARGINS = MarginParams()


def margins_bytes(problem: WeightOffload, params: MarginParams = MARGINS) -> range:
    """Return the margins that are tried, the smallest first."""
    spare_bytes = problem.memory_bytes - problem.cycle.least_memory_bytes
    # Memory above the peak without offloading is never used: margins count from that peak.
    peak_bytes = problem.cycle.no_offload_peak_bytes
    spare_bytes = min(spare_bytes, peak_bytes - problem.cycle.least_memory_bytes)
    sizes = [size_bytes for size_bytes in problem.cycle.weight_bytes if size_bytes > 0]
    step_bytes = max(int(statistics.median(sizes or [1])) // 2, 1)
    step_bytes = max(step_bytes, -(-spare_bytes // params.most_margins))
    return range(0, spare_bytes + 1, step_bytes)


class MarginSweep:
    """One run of the method: margins tried in ascending order.

    Parameters
    ----------
    problem, options, clock
        As `WeightIncumbent` takes them.
    params
        How many margins there are.

    Attributes
    ----------
    incumbent
        The best schedule so far.
    choices
        Its selection; empty as long as it is the schedule of L2L.
    tried
        Number of margins that have been tried.
    """

    def __init__(
        self,
        problem: WeightOffload,
        options: SolveOptions = SILENT,
        clock: Clock | None = None,
        params: MarginParams = MARGINS,
    ) -> None:
        self._params = params
        self.incumbent = WeightIncumbent(problem, options, clock)
        self.choices: tuple[Choice, ...] = ()
        self.tried = 0

    def run(self, clock: Clock) -> Iterator[None]:
        """Try the margins; yield after each.

        Raises
        ------
        TimeoutError
            When the clock has no time left.
        OverflowError
            If the times are too long for 64-bit integers.
        """
        problem = self.incumbent.problem
        scheduler = WeightScheduler(problem)
        memory_bytes = min(problem.memory_bytes, problem.cycle.no_offload_peak_bytes)
        for margin_bytes in margins_bytes(problem, self._params):
            choices = select_choices(problem, memory_bytes - margin_bytes, clock.left_s)
            assert choices is not None
            period_ns = scheduler.period_ns(choices, time_limit_s=clock.left_s)
            self.tried += 1
            if period_ns is not None and period_ns < self.incumbent.period_ns:
                self.incumbent.offer(scheduler.schedule(choices))
                self.choices = choices
            yield


def solve_margin_sweep(
    problem: WeightOffload, options: SolveOptions, params: MarginParams = MARGINS
) -> Outcome:
    """Return the best schedule over all margins, or the proof that none fits."""
    refused = weight_infeasibility(problem)
    if refused is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refused)
    clock = Clock(options.time_limit_s)
    sweep = MarginSweep(problem, options, clock, params)

    def search() -> None:
        for _ in sweep.run(clock):
            sweep.incumbent.report()
            if sweep.incumbent.is_settled:
                return
            clock.require_time()

    termination = run_within_kernels(search)
    return Outcome(
        termination=termination,
        schedule=sweep.incumbent.schedule,
        bounds=(sweep.incumbent.floor,),
        work={"margins": sweep.tried, "choices": len(sweep.choices)},
    )
