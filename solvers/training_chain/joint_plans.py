"""Family of joint plans with which the joint search begins, without depths of prefetching."""

from __future__ import annotations

from collections.abc import Iterator

from jettison.instances.training_chain.problem import TrainingChain
from jettison.solvers.training_chain.stage_choices import (
    JointPlan,
    StageChoice,
    UpdatePlace,
    Way,
    possible,
)


def joint_plans(problem: TrainingChain) -> Iterator[JointPlan]:
    """Yield the family of joint plans: some hundreds on a long chain, the promising ones first.

    The depths of prefetching are left to changes.
    """
    count = len(problem.instance)
    kept_stages = sorted({1, *(count * part // 12 for part in range(1, 13))})
    absences = [(False, False)]
    if any(stage.weight_bytes for stage in problem.instance):
        absences = [(True, True), (False, True), (False, False), (True, False)]
    have_states = any(stage.optimizer_state_bytes for stage in problem.instance)
    bases = []
    if any(stage.host_can_update for stage in problem.instance):
        bases.append(StageChoice(update=UpdatePlace.HOST, states_away=True))
    bases += [StageChoice(states_away=True)] * have_states + [StageChoice()]
    for base in bases:
        for between, after in absences:
            for every in (2, 0, 3, 1):
                for kept in kept_stages:
                    stages = tuple(
                        base._replace(
                            saved=_way(number, count - kept, every),
                            away_between=between,
                            away_after=after,
                        )
                        for number in range(1, count + 1)
                    )
                    yield possible(problem.instance, JointPlan(stages, 3, 3))


def _way(number: int, last_not_kept: int, every: int) -> Way:
    if number > last_not_kept:
        return Way.KEPT
    return Way.SENT if every and number % every == 0 else Way.AGAIN
