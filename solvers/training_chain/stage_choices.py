"""Choices of a joint plan: for each stage what becomes of its tensors while nothing uses them."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from jettison.instances.remat_chain.chain import Chain, Stage


class Way(Enum):
    """Way to have an activation again: it stays, goes to the host, or is computed again."""

    KEPT = "kept"
    SENT = "sent"
    AGAIN = "again"


class UpdatePlace(Enum):
    """Place and time of an update.

    On the device right after the backward operation, on the device before the first forward
    operation of the next step, or on the host.
    """

    AT_ONCE = "at once"
    LATE = "late"
    HOST = "host"


class StageChoice(NamedTuple):
    r"""Choices for one stage.

    Attributes
    ----------
    saved
        What becomes of :math:`\bar a` after the first forward operation.
    output
        The same for :math:`a` by itself, where :math:`\bar a` is computed again.
    away_between
        Whether the weights leave between uses in one step.
    away_after
        Whether they leave after the last use of a step. Those that the host updates always do.
    update
        Where the update happens.
    states_away
        Whether the optimizer states are on the host beside updates of the device.
    """

    saved: Way = Way.KEPT
    output: Way = Way.KEPT
    away_between: bool = False
    away_after: bool = False
    update: UpdatePlace = UpdatePlace.AT_ONCE
    states_away: bool = False


class JointPlan(NamedTuple):
    """Joint plan: the choices of all stages, and how early transfers to the device may start.

    Attributes
    ----------
    stages
        The choices, first stage first.
    weights_ahead, activations_ahead
        Most operations that a prefetch of weights or states, or of activations, runs ahead.
    sends_by_need, updates_by_need
        Whether the link to the host, or the host with its updates, turns to what is needed again
        first of all that waits, and not to what came first. The first stages are updated last and
        needed first: with updates by need those of the last stages run beside the next step.
    fetches_what_is_there
        Whether a prefetch passes earlier ones whose copies on the host are not complete.
    """

    stages: tuple[StageChoice, ...]
    weights_ahead: int = 4
    activations_ahead: int = 4
    sends_by_need: bool = False
    updates_by_need: bool = False
    fetches_what_is_there: bool = False


def possible_choice(stage: Stage, choice: StageChoice, *, is_last: bool) -> StageChoice:
    """Return a choice that a stage has.

    The last stage saves all and keeps it, and what cannot be updated by the host is not.
    """
    if is_last:
        choice = choice._replace(saved=Way.KEPT, output=Way.KEPT)
    if choice.update is UpdatePlace.HOST and not (stage.host_can_update and stage.is_trained):
        choice = choice._replace(update=UpdatePlace.AT_ONCE)
    return choice


def essential_choice(stage: Stage, choice: StageChoice) -> StageChoice:
    """Return a possible choice whose fields that make no difference are put to one value."""
    if choice.saved is not Way.AGAIN:
        choice = choice._replace(output=Way.KEPT)
    if not stage.is_trained:
        choice = choice._replace(update=UpdatePlace.AT_ONCE)
    if not stage.weight_bytes:
        choice = choice._replace(away_between=False, away_after=False)
    if choice.update is UpdatePlace.HOST or not stage.optimizer_state_bytes:
        choice = choice._replace(states_away=False)
    if choice.update is UpdatePlace.HOST:
        choice = choice._replace(away_after=False)
    return choice


def possible(chain: Chain, plan: JointPlan) -> JointPlan:
    """Return a plan without choices that a chain does not have."""
    stages = [
        possible_choice(stage, choice, is_last=number == len(chain))
        for number, (stage, choice) in enumerate(zip(chain, plan.stages, strict=True), start=1)
    ]
    return plan._replace(stages=tuple(stages))
