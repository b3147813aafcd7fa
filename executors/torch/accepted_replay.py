"""Replay of a schedule that is to run."""

from __future__ import annotations

from jettison.instances.core.errors import InputError
from jettison.schedules.core.any_schedule import Schedule
from jettison.schedules.core.replay import Replay
from jettison.solvers.core.problem import Problem
from jettison.solvers.core.result import replay_schedule


def accepted_replay(problem: Problem, schedule: Schedule) -> Replay:
    """Return the replay of a schedule.

    Raises
    ------
    InputError
        If it breaks a rule.
    """
    replay = replay_schedule(problem, schedule)
    if not replay.valid:
        raise InputError(
            str(replay.violations[0]),
            field="schedule",
            expected="give a schedule that the replay accepts for this problem",
        )
    return replay
