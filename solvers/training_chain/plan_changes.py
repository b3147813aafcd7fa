"""Random changes of a joint plan: of a stage or a run of stages, swaps, trades, depths."""

from __future__ import annotations

import random
from collections.abc import Callable

from jettison.solvers.training_chain.plan_codes import CHOICES, CODES, CodedPlan
from jettison.solvers.training_chain.stage_choices import (
    StageChoice,
    UpdatePlace,
    Way,
)

_DEEPEST = 120
_WAYS, _PLACES = tuple(Way), tuple(UpdatePlace)


def changed(plan: CodedPlan, chance: random.Random) -> CodedPlan:
    """Return a plan with one random change."""
    kind = chance.random()
    if kind < 0.12:
        return _other_depth(plan, chance)
    if kind < 0.3:
        return _swapped(plan, chance)
    if kind < 0.45:
        return _traded(plan, chance)
    first = chance.randrange(len(plan.codes))
    length = 1 if chance.random() < 0.7 else chance.randint(2, max(2, len(plan.codes) // 4))
    change = _change(chance)
    codes = bytearray(plan.codes)
    for place in range(first, min(first + length, len(codes))):
        codes[place] = CODES[change(CHOICES[codes[place]])]
    return plan._replace(codes=bytes(codes))


def _other_depth(plan: CodedPlan, chance: random.Random) -> CodedPlan:
    kind = chance.random()
    if kind < 0.1:
        return plan._replace(sends_by_need=not plan.sends_by_need)
    if kind < 0.2:
        return plan._replace(updates_by_need=not plan.updates_by_need)
    if kind < 0.3:
        return plan._replace(fetches_what_is_there=not plan.fetches_what_is_there)
    by = chance.choice((-8, -2, -1, 1, 2, 8))
    if kind < 0.7:
        return plan._replace(weights_ahead=min(max(plan.weights_ahead + by, 0), _DEEPEST))
    return plan._replace(activations_ahead=min(max(plan.activations_ahead + by, 0), _DEEPEST))


def _swapped(plan: CodedPlan, chance: random.Random) -> CodedPlan:
    """Swap the ways of activations of two stages, their weights' absences, updates, or all."""
    codes = bytearray(plan.codes)
    place = chance.randrange(len(codes))
    near = chance.random() < 0.6
    other = place + chance.choice((-2, -1, 1, 2)) if near else chance.randrange(len(codes))
    other %= len(codes)
    one, two = CHOICES[codes[place]], CHOICES[codes[other]]
    kind = chance.random()
    if kind < 0.4:
        codes[place] = CODES[one._replace(saved=two.saved, output=two.output)]
        codes[other] = CODES[two._replace(saved=one.saved, output=one.output)]
    elif kind < 0.55:
        codes[place], codes[other] = codes[other], codes[place]
    elif kind < 0.75:
        codes[place] = CODES[one._replace(update=two.update, states_away=two.states_away)]
        codes[other] = CODES[two._replace(update=one.update, states_away=one.states_away)]
    else:
        codes[place] = CODES[one._replace(away_between=two.away_between, away_after=two.away_after)]
        codes[other] = CODES[two._replace(away_between=one.away_between, away_after=one.away_after)]
    return plan._replace(codes=bytes(codes))


def _traded(plan: CodedPlan, chance: random.Random) -> CodedPlan:
    """Move an update between host and device, and have memory for its states, or give it away.

    Where the memory is full, an update fits the device only if something else leaves it, and one
    that moves to the host frees memory that only another change uses.
    """
    codes = bytearray(plan.codes)
    place = chance.randrange(len(codes))
    choice = CHOICES[codes[place]]
    is_hosted = choice.update is UpdatePlace.HOST
    if is_hosted:
        update = chance.choice((UpdatePlace.AT_ONCE, UpdatePlace.LATE))
        choice = choice._replace(
            update=update, states_away=chance.random() < 0.25, away_after=chance.random() < 0.5
        )
    else:
        choice = choice._replace(update=UpdatePlace.HOST)
    codes[place] = CODES[choice]
    others = [
        other
        for other, code in enumerate(codes)
        if (CHOICES[code].saved is Way.AGAIN) is not is_hosted
    ]
    if others:
        other = chance.choice(others)
        way = Way.AGAIN if is_hosted else chance.choice((Way.KEPT, Way.SENT))
        codes[other] = CODES[CHOICES[codes[other]]._replace(saved=way)]
    return plan._replace(codes=bytes(codes))


def _change(chance: random.Random) -> Callable[[StageChoice], StageChoice]:
    """Return a change of the choices of one stage."""
    kind = chance.random()
    if kind < 0.44:
        way = chance.choice(_WAYS)
        return lambda choice: choice._replace(saved=way)
    if kind < 0.54:
        output = chance.choice(_WAYS)
        return lambda choice: choice._replace(output=output)
    if kind < 0.65:
        return lambda choice: choice._replace(away_between=not choice.away_between)
    if kind < 0.74:
        return lambda choice: choice._replace(away_after=not choice.away_after)
    if kind < 0.82:
        return lambda choice: choice._replace(states_away=not choice.states_away)
    place = chance.choice(_PLACES)
    if kind < 0.91:
        return lambda choice: choice._replace(update=place)
    # An update that moves takes weights and states with it.
    away, states_away = chance.random() < 0.5, chance.random() < 0.5
    return lambda choice: choice._replace(
        update=place, away_between=away, away_after=away, states_away=states_away
    )
