"""Errors that a user can act on: file, field, value, and what would be right."""

from __future__ import annotations

from typing import Self


class JettisonError(Exception):
    """Base of every error that jettison raises on purpose."""


class InputError(JettisonError, ValueError):
    """Input that cannot be used: a bad file, a bad field, a bad option.

    Parameters
    ----------
    problem
        What is wrong, with the offending value, on one line.
    expected
        What would be right, on one line; it becomes the next step of the message.
    field
        Path of the field inside its file or object, such as ``stages[3].saved_bytes``.
    source
        The file (or option) that the value comes from.
    """

    def __init__(self, problem: str, *, expected: str, field: str = "", source: str = "") -> None:
        self.problem = problem
        self.expected = expected
        self.field = field
        self.source = source
        where = ": ".join(part for part in (source, field) if part)
        super().__init__(f"{where}: {problem}; {expected}" if where else f"{problem}; {expected}")

    def within(self, *, prefix: str = "", source: str = "") -> Self:
        """Return the same error with the enclosing object or file in front of its field."""
        joint = "." if prefix and self.field and not self.field.startswith("[") else ""
        return type(self)(
            self.problem,
            expected=self.expected,
            field=f"{prefix}{joint}{self.field}",
            source=self.source or source,
        )


class MissingExtraError(JettisonError, ImportError):
    """Error of a missing optional dependency; the message has the command that installs it."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs {package}, which is not installed; "
            f"install it with: pip install 'jettison[{extra}]'"
        )


class UnsoundSolverError(JettisonError, ImportError):
    """Error of an installed HiGHS that gives wrong answers; the message has the remedy."""

    def __init__(self, version: str, fault: str) -> None:
        super().__init__(
            f"highspy {version} is not used: {fault}; "
            f"install another one with: pip install 'highspy>=1.15,!=1.16.0'"
        )
