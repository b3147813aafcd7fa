r"""Rounding of Checkmate's linear relaxation, by thresholds and by random draws.

Source: Checkmate (Jain et al., MLSys 2020), *two-phase rounding*. The relaxation of the
ILP (`jettison.formulations.remat_graph.checkmate`) has a solution :math:`S^*`. It is rounded to
checkpoints, and these lead to the least recomputation
(`jettison.solvers.remat_graph.baselines.checkpoints`):

* deterministic: :math:`S_{t,i} = 1` where :math:`S^*_{t,i} > \theta`. The paper has
  :math:`\theta = 1/2`; here ten thresholds from 0.05 to 0.95 are tried;
* randomised: :math:`S_{t,i} = 1` with probability :math:`S^*_{t,i}`, fifty draws, with the seed of
  the options, the same on every machine for the same :math:`S^*`.

Rounding loses memory, so the relaxation is also solved for less memory than there is, as the paper
does for one share: for 100, 90, 80, 70 and 60 % of it, until there is no solution. The fastest
rounded schedule that fits is the answer. Values of kept nodes stay in every case.

Every rounded :math:`S` gives a valid schedule; only its memory may be too much. Floating-point
numbers only decide which schedules are tried.

If HiGHS does not solve a relaxation in time, its process is killed, and there is nothing to round.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import floor
from typing import ClassVar

from jettison.formulations.milp.from_pulp import from_pulp
from jettison.formulations.remat_graph.checkmate import Checkmate
from jettison.instances.generators.splitmix64 import SplitMix64
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.milp.highs_in_time import solve_in_time
from jettison.solvers.milp.highs_of_a_method import WrittenModelParams, highs_options
from jettison.solvers.remat_graph.baselines.checkpoints import schedule_of_checkpoints
from jettison.solvers.remat_graph.baselines.plans import fastest_that_fits, in_turn
from jettison.solvers.remat_graph.baselines.simple import solve_store_all
from jettison.solvers.remat_graph.checkmate import declined
from jettison.solvers.remat_graph.operators import on_held_values

_WORD = 2**32

Shares = tuple[dict[int, float], ...]
"""For each stage, the share of each node that is in memory when it begins, where not 0."""


@dataclass(frozen=True, kw_only=True)
class LpRoundingParams(WrittenModelParams):
    """Roundings that are tried.

    Attributes
    ----------
    thresholds
        Thresholds of each relaxation, at equal distances between 0 and 1.
    draws
        Random roundings of each relaxation.
    percent_step
        Percent of the memory by which each relaxation has less than the one before.
    least_percent
        Percent of the memory for which a relaxation is solved, at least.
    share_of_writing
        Share of the time limit that building the model may take by the estimate, which a busy
        machine exceeds up to three times.
    """

    at_least: ClassVar[Mapping[str, float]] = {"draws": 0}

    thresholds: int = 10
    draws: int = 50
    percent_step: int = 10
    least_percent: int = 60
    share_of_writing: float = 1 / 3


LP_ROUNDING = LpRoundingParams()


@on_held_values
def solve_lp_rounding(
    problem: RematGraph, options: SolveOptions, params: LpRoundingParams = LP_ROUNDING
) -> Outcome:
    """Return the fastest schedule that fits, out of all roundings.

    Declines the models that `solve_checkmate` declines, and those that take more than a third of
    the time to build. Schedules rounded before the time limit or Ctrl-C count.
    """
    if problem.memory_bytes >= problem.instance.store_all_peak_bytes:
        return solve_store_all(problem, options)
    limit_s = options.time_limit_s
    for_writing_s = None if limit_s is None else limit_s * params.share_of_writing
    refused = declined(problem, replace(options, time_limit_s=for_writing_s), params, Checkmate())
    if refused is not None:
        return refused
    relaxations = _Relaxations(problem, options, params)
    plans = in_turn(schedule.computations for schedule in relaxations.schedules())
    outcome = fastest_that_fits(problem, "lp-rounding", plans, options)
    termination = outcome.termination
    if termination is Termination.COMPLETED:
        termination = relaxations.termination
    if outcome.schedule is None:
        note = "no rounding of the linear relaxation fits"
        if not termination.is_regular:
            note = f"{note}, as far as the time allowed to look"
        elif relaxations.solved == 0:
            note = "the linear relaxation has no solution in this memory"
        outcome = replace(outcome, note=note)
    work = {**outcome.work, "relaxations": relaxations.solved}
    return replace(outcome, termination=termination, work=work)


class _Relaxations:
    """The relaxations for less and less memory, until one has no solution or the time is up."""

    def __init__(
        self, problem: RematGraph, options: SolveOptions, params: LpRoundingParams
    ) -> None:
        self._problem = problem
        self._params = params
        self._options = options.quiet()
        self._clock = Clock(options.time_limit_s)
        self.termination = Termination.COMPLETED
        self.solved = 0
        self._writing_s = 0.0

    def schedules(self) -> Iterator[GraphSchedule]:
        """Yield the rounded schedules."""
        graph = self._problem.instance
        params = self._params
        for percent in range(100, params.least_percent - 1, -params.percent_step):
            shares = self._solve(self._problem.memory_bytes * percent // 100)
            if shares is None:
                return
            self.solved += 1
            yield from round_by_thresholds(graph, shares, params.thresholds)
            yield from round_by_draws(graph, shares, self._options.seed, params.draws)
            if not self.termination.is_regular:
                return

    def _solve(self, memory_bytes: int) -> Shares | None:
        graph = self._problem.instance
        if memory_bytes < graph.least_peak_bound_bytes:
            return None
        if self._clock.left_s <= self._writing_s:
            # The models are alike: after building this one no time would be left to solve it.
            self.termination = Termination.TIME_LIMIT
            return None
        began_s = self._clock.seconds
        try:
            built = Checkmate().build(RematGraph(graph, memory_bytes), self._clock.require_time)
            model = from_pulp(built.problem, self._clock.require_time).model.relaxed()
        except TimeoutError:
            self.termination = Termination.TIME_LIMIT
            return None
        self._writing_s = self._clock.seconds - began_s
        solution = solve_in_time(model, highs_options(self._options, self._clock, gap=0))
        if not solution.termination.is_regular:
            self.termination = solution.termination
        if solution.values is None:
            return None
        values = solution.by_name(model)
        return tuple(
            {i: share for i in range(t) if (share := values[f"S_{t}_{i}"]) > 0}
            for t in range(len(graph))
        )


def round_by_thresholds(
    graph: Graph, shares: Shares, thresholds: int = LP_ROUNDING.thresholds
) -> Iterator[GraphSchedule]:
    """Yield schedules that store the values above each threshold, without repetition."""
    previous: list[set[int]] | None = None
    for place in range(thresholds):
        threshold = (2 * place + 1) / (2 * thresholds)
        stored = [{i for i, share in stage.items() if share > threshold} for stage in shares]
        if stored != previous:
            yield schedule_of_checkpoints(graph, stored)
        previous = stored


def round_by_draws(
    graph: Graph, shares: Shares, seed: int, draws: int = LP_ROUNDING.draws
) -> Iterator[GraphSchedule]:
    """Yield schedules that store each value with its share as probability, if any is fractional."""
    # If all shares are 0 or 1, every draw equals the rounding by the threshold 1/2.
    if all(share in {0.0, 1.0} for stage in shares for share in stage.values()):
        return
    random = SplitMix64(seed)
    for _ in range(draws):
        stored = [
            {i for i, share in stage.items() if random.below(_WORD) < floor(share * _WORD)}
            for stage in shares
        ]
        yield schedule_of_checkpoints(graph, stored)
