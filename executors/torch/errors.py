"""Errors of a training step that runs by a schedule."""

from __future__ import annotations

from jettison.instances.errors import JettisonError


class ExecutionError(JettisonError, RuntimeError):
    """A step is asked for what a schedule cannot do; the message says what to do instead."""
