"""Timed steps of all baselines, from which the joint search begins.

A replay takes as long as some hundred plans, so that the search times the plans of all baselines
and replays the fastest alone, where each of them by itself replays its own. What both would find is
the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from jettison.instances.training_chain.problem import TrainingChain
from jettison.solvers.core.clock import Clock
from jettison.solvers.training_chain.all_on_host import everything_offloaded
from jettison.solvers.training_chain.baselines import plans_of_baselines
from jettison.solvers.training_chain.best_split import SPLIT, steps_of_splits
from jettison.solvers.training_chain.plan_schedule import PlanTimer
from jettison.solvers.training_chain.step_timing import TimedStep


def steps_of_baselines(
    problem: TrainingChain, clock: Clock
) -> Iterator[tuple[str, Iterator[TimedStep | None]]]:
    """Yield the method's name and the steps of each baseline, in the order of what they cost.

    Steps are timed when they are asked for; None stands for a plan that does not fit. Best-split,
    which solves other problems on the way, has the time that is left on the clock for each.
    """
    timer = PlanTimer(problem)
    for method, plans in plans_of_baselines(problem):
        yield method, (timer.of_plan(plan) for plan in plans)
        if method == "resident":
            yield "offload-all", (everything_offloaded(problem) for _ in range(1))
    yield "best-split", steps_of_splits(problem, SPLIT, clock)
