"""Order in which events of a training schedule are issued: what may come before what."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

from jettison.instances.catalog import load
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.training_chain.problem import TrainingChain
from jettison.schedules.training_chain.event import TrainingEvent, TrainingEventKind
from jettison.schedules.training_chain.schedule import TrainingSchedule
from jettison.solvers.training_chain.plan_schedule import PlanTimer
from jettison.solvers.training_chain.stage_choices import JointPlan, StageChoice, UpdatePlace, Way

pytest.importorskip("jettison.torch", exc_type=ImportError)

pytestmark = pytest.mark.torch


def schedules() -> Iterator[tuple[TrainingChain, TrainingSchedule]]:
    chain = load("opt-350m-b1-2080-adam")
    assert isinstance(chain, Chain)
    for memory in ("3GiB", "5GiB"):
        problem = TrainingChain(chain, memory, "12GB/s")
        for saved in (Way.SENT, Way.AGAIN):
            for update in (UpdatePlace.AT_ONCE, UpdatePlace.HOST):
                choice = StageChoice(
                    saved=saved,
                    away_between=True,
                    away_after=True,
                    update=update,
                    states_away=True,
                )
                step = PlanTimer(problem).of_plan(JointPlan((choice,) * len(chain)))
                if step is not None:
                    yield problem, step.schedule


def issued(problem: TrainingChain, schedule: TrainingSchedule) -> tuple[TrainingEvent, ...]:
    from jettison.torch.one_budget.issue_order import issue_order
    from jettison.torch.one_budget.model_parts import sizes_of_tensors

    verdict = schedule.replay(problem.instance, problem.link)
    return issue_order(schedule, verdict, sizes_of_tensors(problem.instance))


def kept_apart(events: tuple[TrainingEvent, ...]) -> dict[Any, list[TrainingEvent]]:
    """Return the events whose order counts: of a tensor, of a lane of the link, of processors."""
    found: dict[Any, list[TrainingEvent]] = defaultdict(list)
    for event in events:
        if event.kind is TrainingEventKind.HOST_UPDATE:
            found["the host"].append(event)
        elif event.kind.is_computation:
            found["the device"].append(event)
        else:
            found[event.tensor, event.stage].append(event)
        if event.kind is TrainingEventKind.OFFLOAD:
            found["to the host"].append(event)
    return found


def test_all_is_issued_once_in_the_order_of_each_tensor_and_processor() -> None:
    count = moved = 0
    for problem, schedule in schedules():
        order = issued(problem, schedule)
        assert Counter(order) == Counter(schedule.events)
        assert kept_apart(order) == kept_apart(schedule.events)
        count += 1
        moved += order != schedule.events
    assert count >= 4
    assert moved


def test_a_transfer_is_issued_before_the_operation_that_ran_and_no_earlier() -> None:
    for problem, schedule in schedules():
        before = {event: place for place, event in enumerate(schedule.events)}
        order = issued(problem, schedule)
        for place, event in enumerate(order):
            if not event.kind.is_transfer:
                continue
            passed = [
                other
                for other in order[place + 1 :]
                if before[other] < before[event]
                and other.kind.is_computation
                and other.kind is not TrainingEventKind.HOST_UPDATE
            ]
            assert len(passed) <= 1
