"""Choice of the column to branch at, by pseudo-costs and strong branching.

A column's gain in each direction, per unit that its value moves, is averaged over the branches
made so far (pseudo-costs; Benichou and others 1971). Until there are enough of them, the best
candidates are tried with a limited number of iterations (strong branching), as reliability
branching has it (Achterberg, Koch and Martin 2005).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from jettison.solvers.core.clock import Clock
from jettison.solvers.proof.exact_rows import Integers
from jettison.solvers.proof.linear_program import LinearProgram, LpAnswer, LpStatus
from jettison.solvers.proof.params import ProofParams


@dataclass(frozen=True, slots=True)
class Fraction:
    """Integer column with a fractional value in a relaxation."""

    column: int
    value: float


class Branching:
    """Gains of the bound by branching, recorded for every column of a model.

    Parameters
    ----------
    num_columns
        Of the model.
    params
        How many columns are tried, and for how long.
    """

    def __init__(self, num_columns: int, params: ProofParams) -> None:
        self._params = params
        self._gains = np.zeros((2, num_columns))
        self._counts = np.zeros((2, num_columns), dtype=np.int64)

    def learn(self, fraction: Fraction, side: int, gain: float) -> None:
        """Record the gain of a branch; side 0 is down, 1 is up."""
        part = fraction.value - math.floor(fraction.value)
        distance = part if side == 0 else 1 - part
        self._gains[side, fraction.column] += max(0.0, gain) / max(distance, 1e-6)
        self._counts[side, fraction.column] += 1

    def choose(
        self,
        fractions: list[Fraction],
        program: LinearProgram,
        bounds: tuple[Integers, Integers],
        value: float,
        missing: float,
        clock: Clock,
    ) -> Fraction:
        """Return the column to branch at.

        Parameters
        ----------
        fractions
            At least one.
        program
            The relaxation, with the bounds and the basis of the node, which are restored.
        bounds
            Bounds of all columns at the node.
        value, missing
            The relaxation's value, and by how much it must rise for the node to be closed.
        clock
            At its end the best column so far is returned.
        """
        ranked = sorted(fractions, key=lambda fraction: -self._estimate(fraction, missing))
        if len(ranked) == 1:
            return ranked[0]
        best, best_score = ranked[0], -1.0
        for candidate in ranked[: self._params.candidates]:
            if self._counts[:, candidate.column].min() >= self._params.reliable:
                score = self._estimate(candidate, missing)
            elif not clock.left_s:
                break
            else:
                score = self._try(candidate, program, bounds, value, missing, clock)
            if score > best_score:
                best, best_score = candidate, score
        return best

    def _try(
        self,
        fraction: Fraction,
        program: LinearProgram,
        bounds: tuple[Integers, Integers],
        value: float,
        missing: float,
        clock: Clock,
    ) -> float:
        lower, upper = (int(bound[fraction.column]) for bound in bounds)
        split = math.floor(fraction.value)
        basis = program.basis
        gains = []
        for side, limits in enumerate(((lower, split), (split + 1, upper))):
            program.set_column(fraction.column, *limits)
            answer = program.solve(clock, self._params.iterations)
            gains.append(gain_of(answer, value, missing))
            self.learn(fraction, side, gains[-1])
            program.set_column(fraction.column, lower, upper)
            program.basis = basis
        return self._score(gains[0], gains[1], missing)

    def _estimate(self, fraction: Fraction, missing: float) -> float:
        part = fraction.value - math.floor(fraction.value)
        gains = []
        for side, distance in enumerate((part, 1 - part)):
            count = self._counts[side, fraction.column]
            total = self._counts[side].sum()
            if count:
                gain = self._gains[side, fraction.column] / count
            else:
                gain = self._gains[side].sum() / total if total else 1.0
            gains.append(gain * distance)
        return self._score(gains[0], gains[1], missing)

    def _score(self, down: float, up: float, missing: float) -> float:
        # A gain of 0 on one side would hide the other.
        least = self._params.least_gain * missing
        return max(least, min(down, missing)) * max(least, min(up, missing))


def gain_of(answer: LpAnswer, value: float, missing: float) -> float:
    """Return by how much a branch raises the bound, at most by what is missing."""
    if answer.status in {LpStatus.EMPTY, LpStatus.BEYOND}:
        return missing
    return min(missing, max(0.0, answer.value - value))
