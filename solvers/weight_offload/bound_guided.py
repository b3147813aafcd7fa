r"""bound-guided: weights to offload are chosen by the model of a bound, then scheduled greedily.

The models AGG and AGGINT (`jettison.formulations.weight_offload.aggregated`) choose which weights
are absent when, :math:`y^0` and :math:`y^1`. Unlike Algorithm 1 of the paper they take the link
into account. Their choices are scheduled by Algorithm 2:

1. Greedy with a margin (`margin_sweep`) finds the first schedule.
2. AGG bounds the time.
3. For memory :math:`M - \delta`, :math:`\delta = 0, \Delta, 2 \Delta, \dots` with half a layer for
   :math:`\Delta`, both models are solved, relaxed and with integers. Their objective gets
   :math:`10^{-3} \sum_i |w_i| (y^0_i + y^1_i)` on top: among points with the same idle time, those
   that move less leave more room to schedule.
4. A point is rounded in two ways: all :math:`y \ge 1/2`, and none. Then the largest :math:`y` that
   cover the operation with the largest excess are added until no excess of :math:`M - \delta` is
   left, and those that are not needed are taken back, the smallest :math:`y` first.
5. Algorithm 2 schedules it in all of the memory; the best schedule is kept.

A model with integers gets so much work and no more, and without a time limit so does the bound: no
clock is a part of what is found, unless the time limit ends it.

Source: the paper on weight offloading, Sections 5 and 6, combined.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from jettison.formulations.milp.array_model import Floats
from jettison.formulations.weight_offload.aggregated import Aggregated, AggregatedModel, Layers
from jettison.instances.weight_offload.problem import WeightOffload
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.weight_offload.cyclic_schedule import CyclicSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import pass_interrupt_on
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import SolverError, Termination
from jettison.solvers.milp.highs_in_time import solve_in_time
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.weight_offload.bounds.any_model import bound_by_model
from jettison.solvers.weight_offload.greedy.selection import Choice
from jettison.solvers.weight_offload.incumbent import run_within_kernels
from jettison.solvers.weight_offload.least_memory import weight_infeasibility
from jettison.solvers.weight_offload.margin_sweep import MarginParams, MarginSweep
from jettison.solvers.weight_offload.rounding import rounded_selections
from jettison.solvers.weight_offload.scheduler import WeightScheduler


@dataclass(frozen=True, kw_only=True)
class BoundGuidedParams(MarginParams):
    """Parameters of bound-guided: its margins, and what it spends on the models.

    Attributes
    ----------
    share_of_sweep
        Share of the time for the first schedule.
    share_of_bound
        Share of the remaining time for the bound.
    margins
        Number of margins that are tried, in steps of half a layer.
    work_per_model
        Limit on a model with integers, in the work of HiGHS, the same on every machine: about a
        second of a large one. A good point comes early.
    work_of_bound_without_limit
        The same limit for the bound, where no time limit ends it: it could take hours.
    cost_of_moving
        Cost of moving a byte, in units of waiting for the transfer of one.
    """

    share_of_sweep: float = 0.2
    share_of_bound: float = 0.3
    margins: int = 9
    work_per_model: int = 4_000
    work_of_bound_without_limit: int = 10_000
    cost_of_moving: float = 1e-3


BOUND_GUIDED = BoundGuidedParams()


def solve_bound_guided(
    problem: WeightOffload, options: SolveOptions, params: BoundGuidedParams = BOUND_GUIDED
) -> Outcome:
    """Return the best schedule found and the bounds of AGG, or the proof that none fits.

    At the time limit and on Ctrl-C it is the best schedule so far.
    """
    refused = weight_infeasibility(problem)
    if refused is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refused)
    search = _Search(problem, options, params)
    termination = run_within_kernels(search.run_until_close)
    work = {"margins": search.sweep.tried, "selections": len(search.seen)}
    return search.incumbent.outcome(termination, work=work)


class _Search:
    """One run of the method: its steps, the selections seen, the best schedule and the bounds."""

    def __init__(
        self, problem: WeightOffload, options: SolveOptions, params: BoundGuidedParams
    ) -> None:
        self.params = params
        self.problem = problem
        self.options = options
        self.clock = Clock(options.time_limit_s)
        self.sweep = MarginSweep(problem, options, self.clock, params)
        self.incumbent = self.sweep.incumbent
        self.incumbent.begin_from(options.start, CyclicSchedule, ScheduleClass.ALL)
        self.seen: set[frozenset[Choice]] = set()

    def run_until_close(self) -> None:
        """Search until schedule and bound are close enough.

        Raises
        ------
        TimeoutError
            When the time is up.
        """
        for _ in self.run():
            self.incumbent.report()
            if self.incumbent.is_settled:
                return
            if not self.clock.left_s:
                raise TimeoutError

    def run(self) -> Iterator[None]:
        """Run the method; yield after each step."""
        try:
            yield from self.sweep.run(Clock(self.clock.left_s * self.params.share_of_sweep))
        except TimeoutError:
            yield
        except OverflowError:
            # The times do not fit the kernel of the algorithms: only L2L can be used.
            return
        if self.problem.memory_bytes >= self.problem.cycle.no_offload_peak_bytes:
            return
        built = Aggregated(Layers.FLUID).build(self.problem)
        self._bound(built)
        yield
        scheduler = WeightScheduler(self.problem)
        for smaller in self._smaller_problems():
            for layers in Layers:
                built = Aggregated(layers).build(smaller)
                for values in self._points(built):
                    for choices in rounded_selections(smaller, *built.selection_parts(values)):
                        if choices not in self.seen:
                            self.seen.add(choices)
                            self._offer(scheduler, choices)
                yield

    def _offer(self, scheduler: WeightScheduler, choices: frozenset[Choice]) -> None:
        left_s = None if math.isinf(self.clock.left_s) else self.clock.left_s
        self.incumbent.offer(scheduler.schedule(choices, time_limit_s=left_s))

    def _bound(self, built: AggregatedModel) -> None:
        """Prove the bounds of AGG in a share of the time.

        Raises
        ------
        KeyboardInterrupt
            On Ctrl-C, with what was proved by then.
        """
        clock = Clock(self.clock.left_s * self.params.share_of_bound)
        without_limit = self.params.work_of_bound_without_limit
        found = bound_by_model(
            built.model,
            built.scale,
            "bound-guided",
            self.options.quiet(),
            clock,
            work_limit=without_limit if math.isinf(clock.left_s) else None,
        )
        for bound in found.bounds:
            self.incumbent.prove(bound)
        pass_interrupt_on(found.termination)

    def _smaller_problems(self) -> Iterator[WeightOffload]:
        """Yield the problem with less and less memory, as long as a schedule fits."""
        sizes = [size for size in self.problem.cycle.weight_bytes if size]
        step_bytes = max(1, int(np.median(sizes)) // 2)
        for number in range(self.params.margins):
            memory_bytes = self.problem.memory_bytes - number * step_bytes
            if memory_bytes < self.problem.cycle.least_memory_bytes:
                return
            yield replace(self.problem, memory=memory_bytes)

    def _points(self, built: AggregatedModel) -> Iterator[Floats]:
        """Yield an optimum of the relaxation, then the best integer point found in time."""
        layers = self.problem.cycle.num_layers
        objective = built.model.objective.copy()
        objective[: 2 * layers] += self.params.cost_of_moving * np.tile(built.scale.weights, 2)
        model = replace(built.model, objective=objective)
        work_per_model = self.params.work_per_model
        for wanted, work_limit in ((model.relaxed(), None), (model, work_per_model)):
            options = HighsOptions(
                time_limit_s=self.clock.left_s,
                work_limit=work_limit,
                threads=self.options.threads,
                seed=self.options.seed,
            )
            try:
                solution = solve_in_time(wanted, options)
            except SolverError:
                # Without this model there is one selection fewer; the others remain.
                continue
            pass_interrupt_on(solution.termination)
            if solution.values is not None:
                yield solution.values
