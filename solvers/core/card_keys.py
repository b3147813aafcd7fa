"""JSON keys of a problem on a card: its bytes, the resident ones, and what a plan needs of it."""

from __future__ import annotations

from jettison.instances.core.card import Card
from jettison.solvers.core.problem import Problem


def card_of(problem: Problem) -> Card | None:
    """Return the card of a problem; None where its memory is given in another way."""
    return problem.memory if isinstance(problem.memory, Card) else None


def card_keys(
    problem: Problem, peak_bytes: int | None, least_memory_bytes: int | None
) -> dict[str, object]:
    """Return the JSON keys on the card of a problem; all are None without one.

    Parameters
    ----------
    problem
        The problem.
    peak_bytes
        The peak of the schedule, to which the resident bytes are added.
    least_memory_bytes
        The least memory of a proof that nothing fits: with the resident bytes, the least card.
    """
    card = card_of(problem)
    if card is None:
        return dict.fromkeys(CARD_KEYS)
    return {
        "card_bytes": card.card_bytes,
        "resident_bytes": card.resident_bytes,
        "resident_source": str(card.resident_source),
        "card_peak_bytes": None if peak_bytes is None else card.with_plan(peak_bytes),
        "least_card_bytes": None
        if least_memory_bytes is None
        else card.with_plan(least_memory_bytes),
    }


CARD_KEYS = (
    "card_bytes",
    "resident_bytes",
    "resident_source",
    "card_peak_bytes",
    "least_card_bytes",
)
