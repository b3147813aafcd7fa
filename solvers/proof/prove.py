"""Search for a proof that no point of a model beats a time.

It runs in a thread of its own: HiGHS keeps threads per calling thread, and Ctrl-C works at once.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence

import lazy_loader as lazy

from jettison.certificates.integer_model import IntegerModel
from jettison.solvers.core.clock import Clock
from jettison.solvers.proof.covers import useful_covers
from jettison.solvers.proof.new_rows import NewRow, Rounding
from jettison.solvers.proof.objective import Objective
from jettison.solvers.proof.params import PROOF, ProofParams
from jettison.solvers.proof.proof_lines import Attempt, Ending, Proof
from jettison.solvers.proof.search import ProofSearch

highspy = lazy.load("highspy")

__all__ = ["Rounding", "best_proof", "prove"]

# Tells the thread of a search to end.
Stop = threading.Event
# The most that a header allows, less those that a second attempt may add.
_MOST_BITS = 200
_SECONDS_BETWEEN_LOOKS = 0.1


def prove(
    model: IntegerModel, time_ns: int | None, clock: Clock, roundings: Sequence[Rounding] = ()
) -> Proof | None:
    """Return a proof that no schedule beats `time_ns`, or None where none was found in time.

    If `time_ns` is None, the proof is that the model has no point. `model` does not get the derived
    rows.
    """
    attempt = best_proof(model, time_ns, clock, roundings)
    return attempt.proof if attempt.ending is Ending.PROVED else None


def best_proof(
    model: IntegerModel,
    time_ns: int | None,
    clock: Clock,
    roundings: Sequence[Rounding] = (),
    params: ProofParams = PROOF,
) -> Attempt:
    """Return a proof of the claim, or of the best smaller one that is proved when the time ends.

    Ctrl-C ends the search in the same way; a second one raises ``KeyboardInterrupt`` at once.

    Raises
    ------
    SolverError
        If HiGHS refuses a model or an option.
    """
    run = _Run(model, time_ns, clock, roundings, params)
    thread = threading.Thread(target=run.work, name="proof", daemon=True)
    # The thread is not joined: in Python 3.11 a thread counts as ended if a signal interrupts that.
    try:
        thread.start()
        run.wait()
    except KeyboardInterrupt:
        run.stop.set()
        run.wait()
    if isinstance(run.ending, BaseException):
        raise run.ending
    assert run.ending is not None, "the thread has ended"
    return run.ending


class _Run:
    """Search in a thread, and its result or exception."""

    def __init__(
        self,
        model: IntegerModel,
        time_ns: int | None,
        clock: Clock,
        roundings: Sequence[Rounding],
        params: ProofParams,
    ) -> None:
        self._params = params
        self._model, self._time_ns = model, time_ns
        self._clock, self._roundings = clock, roundings
        self.stop = Stop()
        self._done = threading.Event()
        self.ending: Attempt | BaseException | None = None

    def work(self) -> None:
        """Search, and keep the result or the exception for the caller."""
        try:
            ending: Attempt | BaseException = self._attempt()
        except BaseException as error:
            ending = error
        # End the threads of HiGHS: a process that forks while they exist hangs.
        highspy.Highs.resetGlobalScheduler(True)
        self.ending = ending
        self._done.set()

    def wait(self) -> None:
        """Wait for the end."""
        # Wait with a timeout: a signal that another thread receives does not end the waiting.
        while not self._done.wait(_SECONDS_BETWEEN_LOOKS):
            pass

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
        share = Clock(self._clock.left_s * self._params.share_for_covers)
        return useful_covers(self._model, rows, cutoff, share, self.stop, self._params)

    def _search(self, rows: Sequence[NewRow], clock: Clock) -> Attempt:
        bits = _bits_for(self._model, self._params)
        attempt = self._searched(rows, bits, clock)
        if attempt.ending is Ending.PRECISION and all(self._model.is_integer):
            bits += self._params.more_bits
            again = self._searched(rows, bits, clock)
            return max(again, attempt, key=_claimed_ns)
        return attempt

    def _searched(self, rows: Sequence[NewRow], bits: int, clock: Clock) -> Attempt:
        return ProofSearch(
            self._model, rows, self._time_ns, bits, clock, self.stop, self._params
        ).run()


def _bits_for(model: IntegerModel, params: ProofParams) -> int:
    """Return how many bits multipliers have after the point.

    Costs are counted in units of their greatest common divisor; rows with large coefficients have
    small multipliers.
    """
    largest = max((abs(value) for row in model.rows for value in row.coefficients), default=0)
    more = max(0, largest.bit_length() - params.bits_of_weights)
    least = max(0, params.bits + 1 - Objective(model).unit.bit_length() + more)
    return min(least, _MOST_BITS)


def _claimed_ns(attempt: Attempt) -> float:
    """Return the time of a proved claim; minus infinity where nothing is proved."""
    proof = attempt.proof
    return -math.inf if proof is None or proof.time_ns is None else proof.time_ns


def _size(attempt: Attempt) -> float:
    """Return the size of the proof of the claim that was asked for."""
    if attempt.ending is not Ending.PROVED or attempt.proof is None:
        return math.inf
    return len(attempt.proof.lines)
