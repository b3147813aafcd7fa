"""Baselines run before a search, so that its answer is no worse than theirs.

A method names its `baselines`: methods of its own table, the cheap ones first. Their schedules are
what it starts from. Each has a share of the time that is left, so that an expensive one, which
comes late, leaves time to better what the cheap ones have found. Where all of them end by
themselves, no clock is a part of what they find.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from jettison.schedules.core.any_schedule import Schedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import pass_interrupt_on
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.params import Params
from jettison.solvers.core.problem import Problem
from jettison.solvers.core.registry import find_method
from jettison.solvers.core.result import replay_schedule
from jettison.solvers.core.status import Termination
from jettison.solvers.core.work import moves_of_a_limit, share_of_moves


@dataclass(frozen=True, kw_only=True)
class BaselineParams(Params):
    """Parameters of the baselines before a search: what each of them gets.

    Attributes
    ----------
    share_before_a_schedule
        Share of the time that is left for a baseline, as long as none has found a schedule.
    share_of_a_baseline
        The same share after that.
    """

    share_before_a_schedule: float = 0.6
    share_of_a_baseline: float = 0.4


BASELINES = BaselineParams()


def schedules_of_baselines(
    problem: Problem,
    method: str,
    options: SolveOptions,
    clock: Clock,
    params: BaselineParams,
    *,
    counts_work: bool = False,
    start: Schedule | None = None,
    without: Collection[str] = (),
) -> Iterator[Schedule]:
    """Yield the schedules of a method's baselines that the replay accepts, in the table's order.

    Parameters
    ----------
    problem
        What they are asked.
    method
        Whose `baselines` are asked.
    options
        As the method has them; the time is that of `clock`.
    clock
        When it runs out, those that are left are not asked.
    params
        The shares.
    counts_work
        Whether the baselines count their work: their shares are of that then, and no clock is a
        part of what they find as long as there is time left.
    start
        What those of them begin from that can.
    without
        Baselines that were asked before.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C, after the schedule that the baseline had by then.
    """
    share = params.share_before_a_schedule
    left_moves = moves_of_a_limit(options)
    for name in find_method(problem.problem, method).baselines:
        if name in without:
            continue
        if not clock.left_s:
            return
        limit_s = None if math.isinf(clock.left_s) else clock.left_s
        asked = replace(options.quiet(), time_limit_s=limit_s, start=start)
        if counts_work:
            asked = replace(asked, most_moves=share_of_moves(left_moves, share))
        elif limit_s is not None:
            asked = replace(asked, time_limit_s=share * limit_s)
        outcome = find_method(problem.problem, name).run(problem, asked)
        if asked.most_moves is not None and outcome.termination is Termination.WORK_LIMIT:
            left_moves -= asked.most_moves
        clock.spend(outcome.work.get("moves", 0))
        if outcome.schedule is not None and replay_schedule(problem, outcome.schedule).valid:
            share = params.share_of_a_baseline
            yield outcome.schedule
        pass_interrupt_on(outcome.termination)
