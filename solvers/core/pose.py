"""Construction of a problem from an instance and from resources as a user typed them."""

from __future__ import annotations

from typing import Any

from jettison.instances.core.errors import InputError
from jettison.instances.core.instance import Instance
from jettison.solvers.core.problem import Problem
from jettison.solvers.core.problem_kind import ProblemKind
from jettison.solvers.core.registry import PROBLEM_KINDS, find_kind
from jettison.solvers.core.resources import Resources

# What a problem that does not take a resource is told of it.
_WITHOUT = {
    "models": "trains one model",
    "bandwidth": "has no link",
    "transfers": "leaves nothing open about transfers",
    "devices": "plans one device, or the mesh of its instance",
    "microbatches": "has no micro-batches",
    "weight_copies": "counts the weights as it does",
    "chunks": "has no parts of devices",
    "host_memory": "does not limit the memory of the host",
}


def pose_problem(problem: str, loaded: Instance, resources: Resources) -> Problem:
    """Make the problem of an instance; a chain given to remat-graph becomes its graph.

    Raises
    ------
    InputError
        If the problem is unknown or not for such an instance, or the resources cannot be read or
        are not those of the problem.
    """
    kind = find_kind(problem)
    if not isinstance(loaded, kind.instances):
        raise InputError(
            f"{loaded.name} is a {loaded.kind}",
            field="instance",
            expected=f"give {' or '.join(f'a {item.kind}' for item in kind.instances)} to {problem}"
            f"; {_use_of(loaded)}",
        )
    check_resources(kind, resources)
    posed: Problem = kind.pose(loaded, resources)
    return posed


def check_resources(kind: ProblemKind[Any], resources: Resources) -> None:
    """Check that all resources that a problem needs are given, and no others.

    Raises
    ------
    InputError
        If one is missing, or says nothing about the problem.
    """
    for field, without in _WITHOUT.items():
        given = getattr(resources, field) is not None
        if given and field not in kind.takes:
            others = (other.name for other in PROBLEM_KINDS if field in other.takes)
            raise InputError(
                f"{kind.name} {without}",
                field=field,
                expected=f"leave it out, or use {' or '.join(others)}",
            )
    if resources.resident is not None and resources.card is None:
        raise InputError(
            f"{resources.resident} is taken off a card, and none is given",
            field="resident",
            expected="give a card (96GiB), or leave it out",
        )
    if resources.says_memory or "memory" in kind.needs:
        # Raises if it is given twice, or not at all.
        _ = resources.memory_text
    for field in ("devices", "microbatches"):
        if field in kind.needs and getattr(resources, field) is None:
            raise InputError(
                f"{kind.name} needs their number", field=field, expected="give it, such as 8"
            )
    if "bandwidth" in kind.needs and resources.bandwidth is None:
        raise InputError(
            f"{kind.name} needs a link", field="bandwidth", expected="give its rate, such as 12GB/s"
        )


def _use_of(instance: Instance) -> str:
    """Say which problems take an instance."""
    takers = [kind.name for kind in PROBLEM_KINDS if isinstance(instance, kind.instances)]
    return f"a {instance.kind} is for {' or '.join(takers) or 'no problem as it is'}"
