"""Grids of memory slots: sizes rounded for the kernels, and brackets of the optimum in between."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jettison.instances.core.errors import InputError
from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.remat_chain.schedule import ChainSchedule
from jettison.solvers.remat_chain.least_memory import chain_schedule
from jettison.solvers.remat_chain.needs import ChainNeeds

KernelArguments = tuple[
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.int32],
    NDArray[np.int32],
    NDArray[np.int32],
    NDArray[np.int32],
    list[int],
]
"""Times, sizes and thresholds in slots, budgets in slots."""
Ceiling = tuple[int, list[tuple[int, int]]]
"""A time and its operations, as the kernels write them."""


@dataclass(frozen=True, slots=True)
class Bracket:
    """Lower bound and schedule that a grid of memory slots gives for one memory.

    Attributes
    ----------
    floor_ns
        Lower bound on the time of persistent schedules, or None if there is none that fits.
    schedule
        A schedule that fits, or None if none fits with sizes rounded up.
    is_exact
        Whether the grid rounds nothing.
    """

    floor_ns: int | None
    schedule: ChainSchedule | None
    is_exact: bool


@dataclass(frozen=True, slots=True)
class AskedMemories:
    """Several memories of one chain, and the grid that they share.

    Attributes
    ----------
    available_bytes
        Bytes of each memory beside the input, in the order given.
    budgets
        The same values, each once and ascending, without memories too small for the input.
    slots
        Number of slots of the largest budget.
    is_exact
        Whether the grid rounds nothing.
    """

    available_bytes: tuple[int, ...]
    budgets: tuple[int, ...]
    slots: int
    is_exact: bool

    @classmethod
    def of(cls, chain: Chain, memories_bytes: Sequence[int], slots: int) -> AskedMemories:
        """Make the grid of `slots` slots, or of fewer if these round nothing.

        Raises
        ------
        InputError
            If there is no slot.
        """
        if slots < 1:
            raise InputError(f"{slots}", field="slots", expected="write at least 1")
        available = tuple(memory_bytes - chain.input_bytes for memory_bytes in memories_bytes)
        budgets = tuple(sorted({amount for amount in available if amount >= 0}))
        if not budgets:
            return cls(available, budgets, 0, is_exact=True)
        needs = ChainNeeds(chain)
        sizes = (*needs.input_bytes[1:].tolist(), *needs.saved_bytes.tolist())
        divisor = math.gcd(*budgets, *sizes)
        is_exact = budgets[-1] == 0 or budgets[-1] // divisor <= slots
        if is_exact:
            slots = budgets[-1] // divisor if budgets[-1] else 0
        return cls(available, budgets, slots, is_exact)

    def bracketed(
        self,
        needs: ChainNeeds,
        floor_slots: int,
        times: Callable[[KernelArguments], list[int | None]],
        program: Callable[[KernelArguments], list[Ceiling | None]],
    ) -> list[Bracket]:
        """Return a bracket for each memory, in the order given.

        Parameters
        ----------
        needs
            The thresholds of the chain.
        floor_slots
            On how many slots sizes are rounded down.
        times, program
            The kernels that give times, and times with schedules, for each budget.
        """
        none = Bracket(None, None, is_exact=True)
        if not self.budgets:
            return [none for _ in self.available_bytes]
        budgets = self.budgets
        coarse = MemoryGrid(budgets[-1], floor_slots)
        down = kernel_arguments(needs, coarse, budgets, rounds_up=False)
        if self.is_exact:
            ceilings = program(down)
            floors = [None if ceiling is None else ceiling[0] for ceiling in ceilings]
        else:
            floors = times(down)
            grid = MemoryGrid(budgets[-1], self.slots)
            ceilings = program(kernel_arguments(needs, grid, budgets, rounds_up=True))
        found = dict(zip(self.budgets, zip(floors, ceilings, strict=True), strict=True))
        return [
            none
            if amount not in found
            else Bracket(
                found[amount][0],
                None if (ceiling := found[amount][1]) is None else chain_schedule(ceiling[1]),
                self.is_exact,
            )
            for amount in self.available_bytes
        ]


@dataclass(frozen=True, slots=True)
class MemoryGrid:
    """Grid that divides a memory, the input excluded, into slots of equal size."""

    available_bytes: int
    slots: int

    def count(self, sizes: NDArray[np.int64], *, rounds_up: bool) -> NDArray[np.int32]:
        """Return sizes in slots, rounded; a size above the whole grid becomes slots + 1."""
        most = self.available_bytes
        # Sizes times slots can need more than 64 bits: Python's integers then take over.
        exact = np.minimum(sizes, most).astype(object if most * self.slots >= 2**63 else np.int64)
        product = exact * self.slots
        count = (-(-product // most) if rounds_up else product // most) if most else product
        return np.where(sizes > most, self.slots + 1, count).astype(np.int32)


def kernel_arguments(
    needs: ChainNeeds, grid: MemoryGrid, budgets_bytes: Sequence[int], *, rounds_up: bool
) -> KernelArguments:
    """Return what the kernel takes.

    Thresholds of four kinds of sub-problems are an array of four matrices. Those of the second and
    the fourth count the input, which the tables of the kernel do not.
    """
    times = np.array([(stage.forward_ns, stage.backward_ns) for stage in needs.chain], np.int64)
    budgets = grid.count(np.array(budgets_bytes, np.int64), rounds_up=not rounds_up)
    inputs = grid.count(needs.input_bytes, rounds_up=rounds_up)
    forward_all = grid.count(needs.forward_all, rounds_up=True)
    forward_none = grid.count(needs.forward_none, rounds_up=True)
    if forward_all.ndim == 3:
        forward_all[1::2] -= inputs[:, None]
        forward_none[1::2] -= inputs[:, None]
    return (
        np.ascontiguousarray(times[:, 0]),
        np.ascontiguousarray(times[:, 1]),
        inputs,
        grid.count(needs.saved_bytes, rounds_up=rounds_up),
        forward_all,
        forward_none,
        budgets.tolist(),
    )
