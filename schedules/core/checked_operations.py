"""Type check of the operations of a schedule."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from jettison.instances.core.errors import InputError

Operation = TypeVar("Operation")


def checked_operations(
    operations: Iterable[Operation], kinds: tuple[type, ...], *, field: str = "operations"
) -> tuple[Operation, ...]:
    """Return the operations of a schedule as a tuple.

    A replay handles operations of its own kind only; anything else, such as a tuple of a name and
    a number, would fail in the middle of it.

    Parameters
    ----------
    operations
        In their order.
    kinds
        The types that an operation may have.
    field
        Field of the schedule, for the message.

    Raises
    ------
    InputError
        If one is not of these types, or there is no sequence.
    """
    names = " or ".join(kind.__name__ for kind in kinds)
    if isinstance(operations, str) or not isinstance(operations, Iterable):
        raise InputError(
            f"{operations!r} is not a sequence", field=field, expected=f"give a tuple of {names}"
        )
    checked = tuple(operations)
    for place, operation in enumerate(checked):
        if not isinstance(operation, kinds):
            raise InputError(
                f"{operation!r} is not an operation of this schedule",
                field=f"{field}[{place}]",
                expected=f"give a {names}",
            )
    return checked
