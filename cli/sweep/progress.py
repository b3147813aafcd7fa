"""Display of a sweep on a terminal: jobs done, failed and running, and the gaps so far."""

from __future__ import annotations

import statistics
import sys

from rich.console import Console, ConsoleRenderable, Group
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.text import Text

from jettison.instances.core.units import percent
from jettison.studies.sweep import SweepState

_MOST_RUNNING = 6


class SweepProgress:
    """Display that follows a sweep on standard error; silent where that is no terminal.

    Use it in a ``with`` statement.
    """

    def __init__(self, study: str) -> None:
        self._study = study
        self._live = Live(console=Console(stderr=True), transient=True, auto_refresh=False)

    def __enter__(self) -> SweepProgress:
        if sys.stderr.isatty():
            self._live.start()
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def close(self) -> None:
        """Clear the display."""
        self._live.stop()

    def __call__(self, state: SweepState) -> None:
        """Draw the present state."""
        if not self._live.is_started:
            return
        left = state.total - state.done - state.failed - len(state.running)
        lines: list[ConsoleRenderable] = [
            Text(
                f"{self._study}: {state.done} done, {state.failed} failed, "
                f"{len(state.running)} running, {left} to come"
            ),
            # A bar does not end its line by itself.
            Padding(ProgressBar(total=state.total, completed=state.done + state.failed, width=60)),
        ]
        if state.gaps:
            best, median = min(state.gaps), statistics.median(state.gaps)
            lines.append(Text(f"own gaps: best {percent(best)}, median {percent(median)}"))
        lines += [Text(f"  {label}") for label in list(state.running.values())[:_MOST_RUNNING]]
        self._live.update(Group(*lines), refresh=True)
