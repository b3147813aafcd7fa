"""State of the machine during a profile: its load, and how long a fixed kernel took all through it.

What is measured in one profile can agree with itself while the machine is slower than it will be in
the next one: caches, memory and the pipelines of a core are shared with other programs, also where
the clock stands still while these run. So the state is recorded, and is *unsteady* if

- more programs wanted to run than there are cores, before the profile or after it;
- a reference kernel took more than 10 % longer than at best in a quarter of its turns or more;
- it took more than 10 % longer in an earlier profile of this program.

Another profile may then differ by more than 10 %, however well this one agrees with itself.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

# What the second of two profiles may take more, or less, before that is worth a warning.
MOST_DIFFERENT = Fraction(1, 10)


def load_average() -> float | None:
    """Return how many programs ran or waited in the last minute; None if the system has no word."""
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):
        # Not every system counts them.
        return None


@dataclass(frozen=True, slots=True)
class MachineState:
    """State of the machine during a profile.

    Attributes
    ----------
    cores
        Logical cores of the machine.
    load_before, load_after
        Load averages of a minute; None where the system has none.
    turns_ns
        Durations of the reference kernel, in turns through the profile.
    best_ns
        Its least duration in this program so far, those of `turns_ns` included; 0 without turns.
    earlier_ns
        Its counted durations in earlier profiles of this program on the same device.
    counts_load
        Whether programs on the cores slow down what is measured.
    """

    cores: int
    load_before: float | None
    load_after: float | None
    turns_ns: tuple[int, ...] = ()
    best_ns: int = 0
    earlier_ns: tuple[int, ...] = ()
    counts_load: bool = True

    @property
    def counted_ns(self) -> int:
        """Lower median of the turns; 0 without."""
        return _quantile(self.turns_ns, 1, 2)

    @property
    def slow_ns(self) -> int:
        """Duration that a quarter of the turns took, or more; 0 without."""
        return -_quantile([-turn for turn in self.turns_ns], 1, 4)

    def to_provenance(self) -> Mapping[str, float]:
        """Return what is known as numbers by name, for a provenance."""
        found: dict[str, float | None] = {
            "cores": self.cores,
            "load_before": self.load_before,
            "load_after": self.load_after,
        }
        if self.turns_ns:
            found |= {
                "reference_least_ns": min(self.turns_ns),
                "reference_ns": self.counted_ns,
                "reference_most_ns": max(self.turns_ns),
            }
        return {name: value for name, value in found.items() if value is not None}

    def reasons(self) -> tuple[str, ...]:
        """Return why another profile may differ, each with its figures; empty if none is seen."""
        found = []
        loads = [load for load in (self.load_before, self.load_after) if load is not None]
        if self.counts_load and max(loads, default=0.0) > self.cores:
            figures = " before and ".join(f"{load:.1f}" for load in loads)
            found.append(f"the load was {figures} after, on {self.cores} cores")
        most = 1 + MOST_DIFFERENT
        if self.slow_ns > most * self.best_ns:
            found.append(
                f"a reference kernel took {_us(self.best_ns)} at best, and {_us(self.slow_ns)} or"
                " more in a quarter of its turns"
            )
        earlier_ns = max(self.earlier_ns, default=0)
        if self.turns_ns and earlier_ns > most * self.counted_ns:
            found.append(
                f"a reference kernel took {_us(earlier_ns)} in an earlier profile and"
                f" {_us(self.counted_ns)} in this one"
            )
        return tuple(found)


def _quantile(values: Sequence[int], part: int, parts: int) -> int:
    """Return the value that is so far from the least to the most, one of them; 0 without."""
    ordered = sorted(values)
    return ordered[(len(ordered) - 1) * part // parts] if ordered else 0


def _us(duration_ns: int) -> str:
    return f"{duration_ns / 1e3:.4g} us"
