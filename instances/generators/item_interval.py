"""Interval of the sizes of 3-PARTITION items, between V/4 and V/2, and random items in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jettison.instances.core.errors import InputError
from jettison.instances.generators.splitmix64 import SplitMix64


@dataclass(frozen=True, slots=True)
class ItemInterval:
    """The integers strictly between a quarter and half of a target.

    Raises
    ------
    InputError
        If no three of them sum to the target.
    """

    target: int

    def __post_init__(self) -> None:
        if not 3 * self.least <= self.target <= 3 * self.most:
            raise InputError(
                f"{self.target}: no three integers between V/4 and V/2 sum to V",
                field="target",
                expected="write 3, 6, 7, or 9 and more",
            )

    @property
    def least(self) -> int:
        """The smallest item."""
        return self.target // 4 + 1

    @property
    def most(self) -> int:
        """The largest item."""
        return (self.target - 1) // 2

    def triple(self, random: SplitMix64) -> tuple[int, int, int]:
        """Return three items of the interval that sum to the target."""
        while True:
            first = random.between(self.least, self.most)
            low = max(self.least, self.target - first - self.most)
            high = min(self.most, self.target - first - self.least)
            if low <= high:
                second = random.between(low, high)
                return first, second, self.target - first - second

    def of_residues(
        self, random: SplitMix64, residues: Sequence[int], modulus: int, total: int
    ) -> list[int]:
        """Return an item for each residue, in their order, that sum to `total`.

        Items are drawn evenly; what the sum is off by is then spread over items in random order.

        Raises
        ------
        InputError
            If the interval has no such items: the target is too small for the modulus.
        """
        too_small = InputError(
            f"{self.target} leaves {self.most - self.least + 1} integers between V/4 and V/2, "
            f"too few for residues mod {modulus}",
            field="target",
            expected=f"write at least {48 * modulus}, or a smaller modulus",
        )
        values = []
        for residue in residues:
            lowest = self.least + (residue - self.least) % modulus
            if lowest > self.most:
                raise too_small
            values.append(lowest + modulus * random.below((self.most - lowest) // modulus + 1))
        order = list(range(len(values)))
        missing = total - sum(values)
        while missing:
            random.shuffle(order)
            before = missing
            for item in order:
                # Each item takes a random part of what it can take, so that none stands out.
                room = self.most - values[item] if missing > 0 else values[item] - self.least
                steps = min(room, abs(missing)) // modulus
                step = modulus * random.between(min(steps, 1), steps)
                step = step if missing > 0 else -step
                values[item] += step
                missing -= step
            if missing == before:
                raise too_small
        return values
