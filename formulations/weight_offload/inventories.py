"""Writer of AGG and AGGINT: their columns and rows, by blocks; `aggregated` has the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from jettison.formulations.milp.array_model import ArrayModel, Floats
from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.formulations.weight_offload.least_layers import Blocks, Covers
from jettison.formulations.weight_offload.scale import WeightOffloadScale

Integers = NDArray[np.int64]
# Columns, one in each row of a block, and their coefficients.
Terms = list[tuple[Integers, "float | Floats"]]


class Layers(StrEnum):
    """Classes of layers by the way they move, `Fluid` or `Whole`.

    ``fluid``
        AGG: any part of a layer may be absent.
    ``whole``
        AGGINT: layers of the most frequent size are absent as a whole.
    """

    FLUID = "fluid"
    WHOLE = "whole"


@dataclass(frozen=True)
class _Inventories:
    """Columns of one class, by operation, by layer, or by layer from 1 to L + 1."""

    absent: Integers
    window: Integers
    inwards: Integers
    early_out: Integers
    late_out: Integers
    ahead: Integers
    early: Integers
    late: Integers
    past: Integers


class InventoryWriter:
    """Writer of the columns and rows of `aggregated`, in the order listed there.

    Parameters
    ----------
    scale
        The problem in the numbers of the model.
    layers
        Whether layers move in part (AGG) or as a whole (AGGINT).
    """

    def __init__(self, scale: WeightOffloadScale, layers: Layers) -> None:
        cycle = scale.problem.cycle
        self.scale = scale
        self.builder = ArrayModelBuilder("weight_offload_aggregated")
        self.L = cycle.num_layers
        self.layers = np.arange(self.L)
        self.K = 2 * self.L
        self.operations = np.arange(self.K)
        self.following = (self.operations + 1) % self.K
        self.layer_of = np.array([operation.layer - 1 for operation in cycle])
        self.is_backward = np.array([operation.is_backward for operation in cycle])
        self.w = np.array(self.scale.weights)
        self.capacity = np.array(self.scale.capacities)
        self.excess = np.maximum(0.0, self.w.sum() - np.array(self.scale.rooms))
        self.excess_bytes = cycle.excess_bytes(scale.problem.memory_bytes)
        self.sizes = cycle.weight_bytes
        self.weighs = np.array(self.sizes) > 0
        self.blocks = Blocks(self.sizes)
        self.is_block = np.array([size == self.blocks.block_bytes for size in self.sizes])
        self.is_whole = layers is Layers.WHOLE
        self.classes = [np.ones(self.L, dtype=bool)]
        if self.is_whole:
            others = ~self.is_block & self.weighs
            self.classes = [self.is_block] + ([others] if others.any() else [])
        self._add_choices()

    def model(self) -> ArrayModel:
        """Return the model."""
        self.inventories = [self._columns(g) for g in range(len(self.classes))]
        for g in range(len(self.classes)):
            self._add_absent(g)
            self._add_window(g)
        self._add_once()
        self._add_link()
        for g in range(len(self.classes)):
            self._add_inventories(g)
        self._add_apart()
        if self.is_whole:
            self._add_whole()
        for g in range(len(self.classes)):
            self._add_present(g)
        self._add_memory()
        self._add_blocks()
        self._add_cover()
        return self.builder.build()

    def _named(self, word: str, numbers: Sequence[int] | Integers) -> list[str]:
        return [f"{word}_{number}" for number in numbers]

    def _add_choices(self) -> None:
        names = self.layers + 1
        upper = self.weighs.astype(float)
        self.y0 = self.builder.add_columns(self._named("y0", names), upper=upper, integer=True)
        self.y1 = self.builder.add_columns(self._named("y1", names), upper=upper, integer=True)
        self.c = self.builder.add_columns(self._named("c", names), upper=upper)
        self.most = 2 * self.w.sum()
        self.z = self.builder.add_columns(
            self._named("idle", self.operations), upper=self.most, cost=1.0
        )
        self.whole: tuple[Integers, Integers] | None = None
        if self.is_whole:
            upper_count = float(self.is_block.sum())
            self.whole = (
                self.builder.add_columns(
                    self._named("H", self.operations), upper=upper_count, integer=True
                ),
                self.builder.add_columns(
                    self._named("Q", self.operations), upper=upper_count, integer=True
                ),
            )

    def _columns(self, g: int) -> _Inventories:
        def add(letter: str, numbers: Integers) -> Integers:
            names = self._named(f"{letter}_{g}", numbers)
            return self.builder.add_columns(names, upper=self.most)

        layers, operations = self.layers + 1, self.operations
        return _Inventories(
            absent=add("A", layers),
            window=add("W", np.arange(1, self.L + 2)),
            inwards=add("P", operations),
            early_out=add("U", operations),
            late_out=add("V", operations),
            ahead=add("h", operations),
            early=add("g", operations),
            late=add("r", operations),
            past=add("q", operations),
        )

    def _rows(
        self,
        word: str,
        numbers: Integers,
        terms: Terms,
        lower: float | Floats = -np.inf,
        upper: float | Floats = np.inf,
    ) -> None:
        """Add a block of rows, one for each number, with one column of each term in each row."""
        count = len(numbers)
        self.builder.add_rows(
            self._named(word, numbers),
            np.tile(np.arange(count), len(terms)),
            np.concatenate([columns for columns, _ in terms]),
            np.concatenate([np.broadcast_to(factor, count) for _, factor in terms]),
            lower=lower,
            upper=upper,
        )

    def _steps(self, word: str, columns: Integers, size: Floats) -> None:
        """Add rows for the change of `columns` from one layer to the next."""
        here, above = self.layers[:-1], self.layers[1:]
        self.builder.add_row(
            f"{word}_1",
            [int(columns[0]), *self.y0[1:].tolist()],
            [1.0, *(-size[1:]).tolist()],
            lower=0,
            upper=0,
        )
        terms: Terms = [
            (columns[above], 1.0),
            (columns[here], -1.0),
            (self.y0[above], size[above]),
            (self.y1[here], -size[here]),
        ]
        self._rows(word, above + 1, terms, lower=0, upper=0)

    def _size(self, g: int) -> Floats:
        return np.where(self.classes[g], self.w, 0.0)

    def _add_absent(self, g: int) -> None:
        self._steps(f"absent_{g}", self.inventories[g].absent, self._size(g))

    def _add_window(self, g: int) -> None:
        window = self.inventories[g].window
        terms: Terms = [(window[:-1], 1.0), (window[1:], -1.0), (self.c, -self._size(g))]
        self._rows(f"window_{g}", self.layers + 1, terms, lower=0, upper=0)
        self.builder.add_row(f"window_{g}_{self.L + 1}", [int(window[-1])], [1.0], upper=0)

    def _add_once(self) -> None:
        terms: Terms = [(self.c, 1.0), (self.y1, -1.0), (self.y0, 1.0)]
        self._rows("once", self.layers + 1, terms, lower=0)

    def _add_link(self) -> None:
        out: Terms = [(self.z, -1.0)]
        inwards: Terms = [(self.z, -1.0)]
        for inventory in self.inventories:
            out += [(inventory.early_out, 1.0), (inventory.late_out, 1.0)]
            inwards.append((inventory.inwards, 1.0))
        self._rows("out", self.operations, out, upper=self.capacity)
        self._rows("in", self.operations, inwards, upper=self.capacity)
        if self.scale.is_shared:
            both: Terms = [(self.z, -self.scale.total_ratio), *out[1:], *inwards[1:]]
            limits = np.array(self.scale.total_capacities)
            self._rows("both", self.operations, both, upper=limits)

    def _add_inventories(self, g: int) -> None:
        inventory, size = self.inventories[g], self._size(g)
        now, then = self.operations, self.following
        # Layers of the next operation for (ahead), of this one for the other two rows.
        coming = self.layer_of[then]
        needed = np.where(self.is_backward[then], self.y1[coming], self.y0[coming])
        ahead: Terms = [
            (inventory.ahead[then], 1.0),
            (inventory.ahead[now], -1.0),
            (inventory.inwards, -1.0),
            (needed, size[coming]),
        ]
        self._rows(f"ahead_{g}", now, ahead, lower=0, upper=0)
        here = self.layer_of
        changed = np.where(self.is_backward, size[here], 0.0)
        for word, stock, choice, out in (
            ("early", inventory.early, self.y0, inventory.early_out),
            ("late", inventory.late, self.c, inventory.late_out),
        ):
            terms: Terms = [
                (stock[then], 1.0),
                (stock[now], -1.0),
                (choice[here], -changed),
                (out, 1.0),
            ]
            self._rows(f"{word}_{g}", now, terms, lower=0, upper=0)
        window = inventory.window[here + self.is_backward]
        past: Terms = [(inventory.past, 1.0), (inventory.late, -1.0), (window, 1.0)]
        self._rows(f"past_{g}", now, past, lower=0)

    def _add_apart(self) -> None:
        for g, inventory in enumerate(self.inventories):
            member = np.flatnonzero(self.classes[g])
            backward = self.L - 1 - member
            size = self.w[member]
            terms: Terms = [
                (inventory.early[backward + 1], 1.0),
                (inventory.late[backward + 1], 1.0),
                (self.z[backward], 1.0),
                (self.y0[member], -size),
                (self.c[member], -size),
            ]
            self._rows("apart", member + 1, terms, lower=0)

    def _absence(self, g: int) -> Terms:
        """Return the absent bytes of a class at each operation, as terms."""
        inventory = self.inventories[g]
        absent = (inventory.absent[self.layer_of], 1.0)
        if self.whole is not None and g == 0:
            block = float(self.w[self.is_block][0])
            return [absent, (self.whole[0], -block), (self.whole[1], -block)]
        return [absent, (inventory.ahead, -1.0), (inventory.early, -1.0), (inventory.past, -1.0)]

    def _add_whole(self) -> None:
        assert self.whole is not None
        inventory = self.inventories[0]
        block = float(self.w[self.is_block][0])
        back: Terms = [(self.whole[0], block), (inventory.ahead, -1.0)]
        self._rows("back", self.operations, back, lower=0)
        wait: Terms = [(self.whole[1], block), (inventory.early, -1.0), (inventory.past, -1.0)]
        self._rows("wait", self.operations, wait, lower=0)

    def _add_present(self, g: int) -> None:
        self._rows(f"present_{g}", self.operations, self._absence(g), lower=0)

    def _add_memory(self) -> None:
        binding = np.flatnonzero(self.excess > 0)
        terms: Terms = [
            (columns[binding], factor)
            for g in range(len(self.classes))
            for columns, factor in self._absence(g)
        ]
        self._rows("memory", binding, terms, lower=self.excess[binding])

    def _binding(self) -> Integers:
        return np.flatnonzero(np.array([excess > 0 for excess in self.excess_bytes]))

    def _count_columns(self, letter: str, counts: Floats) -> Integers:
        names = self._named(letter, self.layers + 1)
        columns = self.builder.add_columns(names, upper=float(counts.sum()))
        self._steps({"N": "number", "R": "other", "S": "all"}[letter], columns, counts)
        return columns

    def _add_blocks(self) -> None:
        binding = self._binding()
        here = self.layer_of[binding]
        number = self._count_columns("N", self.is_block.astype(float))
        terms: Terms = [(number[here], 1.0)]
        if self.whole is not None:
            terms += [(columns[binding], -1.0) for columns in self.whole]
        excess = [self.excess_bytes[k] for k in binding]
        least = np.array([self.blocks.least(size) for size in excess], dtype=float)
        others = self.blocks.others
        if len(others) == 1:
            [other] = others
            each = np.array([self.blocks.worth(other, size) for size in excess], dtype=float)
            worth = np.where(here == other, 0.0, each)
            terms.append((np.where(here < other, self.y0[other], self.y1[other]), worth))
        elif others:
            counts = np.zeros(self.L)
            counts[others] = [self.blocks.worth(other, 0) for other in others]
            terms.append((self._count_columns("R", counts)[here], 1.0))
        self._rows("blocks", binding, terms, lower=least)

    def _add_cover(self) -> None:
        if not self.weighs[~self.is_block].any():
            return
        binding = self._binding()
        columns = self._count_columns("S", self.weighs.astype(float))
        here = self.layer_of[binding]
        covers = Covers(self.sizes)
        least = [
            covers.least_number(layer, self.excess_bytes[k])
            for k, layer in zip(binding.tolist(), here.tolist(), strict=True)
        ]
        self._rows("cover", binding, [(columns[here], 1.0)], lower=np.array(least, dtype=float))
