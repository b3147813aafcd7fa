"""Why a search ended: the one place that turns Ctrl-C and limits into a `Termination`."""

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
    """Why the search inside a ``with`` block ended; what it had found by then is kept.

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
    """Run a search that keeps what it finds, and say why it ended; completed if it does not."""
    with Ending() as ending:
        ending.termination = search() or Termination.COMPLETED
    return ending.termination


def pass_interrupt_on(termination: Termination) -> None:
    """Let Ctrl-C that ended what a search had asked end the search as well.

    Raises
    ------
    KeyboardInterrupt
        If the termination is that of an interrupt.
    """
    if termination is Termination.INTERRUPTED:
        raise KeyboardInterrupt
