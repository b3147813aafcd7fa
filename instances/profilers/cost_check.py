"""Check of measured costs: that they add up to a step, and that a second look finds the same.

Costs of operators are measured one by one and decide which of them are computed again. They are in
doubt if

- their sum is more than 25 % apart from whole steps that were measured on the same device;
- half of the runs took so much longer than the fastest that a third of the sum is spread;
- a sample of operators, measured again at the end, takes more than 10 % more or less.

What becomes of a doubt is said by a `CostCheck`. Of a machine that is not steady (`MachineState`),
and of an earlier profile of the same operations in this program that is more than 10 % apart, there
is a warning and no doubt: costs that are right now may be others in the next profile.
"""

from __future__ import annotations

import warnings
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from itertools import accumulate

from jettison.instances.core.errors import InputError
from jettison.instances.profilers.machine_state import MOST_DIFFERENT, MachineState
from jettison.instances.profilers.profile_warning import ProfileWarning

# Least, counted and longest duration, in nanoseconds.
Spread = tuple[int, int, int]

MOST_APART = Fraction(1, 4)
MOST_SPREAD = Fraction(1, 3)
MOST_CHANGE = Fraction(1, 10)
# What is measured again: a part of the sum, of a number of operators.
_PART_AGAIN = Fraction(1, 5)
_MOST_AGAIN = 16


class CostCheck(StrEnum):
    """Consequence of costs in doubt: a warning, an error, or none, without a check."""

    WARN = "warn"
    REFUSE = "refuse"
    TRUST = "trust"


class DoubtfulCostsError(InputError):
    """Error of measured costs that contradict themselves or the step that they are of."""


@dataclass(frozen=True, slots=True)
class CostFigures:
    """Figures of a profile by which its costs are judged.

    Attributes
    ----------
    spreads
        Least, counted and longest duration of each operation, as often as it runs in a step.
    step_ns
        The same of whole steps; None where none was measured.
    sample_ns, again_ns
        Counted durations of a sample of operations, together, at first and at the end; 0 without.
    machine
        State of the machine meanwhile; None where it was not watched.
    earlier_ns
        What all operations took together in earlier profiles of this program.
    """

    spreads: tuple[Spread, ...]
    step_ns: Spread | None = None
    sample_ns: int = 0
    again_ns: int = 0
    machine: MachineState | None = None
    earlier_ns: tuple[int, ...] = ()

    @property
    def sum_ns(self) -> int:
        """Counted durations of all operations together."""
        return sum(spread[1] for spread in self.spreads)

    def unsteady(self) -> tuple[str, ...]:
        """Return why another profile may differ, each with its figures; empty if none is seen."""
        found = () if self.machine is None else self.machine.reasons()
        total_ns = self.sum_ns
        apart = [
            earlier_ns
            for earlier_ns in self.earlier_ns
            if max(earlier_ns, total_ns) > (1 + MOST_DIFFERENT) * min(earlier_ns, total_ns)
        ]
        if not apart:
            return found
        worst_ns = max(apart, key=lambda earlier_ns: abs(earlier_ns - total_ns))
        return (*found, f"an earlier one found {_ms(worst_ns)}, this one {_ms(total_ns)}")

    def doubts(self) -> tuple[str, ...]:
        """Return why the costs are in doubt, each with its figures; empty if they are not."""
        found = []
        total_ns = self.sum_ns
        if self.step_ns is not None and self.step_ns[1]:
            step_ns = self.step_ns[1]
            if abs(total_ns - step_ns) > MOST_APART * step_ns:
                found.append(
                    f"the operators take {_ms(total_ns)} together, and a whole step"
                    f" {_ms(step_ns)} ({_ms(self.step_ns[0])} to {_ms(self.step_ns[2])})"
                )
        spread_ns = total_ns - sum(spread[0] for spread in self.spreads)
        if spread_ns > MOST_SPREAD * total_ns:
            found.append(
                f"the fastest runs of the operators take {_ms(total_ns - spread_ns)} together,"
                f" those that count {_ms(total_ns)}"
            )
        if abs(self.again_ns - self.sample_ns) > MOST_CHANGE * self.sample_ns:
            found.append(
                f"operators that took {_ms(self.sample_ns)} at first take {_ms(self.again_ns)} at"
                " the end"
            )
        return tuple(found)

    def settle(self, check: CostCheck, name: str) -> None:
        """Warn of doubts or refuse the costs, as the check says, and warn of an unsteady machine.

        Raises
        ------
        DoubtfulCostsError
            If there are doubts and the check is to refuse.

        Warns
        -----
        ProfileWarning
            If there are doubts and the check is to warn; if the machine is not steady, or an
            earlier profile was another, and there is a check at all.
        """
        if check is CostCheck.TRUST:
            return
        reasons = "; ".join(self.unsteady())
        if reasons:
            warnings.warn(
                f"another profile of {name} may differ by more than 10 %: {reasons}; compare plans"
                " of one profile, or measure on a quieter machine",
                ProfileWarning,
                stacklevel=3,
            )
        doubts = "; ".join(self.doubts())
        if not doubts:
            return
        if check is CostCheck.REFUSE:
            raise DoubtfulCostsError(
                f"the costs of {name} are in doubt: {doubts}",
                field="costs",
                expected="measure on a quieter machine or a larger batch, with more --repeats, or"
                " write --trust to take them as they are",
            )
        warnings.warn(
            f"the costs of {name} are in doubt: {doubts}; measure on a quieter machine or a larger"
            " batch, with more repeats, or take them as they are (CostCheck.TRUST)",
            ProfileWarning,
            stacklevel=3,
        )


def fair_sample(durations: Sequence[int]) -> tuple[int, ...]:
    """Return the places of a sample of operations, in order: one at each of equal parts of the sum.

    The sample takes at most a fifth of the sum, unless it is of one operation, and has at most 16.
    An operation is in it with a chance in proportion to its duration. The longest ones would be
    those that were disturbed when they were measured, and take less the second time. Of operations
    that take equally long, which are mostly one call of several layers, it has one.
    """
    ends = tuple(accumulate(durations))
    if not ends or not ends[-1]:
        return ()
    total_ns = ends[-1]
    first = {duration: place for place, duration in reversed(list(enumerate(durations)))}
    found: set[int] = set()
    for count in range(min(_MOST_AGAIN, len(durations)), 0, -1):
        middles = [(2 * part + 1) * total_ns // (2 * count) for part in range(count)]
        found = {first[durations[bisect_right(ends, middle)]] for middle in middles}
        if sum(durations[place] for place in found) <= _PART_AGAIN * total_ns:
            break
    return tuple(sorted(found))


def _ms(duration_ns: int) -> str:
    return f"{duration_ns / 1e6:.3g} ms"
