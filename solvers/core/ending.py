"""Conversion of Ctrl-C and limits into the `Termination` of a search, in one place for all."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

from jettison.solvers.core.status import Termination

_OF_WHAT_IS_RAISED = {
    KeyboardInterrupt: Termination.INTERRUPTED,
    TimeoutError: Termination.TIME_LIMIT,
    MemoryError: Termination.MEMORY_LIMIT,
}


class Ending:
    """Context manager that records why the search inside its block ended.

    Ctrl-C, `TimeoutError` and `MemoryError` end the block and nothing else; what other exceptions
    say is passed on.

    Attributes
    ----------
    termination
        Completed, unless the block sets it, or a limit or Ctrl-C ends the block.

    Examples
    --------
    >>> with Ending() as ending:
    ...     raise TimeoutError
    >>> print(ending.termination)
    time_limit
    """

    def __init__(self) -> None:
        self.termination = Termination.COMPLETED

    def __enter__(self) -> Ending:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        for raised, termination in _OF_WHAT_IS_RAISED.items():
            if isinstance(error, raised):
                self.termination = termination
                return True
        return False

    @property
    def is_interrupted(self) -> bool:
        """Whether Ctrl-C ended it."""
        return self.termination is Termination.INTERRUPTED


def run_to_its_end(search: Callable[[], Termination | None]) -> Termination:
    """Run a search that keeps what it finds, and return its termination; completed by default."""
    with Ending() as ending:
        ending.termination = search() or Termination.COMPLETED
    return ending.termination


def pass_interrupt_on(termination: Termination) -> None:
    """Raise the Ctrl-C that has ended a sub-search, so that it ends the search as well.

    Raises
    ------
    KeyboardInterrupt
        If the termination is that of an interrupt.
    """
    if termination is Termination.INTERRUPTED:
        raise KeyboardInterrupt
