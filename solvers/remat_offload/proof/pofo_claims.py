"""Search for the largest bound of POFO's program of which a certificate can be made.

The kernel finds the points of a proof (`solvers/_native/remat_offload/pofo_proof.cpp`), and
`certificates/remat_offload/pofo_bellman.py` checks them. A proof of the optimum has all states of
the program that can lead to it, and may be too large: then smaller claims are tried, nearer to the
least one that was too large than to the largest one that was proved.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from jettison.instances.remat_chain.smaller_gradients import with_smaller_gradients
from jettison.instances.remat_offload.problem import RematOffloadChain
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers import _kernels
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.proof.certificate import Certificate
from jettison.solvers.proof.statement import Statement
from jettison.solvers.remat_offload.pofo.kernel_units import (
    LARGEST_SUM,
    Side,
    Totals,
    Units,
    arrays_of,
)
from jettison.solvers.remat_offload.pofo.program import NS_PER_S
from jettison.solvers.remat_offload.proof.params import POFO_PROOF, PofoProofParams


@dataclass(frozen=True, slots=True)
class PofoAttempt:
    """Attempt at a proof.

    Attributes
    ----------
    lines
        The records of the proof; None without one.
    missing_ns
        By how much some schedule takes less than was claimed; 0 where none was found.
    """

    lines: bytes | None
    missing_ns: int


class PofoClaims:
    """Claims about POFO's class on one problem, and their certificates.

    Parameters
    ----------
    problem
        Chain, memory and link; the transfers may be fluid or not.
    clock
        The time limit.
    params
        The grids, and the limits on the proof.
    """

    def __init__(
        self, problem: RematOffloadChain, clock: Clock, params: PofoProofParams = POFO_PROOF
    ) -> None:
        self._problem, self._clock, self._params = problem, clock, params
        self._link = faster_link(problem)
        self._base_ns = problem.base_time_ns

    def best(self, time_ns: int) -> Certificate | None:
        """Return a certificate of a time, or of the largest smaller one that was proved."""
        low_ns, high_ns, claim_ns = self._base_ns - 1, time_ns + 1, time_ns
        found: tuple[int, bytes] | None = None
        with Ending():
            for tried in range(self._params.most_claims):
                # The first claim may take all of the time and prove nothing: it has half of it.
                share = Clock(self._clock.left_s / 2)
                attempt = self.attempt(claim_ns, share)
                if attempt is not None and attempt.missing_ns:
                    high_ns = claim_ns = max(claim_ns - attempt.missing_ns, self._base_ns)
                    attempt = self.attempt(claim_ns, share)
                if attempt is not None and attempt.lines is not None:
                    found, low_ns = (claim_ns, attempt.lines), claim_ns
                else:
                    high_ns = claim_ns
                if tried == 0 and found is not None:
                    break
                # The size grows fast with the claim: the largest one that fits is not far below.
                claim_ns = (low_ns + 4 * high_ns) // 5
                if claim_ns <= low_ns:
                    break
        return None if found is None else self._certificate(*found)

    def none_fits(self) -> Certificate | None:
        """Return a certificate that no schedule of the class fits; None if one does."""
        with Ending():
            attempt = self.attempt(None, self._clock)
            if attempt is not None and attempt.lines is not None:
                return self._certificate(None, attempt.lines)
        return None

    def attempt(self, time_ns: int | None, clock: Clock) -> PofoAttempt | None:
        """Search for a proof of a claim; None where it grows too large, or takes too long.

        Parameters
        ----------
        time_ns
            The claim; None to prove that nothing fits.
        clock
            The time limit.
        """
        for slots in dict.fromkeys((self._params.coarse_slots, self._params.fine_slots)):
            try:
                attempt = self._on_grid(time_ns, slots, clock)
            except (TimeoutError, MemoryError):
                return None
            if attempt is not None:
                return attempt
        return None

    def _on_grid(self, time_ns: int | None, slots: int, clock: Clock) -> PofoAttempt | None:
        problem, link = self._problem, self._link
        units = Units(link.numerator, link.denominator, 0, Side.EXACT)
        arrays = arrays_of(with_smaller_gradients(problem.instance), units)
        goal = 1
        if time_ns is None:
            for operation in ("forward", "backward"):
                arrays[operation] = np.zeros_like(arrays[operation])
        else:
            # Times are whole nanoseconds: what takes more than T - 1 takes T.
            goal = max((time_ns - 1 - self._base_ns) * units.ticks_per_ns + 1, 0)
        lines, missing, is_too_large, _, _ = _kernels.prove_pofo(
            **arrays,
            memory=units.memory(problem.memory_bytes),
            slot=max(units.memory(problem.memory_bytes) // slots, 1),
            goal=goal,
            link_counts=time_ns is not None,
            most_points=self._params.most_points,
            most_bytes=self._params.most_table_bytes,
            time_limit_s=clock.left_s,
        )
        if is_too_large:
            return None
        if missing:
            return PofoAttempt(None, -(-missing // units.ticks_per_ns))
        return PofoAttempt(lines, 0)

    def _certificate(self, time_ns: int | None, lines: bytes) -> Certificate:
        problem, link = self._problem, self._link
        instance = problem.instance.to_json()
        # It is no part of the instance's hash, and may be longer than the rest.
        instance.pop("provenance", None)
        statement = Statement(
            problem.problem,
            instance,
            {"memory_bytes": problem.memory_bytes, "bytes_per_s": problem.link.bytes_per_s},
            {
                "name": "pofo-bellman",
                "version": 1,
                "link_bytes": link.numerator,
                "link_ns": link.denominator,
            },
        )
        certificate = Certificate(
            statement.header(time_ns, ScheduleClass.POFO, 0), gzip.compress(lines, mtime=0)
        )
        certificate.checked()
        return certificate


def faster_link(problem: RematOffloadChain) -> Fraction:
    """Return bytes per nanosecond of the link, rounded up to what the integers of the kernel allow.

    A faster link has all schedules of a slower one.
    """
    exact = Fraction(problem.link.bytes_per_s, NS_PER_S)
    totals = Totals.of(problem.instance, problem.memory_bytes)
    part = exact.denominator
    while True:
        link = Fraction(-(-exact.numerator * part // exact.denominator), part)
        total = link.numerator * totals.time_ns + link.denominator * totals.size_bytes
        if total < LARGEST_SUM or part == 1:
            return link
        part = max(part // 2, 1)
