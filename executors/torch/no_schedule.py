"""Error where a method found no schedule to run."""

from __future__ import annotations

from jettison.instances.core.card import as_card
from jettison.instances.core.errors import InputError
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.certified import class_suffix
from jettison.solvers.core.problem import Problem
from jettison.solvers.core.result import Result


def no_schedule_error(problem: Problem, result: Result, besides_bytes: int = 0) -> InputError:
    """Return an error with the least memory that would be enough, where it is known.

    `besides_bytes` is what was taken off the memory before the method was asked.
    """
    proof = result.infeasibility
    least = None if proof is None else proof.least_memory_bytes
    if least is not None:
        least += besides_bytes
    if proof is None or least is None:
        expected = "give more memory or time"
    elif proof.is_exact:
        expected = f"give at least {least} bytes"
    else:
        expected = f"give at least {least} bytes, and perhaps more"
    card = as_card(problem.memory)
    if card is not None and least is not None:
        expected += f", for which a card of {card.with_plan(least)} bytes would do"
    if proof is not None and proof.valid_for is not ScheduleClass.ALL:
        expected += f", or use another method: this is{class_suffix(proof)}"
    return InputError(
        f"{result.method} found no schedule within {problem.memory_bytes} bytes ({result.status})",
        field="memory",
        expected=expected,
    )
