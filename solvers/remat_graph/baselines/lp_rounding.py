r"""Rounding of Checkmate's linear relaxation, by thresholds and by random draws.

Source: Checkmate (Jain et al., MLSys 2020), *two-phase rounding*. The relaxation of the
ILP (`jettison.formulations.remat_graph.checkmate`) has a solution :math:`S^*`. It is rounded to
checkpoints, and these lead to the least recomputation
(`jettison.solvers.remat_graph.baselines.checkpoints`):

* deterministic: :math:`S_{t,i} = 1` where :math:`S^*_{t,i} > \theta`;
* randomised: :math:`S_{t,i} = 1` with probability :math:`S^*_{t,i}`, with the seed of the options,
  the same on every machine for the same :math:`S^*`.

Rounding loses memory, so the relaxation is solved for a share :math:`1 - \epsilon` of the memory.
The fastest rounded schedule that fits is the answer. Values of kept nodes stay in every case.

The paper's own settings are one threshold, :math:`\theta = 1/2`, and one allowance,
:math:`\epsilon = 0.1`: ``thresholds = "0.5"``, ``draws = 0``, ``allowances = "0.1"``. By default
ten thresholds and fifty draws are tried for each of five allowances, until a relaxation has no
solution.

Every rounded :math:`S` gives a valid schedule; only its memory may be too much. Floating-point
numbers only decide which schedules are tried.

If HiGHS does not solve a relaxation in time, its process is killed, and there is nothing to round.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor
from typing import ClassVar

from jettison.formulations.milp.from_pulp import from_pulp
from jettison.formulations.remat_graph.checkmate import Checkmate
from jettison.instances.core.errors import InputError
from jettison.instances.generators.splitmix64 import SplitMix64
from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_in_time import solve_in_time
from jettison.solvers.milp.highs_of_a_method import WrittenModelParams, highs_options
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.remat_graph.baselines.checkpoints import schedule_of_checkpoints
from jettison.solvers.remat_graph.baselines.plans import fastest_that_fits, in_turn
from jettison.solvers.remat_graph.baselines.simple import solve_store_all
from jettison.solvers.remat_graph.checkmate import declined
from jettison.solvers.remat_graph.operators import on_held_values

_WORD = 2**32
_NUMBER = re.compile(r"[0-9]{1,3}(\.[0-9]{1,9})?")

Shares = tuple[dict[int, float], ...]
"""For each stage, the share of each node that is in memory when it begins, where not 0."""


@dataclass(frozen=True, kw_only=True)
class LpRoundingParams(WrittenModelParams):
    """Roundings that are tried.

    Attributes
    ----------
    thresholds
        Thresholds of each relaxation, from 0 and below 1, with commas between them; an empty text
        for none.
    draws
        Random roundings of each relaxation.
    allowances
        Shares of the memory that the relaxations do without, from 0 and below 1, with commas
        between them; each larger than the one before.
    share_of_writing
        Share of the time limit that building the model may take by the estimate, which a busy
        machine exceeds up to three times.
    """

    at_least: ClassVar[Mapping[str, float]] = {"draws": 0}

    thresholds: str = "0.05,0.15,0.25,0.35,0.45,0.55,0.65,0.75,0.85,0.95"
    draws: int = 50
    allowances: str = "0,0.1,0.2,0.3,0.4"
    share_of_writing: float = 1 / 3

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.threshold_list and not self.draws:
            raise InputError(
                "neither a threshold nor a draw", field="thresholds", expected="write 0.5, say"
            )
        if not self.allowance_list:
            raise InputError("no relaxation", field="allowances", expected="write 0.1, say")

    @property
    def threshold_list(self) -> tuple[Fraction, ...]:
        """The thresholds, in increasing order."""
        return _shares(self.thresholds, "thresholds")

    @property
    def allowance_list(self) -> tuple[Fraction, ...]:
        """The allowances, in increasing order."""
        return _shares(self.allowances, "allowances")


def _shares(text: str, field: str) -> tuple[Fraction, ...]:
    """Return the shares that a text lists."""
    words = [word.strip() for word in text.split(",")] if text.strip() else []
    expected = 'write increasing numbers from 0 and below 1, such as "0.1,0.2"'
    if not all(_NUMBER.fullmatch(word) for word in words):
        raise InputError(f"{text!r}", field=field, expected=expected)
    shares = tuple(map(Fraction, words))
    if list(shares) != sorted(set(shares)) or any(share >= 1 for share in shares):
        raise InputError(f"{text!r}", field=field, expected=expected)
    return shares


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
        for allowance in params.allowance_list:
            shares = self._solve(floor((1 - allowance) * self._problem.memory_bytes))
            if shares is None:
                return
            self.solved += 1
            yield from round_by_thresholds(graph, shares, params.threshold_list)
            yield from round_by_draws(graph, shares, self._options.seed, params.draws)
            if not self.termination.is_regular:
                return

    def _solve(self, memory_bytes: int) -> Shares | None:
        """Return what the relaxation for a memory stores, in time; None if it has no solution."""
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
        return _stored(graph, solution.by_name(model))


def relaxed_shares(problem: RematGraph) -> Shares:
    """Return what the relaxation for the memory of a problem stores, stage by stage.

    Raises
    ------
    SolverError
        If it has no solution.
    """
    model = from_pulp(Checkmate().build(problem).problem).model.relaxed()
    return _stored(problem.instance, solve_model(model, HighsOptions()).by_name(model))


def _stored(graph: Graph, values: Mapping[str, float]) -> Shares:
    return tuple(
        {i: share for i in range(t) if (share := values[f"S_{t}_{i}"]) > 0}
        for t in range(len(graph))
    )


def round_by_thresholds(
    graph: Graph, shares: Shares, thresholds: Sequence[Fraction] = LP_ROUNDING.threshold_list
) -> Iterator[GraphSchedule]:
    """Yield schedules that store the values above each threshold, without repetition."""
    previous: list[set[int]] | None = None
    for threshold in map(float, thresholds):
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
