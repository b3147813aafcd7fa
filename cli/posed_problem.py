"""Construction of the problem of a command, from its options."""

from __future__ import annotations

import sys
from typing import Any

from jettison.instances.catalog import load
from jettison.instances.core.card import ResidentSource, as_card
from jettison.instances.core.errors import InputError
from jettison.solvers.core.pose import pose_problem
from jettison.solvers.core.problem import Problem
from jettison.solvers.core.problem_kind import ProblemKind
from jettison.solvers.core.registry import find_kind
from jettison.solvers.core.resources import Resources


def make_problem(problem: str, instance: str, resources: Resources) -> Problem:
    """Load the instance and make the problem.

    Raises
    ------
    InputError
        If the problem is unknown, the instance cannot be loaded, or as `pose_problem` says.
    """
    kind = find_kind(problem)
    loaded = load(instance, kinds=kind.instance_kinds)
    if isinstance(loaded, kind.instances):
        check_options(kind, resources)
    posed = pose_problem(problem, loaded, resources)
    note = kind.note_on(loaded)
    if note is not None:
        sys.stderr.write(f"note: {note}\n")
    say_what_is_not_recorded(posed)
    return posed


def say_what_is_not_recorded(posed: Problem) -> None:
    """Write a note where nothing is taken off a card, since nobody says how many bytes that are."""
    card = as_card(posed.memory)
    if card is not None and card.resident_source is ResidentSource.NOT_RECORDED:
        sys.stderr.write(
            f"note: {posed.instance.name} records no resident bytes, and none are taken off the "
            "card; --resident says how many there are\n"
        )


def check_options(kind: ProblemKind[Any], resources: Resources) -> None:
    """Check that all options that a problem needs are given, in the words of the command line.

    Raises
    ------
    InputError
        If one is missing, or two say the same.
    """
    given = [
        f"--{field}"
        for field in ("memory", "alpha", "card")
        if getattr(resources, field) is not None
    ]
    if len(given) > 1 or ("memory" in kind.needs and not given):
        raise InputError(
            f"{' and '.join(given)} are both given" if given else "no amount is given",
            field="card" if "--card" in given else "memory",
            expected="write --memory 40%, --alpha 0.2, or --card 96GiB --resident 3GiB",
        )
    if resources.resident is not None and resources.card is None:
        raise InputError(
            f"--resident {resources.resident} is taken off a card, and none is given",
            field="resident",
            expected="write --card 96GiB --resident 3GiB, or leave it out",
        )
    for field, example in (("devices", 8), ("microbatches", 32)):
        if field in kind.needs and getattr(resources, field) is None:
            raise InputError(
                f"{kind.name} needs their number",
                field=field,
                expected=f"write --{field} {example}",
            )
    if "bandwidth" in kind.needs and resources.bandwidth is None:
        raise InputError(
            f"{kind.name} needs a link", field="bandwidth", expected="write --bandwidth 12GB/s"
        )
