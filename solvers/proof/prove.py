"""The search for a proof that no point of a model beats a time.

It runs in a thread of its own: HiGHS keeps threads per calling thread, and Ctrl-C is heard at once.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence

import lazy_loader as lazy

from jettison.certificates.integer_model import IntegerModel
from jettison.solvers.clock import Clock
from jettison.solvers.proof.covers import useful_covers
from jettison.solvers.proof.new_rows import NewRow, Rounding
from jettison.solvers.proof.objective import Objective
from jettison.solvers.proof.proof import Attempt, Ending, Proof
from jettison.solvers.proof.search import ProofSearch

highspy = lazy.load("highspy")

__all__ = ["Rounding", "best_proof", "prove"]

# What tells the thread of a search to end.
Stop = threading.Event
_BITS = 30
_SECONDS_BETWEEN_LOOKS = 0.1
_SHARE_FOR_COVERS = 0.1


def prove(
    model: IntegerModel, time_ns: int | None, clock: Clock, roundings: Sequence[Rounding] = ()
) -> Proof | None:
    """Return a proof that no schedule beats `time_ns`, or None where none was found in time.

    With `time_ns` None, a proof that the model has no point. Derived rows are not added to `model`.
    """
    attempt = best_proof(model, time_ns, clock, roundings)
    return attempt.proof if attempt.ending is Ending.PROVED else None


def best_proof(
    model: IntegerModel, time_ns: int | None, clock: Clock, roundings: Sequence[Rounding] = ()
) -> Attempt:
    """Return a proof of the claim, or of the best smaller one that is proved when the time ends.

    On Ctrl-C as well; a second Ctrl-C raises ``KeyboardInterrupt`` at once.

    Raises
    ------
    SolverError
        If HiGHS refuses a model or an option.
    """
    run = _Run(model, time_ns, clock, roundings)
    thread = threading.Thread(target=run.work, name="proof", daemon=True)
    try:
        thread.start()
        # With a limit, since a signal that another thread gets does not end the waiting.
        while thread.is_alive():
            thread.join(_SECONDS_BETWEEN_LOOKS)
    except KeyboardInterrupt:
        run.stop.set()
        while thread.is_alive():
            thread.join(_SECONDS_BETWEEN_LOOKS)
        if run.ending is None:
            # It came before the search began.
            raise
    if isinstance(run.ending, BaseException):
        raise run.ending
    assert run.ending is not None, "the thread has ended"
    return run.ending


class _Run:
    """A search in a thread, and what it ends with."""

    def __init__(
        self,
        model: IntegerModel,
        time_ns: int | None,
        clock: Clock,
        roundings: Sequence[Rounding],
    ) -> None:
        self._model, self._time_ns = model, time_ns
        self._clock, self._roundings = clock, roundings
        self.stop = Stop()
        self.ending: Attempt | BaseException | None = None

    def work(self) -> None:
        """Search; every way to end is kept for the caller."""
        try:
            ending: Attempt | BaseException = self._attempt()
        except BaseException as error:
            ending = error
        # Leave no thread of HiGHS behind: a process that forks with one hangs.
        highspy.Highs.resetGlobalScheduler(True)
        self.ending = ending

    def _attempt(self) -> Attempt:
        rows = [rounding.row(self._model) for rounding in self._roundings]
        covers = self._covers(rows)
        attempt = self._search([*rows, *covers], self._clock)
        if not covers or attempt.ending is not Ending.PROVED:
            return attempt
        # Covers make most trees smaller, but not all.
        other = self._search(rows, Clock(min(self._clock.left_s, self._clock.seconds)))
        return min(attempt, other, key=_size)

    def _covers(self, rows: Sequence[NewRow]) -> list[NewRow]:
        if self._time_ns is None:
            return []
        cutoff = float(Objective(self._model).to_beat(self._time_ns))
        share = Clock(self._clock.left_s * _SHARE_FOR_COVERS)
        return useful_covers(self._model, rows, cutoff, share)

    def _search(self, rows: Sequence[NewRow], clock: Clock) -> Attempt:
        bits = max(0, _BITS + 1 - Objective(self._model).unit.bit_length())
        return ProofSearch(self._model, rows, self._time_ns, bits, clock, self.stop).run()


def _size(attempt: Attempt) -> float:
    """Return the size of the proof of the claim that was asked for."""
    if attempt.ending is not Ending.PROVED or attempt.proof is None:
        return math.inf
    return len(attempt.proof.lines)
