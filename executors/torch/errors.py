"""Errors of a training step that runs by a schedule."""

from __future__ import annotations

from typing import NoReturn, SupportsIndex

from jettison.instances.core.errors import JettisonError


class ExecutionError(JettisonError, RuntimeError):
    """Error of a step that a schedule cannot run; the message says what to do instead."""


class Uncopied:
    """Module that cannot be copied or pickled, since its trace or schedule is of one model."""

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise ExecutionError(
            "a scheduled model can neither be copied nor pickled; copy or save its model, or the "
            "state_dict(), and make a schedule for the copy"
        )
