"""Families of joint plans with few parameters, and the descent over the parameters.

A share of the weights is updated on the device, with states that stay there; the host updates the
rest, or states come for each update. Of the others a share of the stages, the first ones, has its
weights away between their uses. What is computed again are the activations that take the most
memory for their time; of the rest, those before the last stages are sent. The first stages are
needed first of all in the next step and updated last, so that they are good ones for the device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from typing import NamedTuple

from jettison.instances.remat_chain.chain import Chain
from jettison.solvers.training_chain.stage_choices import (
    JointPlan,
    StageChoice,
    UpdatePlace,
    Way,
    possible,
)

# Shares are in these parts.
_PARTS = 24


class Chosen(Enum):
    """Stages that are updated on the device: the first, the last, or every few of them."""

    FIRST = "first"
    SPREAD = "spread"
    LAST = "last"


class FamilyPlan(NamedTuple):
    """Parameters of a joint plan; shares are in parts of 24.

    Attributes
    ----------
    on_device
        Share of the weights that the device updates, with states that stay.
    chosen
        Which stages these are.
    others
        Where the others are updated; on the device their states come for each update.
    away
        Share of the stages, the first ones, whose weights are away between their uses.
    again
        Share of the stages, those with the most memory for their time, that are computed again.
    sent
        Share of the stages, the first ones, whose activations are sent if they are not computed
        again.
    weights_ahead, activations_ahead
        As in `JointPlan`.
    by_need
        Whether the host, the link to it and prefetches turn to what is needed first.
    """

    on_device: int = 6
    chosen: Chosen = Chosen.FIRST
    others: UpdatePlace = UpdatePlace.HOST
    away: int = 24
    again: int = 12
    sent: int = 0
    weights_ahead: int = 16
    activations_ahead: int = 3
    by_need: bool = True


def plan_of_family(chain: Chain, given: FamilyPlan) -> JointPlan:
    """Return the plan of some parameters."""
    count = len(chain)
    on_device = _on_device(chain, given)
    ranked = sorted(
        range(1, count + 1),
        key=lambda number: (-_density(chain, number), number),
    )
    again = set(ranked[: count * given.again // _PARTS])
    stages = []
    for number in range(1, count + 1):
        resident = number in on_device
        saved = Way.SENT if number <= count * given.sent // _PARTS else Way.KEPT
        stages.append(
            StageChoice(
                saved=Way.AGAIN if number in again else saved,
                away_between=not resident and number <= count * given.away // _PARTS,
                away_after=not resident,
                update=UpdatePlace.AT_ONCE if resident else given.others,
                states_away=not resident,
            )
        )
    plan = JointPlan(
        tuple(stages),
        given.weights_ahead,
        given.activations_ahead,
        sends_by_need=given.by_need,
        updates_by_need=given.by_need,
        fetches_what_is_there=given.by_need,
    )
    return possible(chain, plan)


def _density(chain: Chain, number: int) -> float:
    """Return the bytes that are saved for each nanosecond of computing them again."""
    stage = chain.stage(number)
    return stage.saved_bytes / max(stage.forward_ns, 1)


def _on_device(chain: Chain, given: FamilyPlan) -> set[int]:
    numbers = [n for n in range(1, len(chain) + 1) if chain.stage(n).is_trained]
    total = sum(chain.stage(number).weight_bytes for number in numbers)
    if given.chosen is Chosen.LAST:
        numbers.reverse()
    found: set[int] = set()
    passed = taken = 0
    for number in numbers:
        size = chain.stage(number).weight_bytes
        passed += size
        # By then this much may be taken: all at first, or in proportion.
        most = passed if given.chosen is Chosen.SPREAD else total
        if (taken + size) * _PARTS <= most * given.on_device + size * _PARTS // 2:
            found.add(number)
            taken += size
    return found


def _neighbours(chain: Chain, given: FamilyPlan) -> Iterator[FamilyPlan]:
    for by in (1, -1, 3, -3, 8, -8):
        for name in ("on_device", "away", "again", "sent"):
            value = getattr(given, name) + by
            if 0 <= value <= _PARTS:
                yield given._replace(**{name: value})
        for name in ("weights_ahead", "activations_ahead"):
            value = getattr(given, name) + by * (1 if abs(by) < 8 else 2)
            if 0 <= value <= 2 * len(chain):
                yield given._replace(**{name: value})
    for chosen in Chosen:
        yield given._replace(chosen=chosen)
    for place in UpdatePlace:
        yield given._replace(others=place)
    yield given._replace(by_need=not given.by_need)


def descend_families(
    chain: Chain, time_of: Callable[[JointPlan], int | None], sweeps: int = 12
) -> None:
    """Time plans from several beginnings on, going on from each that is faster than all before.

    Parameters
    ----------
    chain
        The instance.
    time_of
        Times a plan; None where it does not fit. It may raise to end the descent.
    sweeps
        Most sweeps over all neighbours from one beginning.
    """
    begins = [
        FamilyPlan(on_device, again=again, sent=sent, others=others)
        for others in (UpdatePlace.HOST, UpdatePlace.AT_ONCE)
        for again, sent in ((12, 0), (24, 0), (0, 16), (6, 16))
        for on_device in (4, 0)
    ]
    for begin in begins:
        best = begin
        best_ns = time_of(plan_of_family(chain, best))
        for _ in range(sweeps):
            is_better = False
            for other in _neighbours(chain, best):
                found_ns = time_of(plan_of_family(chain, other))
                if found_ns is not None and (best_ns is None or found_ns < best_ns):
                    best, best_ns, is_better = other, found_ns, True
            if not is_better:
                break
