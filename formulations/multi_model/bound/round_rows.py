"""Columns and rows of one round in the bound on a training unit."""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction

from jettison.formulations.multi_model.bound import tensor_path as paths
from jettison.formulations.multi_model.bound.columns import (
    BoundColumns,
    BoundRows,
    Terms,
    joined,
    scaled,
)
from jettison.formulations.multi_model.bound.sub_array_rows import BoundSubArray


class BoundRound(ABC):
    """Rows that every round has.

    f is the sub-array of the forward pass, b that of the backward pass. Stretches of the forward
    pass begin with a milestone. Stretches of the backward pass are counted from 1 and follow a
    milestone; number 0 is what the first operator uses.

    Parameters
    ----------
    model
        The model to write to.
    number
        Number of the round.
    f, b
        The sub-arrays, their classes added.
    """

    def __init__(
        self, model: BoundColumns, number: int, f: BoundSubArray, b: BoundSubArray
    ) -> None:
        self.model, self.number, self.f, self.b = model, number, f, b
        add = model.builder.add_column
        self.length = add(f"length_{number}", upper=model.horizon, cost=1.0)
        self.S = [add(f"S_{number}_{p}", upper=model.horizon) for p in range(len(f.forward))]
        self.U = [add(f"U_{number}_{j}", upper=model.horizon) for j in range(len(b.backward))]
        # Sums over the stretches of the forward pass, and of the backward pass.
        forward = [f.in_forward_stretch(n) for n in range(len(f.forward))]
        backward = [b.in_backward_stretch(n) for n in range(len(b.backward) + 1)]
        self.tensors_f, self.tensors_b = forward, backward
        self.K_f = self._totals("K_f", [f.stays(paths.IN_ALL_FORWARD, at) for at in forward])
        self.Q_f = self._totals(
            "Q_f",
            [
                f.stays_or_moves(paths.IN_FORWARD_OR_OFFLOADED, paths.IN_ALL_FORWARD, at)
                for at in forward
            ],
        )
        self.O_f = self._totals("O_f", [f.copies(paths.OFFLOADED_IN_FORWARD, at) for at in forward])
        self.K_b = self._totals("K_b", [b.stays(paths.IN_ALL_BACKWARD, at) for at in backward])
        self.Q_b = self._totals(
            "Q_b",
            [
                b.stays_or_moves(paths.IN_BACKWARD_OR_PREFETCHED, paths.IN_ALL_BACKWARD, at)
                for at in backward
            ],
        )
        self.I_b = self._totals(
            "I_b", [b.copies(paths.PREFETCHED_IN_BACKWARD, at) for at in backward]
        )
        self.R_b = self._totals(
            "R_b", [b.recomputations(paths.RECOMPUTED_IN_BACKWARD, at) for at in backward]
        )

    def write(self) -> None:
        """Add the rows."""
        self._add_work()
        if BoundRows.LINK in self.model.rows:
            self._add_link()
        self._add_chain()
        self._add_order()
        if BoundRows.MEMORY in self.model.rows:
            self._add_memory()

    def _totals(self, name: str, sums: Sequence[Terms]) -> list[Terms]:
        return [
            self.model.total(self.name(name, number), terms) for number, terms in enumerate(sums)
        ]

    def ns(self, duration_ns: int) -> float:
        """Return a duration in the numbers of the model, rounded down."""
        return self.model.time.to_model(duration_ns)

    def name(self, row: str, *indices: int) -> str:
        """Return the name of a row of this round."""
        return "_".join(map(str, (row, self.number, *indices)))

    def _less_moved(self, limit: float, rate: float, duration_ns: int) -> float:
        """Return the limit less the bytes that copies could move in a duration, rounded up."""
        exact = Fraction(limit) - Fraction(rate) * Fraction(self.ns(duration_ns))
        near = float(exact)
        return near if near >= exact else math.nextafter(near, math.inf)

    def _add_work(self) -> None:
        f, b = self.f, self.b
        redone = f.recomputations(paths.RECOMPUTED_IN_FORWARD, f.movable)
        self.model.at_least(
            self.name("work"),
            joined([(self.length, 1.0)], scaled(joined(redone, *self.R_b), -1.0)),
            self.ns(f.forward.from_ns(0) + b.backward.from_ns(0)),
        )

    def _add_link(self) -> None:
        f, b, model = self.f, self.b, self.model
        late = b.copies(paths.OFFLOADED_IN_BACKWARD, b.movable)
        early = f.copies(paths.PREFETCHED_IN_FORWARD, f.movable)
        length = [(self.length, 1.0)]
        model.at_least(self.name("out"), joined(length, scaled(joined(late, *self.O_f), -1.0)), 0.0)
        model.at_least(self.name("in"), joined(length, scaled(joined(early, *self.I_b), -1.0)), 0.0)
        for p, start in enumerate(self.S):
            model.at_least(
                self.name("release", p),
                joined(length, [(start, -1.0)], scaled(joined(*self.O_f[p:]), -1.0)),
                self.ns(f.forward.work(p).run_ns),
            )
        for j, start in enumerate(self.U):
            model.at_least(
                self.name("due", j),
                joined([(start, 1.0)], scaled(joined(*self.I_b[: j + 1]), -1.0)),
                0.0,
            )

    def _add_chain(self) -> None:
        for milestones, starts, word in (
            (self.f.forward, self.S, "chain_f"),
            (self.b.backward, self.U, "chain_b"),
        ):
            for place, (start, after) in enumerate(itertools.pairwise(starts)):
                self.model.at_least(
                    self.name(word, place),
                    [(after, 1.0), (start, -1.0)],
                    self.ns(milestones.onward_ns(place)),
                )

    def _add_memory(self) -> None:
        f, b, rate = self.f, self.b, self.f.rate
        for p, start in enumerate(self.S):
            beside, limit = self._beside_forward(p)
            limit += self.model.room(f.forward.work(p).peak_bytes)
            self.model.at_most(self.name("memory_f", p), joined(*self.K_f[:p], beside), limit)
            if BoundRows.WINDOW not in self.model.rows:
                continue
            for q in range(p):
                present = joined(*self.K_f[:q], *self.Q_f[q:p], beside)
                window = [(start, -rate), (self.S[q], rate)]
                self.model.at_most(
                    self.name("memory_f", p, q),
                    joined(present, window),
                    self._less_moved(limit, rate, f.forward.work(q).run_ns),
                )
        rate = b.rate
        for j, start in enumerate(self.U):
            beside, limit = self._beside_backward(j)
            limit += self.model.room(b.backward.work(j).peak_bytes)
            self.model.at_most(self.name("memory_b", j), joined(*self.K_b[j + 1 :], beside), limit)
            if BoundRows.WINDOW not in self.model.rows:
                continue
            for q in range(j + 1, len(self.U)):
                present = joined(*self.K_b[q + 1 :], *self.Q_b[j + 1 : q + 1], beside)
                window = [(self.U[q], -rate), (start, rate)]
                self.model.at_most(
                    self.name("memory_b", j, q),
                    joined(present, window),
                    self._less_moved(limit, rate, b.backward.work(j).run_ns),
                )

    @abstractmethod
    def _add_order(self) -> None:
        """Add the rows on the order of the two passes."""

    @abstractmethod
    def _beside_forward(self, p: int) -> tuple[Terms, float]:
        """Return b's tensors in memory when milestone p of f has started, and the memory left."""

    @abstractmethod
    def _beside_backward(self, j: int) -> tuple[Terms, float]:
        """Return f's tensors in memory when milestone j of b has started, and the memory left."""


class RoundAlone(BoundRound):
    """Round of a sub-array alone: its backward pass follows its forward pass."""

    def write(self) -> None:
        """Add the rows."""
        super().write()
        if BoundRows.LINK in self.model.rows:
            self._add_both()
        if BoundRows.WINDOW in self.model.rows:
            self._add_memory_ends()

    def _add_order(self) -> None:
        f, b, model = self.f, self.b, self.model
        forward_ns = f.forward.from_ns(0)
        for p, start in enumerate(self.S):
            model.at_least(self.name("start_f", p), [(start, 1.0)], self.ns(f.forward.before_ns(p)))
        for j, start in enumerate(self.U):
            model.at_least(
                self.name("start_b", j),
                joined([(start, 1.0)], scaled(joined(*self.R_b[: j + 1]), -1.0)),
                self.ns(forward_ns + b.backward.before_ns(j)),
            )
        last = len(self.S) - 1
        model.at_least(
            self.name("end_f", last),
            [(self.U[0], 1.0), (self.S[last], -1.0)],
            self.ns(f.forward.from_ns(last)),
        )
        last = len(self.U) - 1
        model.at_least(
            self.name("end_b", last),
            [(self.length, 1.0), (self.U[last], -1.0)],
            self.ns(b.backward.from_ns(last)),
        )

    def _beside_forward(self, p: int) -> tuple[Terms, float]:
        return [], 0.0

    def _beside_backward(self, j: int) -> tuple[Terms, float]:
        return [], 0.0

    def _add_both(self) -> None:
        a = self.f
        for p, start in enumerate(self.S):
            for j, end in enumerate(self.U):
                copied = [
                    t for t in a.movable if a.from_forward[t] >= p and a.until_backward[t] <= j
                ]
                copies = a.swaps(copied)
                if copies:
                    self.model.at_least(
                        self.name("both", p, j),
                        joined([(end, 1.0), (start, -1.0)], scaled(copies, -1.0)),
                        self.ns(a.forward.work(p).run_ns),
                    )

    def _add_memory_ends(self) -> None:
        a = self.f
        for j, end in enumerate(self.U):
            limit = self.model.room(a.backward.work(j).peak_bytes)
            later = [t for t in a.movable if a.until_backward[t] > j]
            for p, start in enumerate(self.S):
                kept = a.stays(paths.IN_ALL_FORWARD, [t for t in later if a.from_forward[t] < p])
                moved = a.stays_or_moves(
                    paths.IN_FORWARD_OR_OFFLOADED,
                    paths.IN_ALL_FORWARD,
                    [t for t in later if a.from_forward[t] >= p],
                )
                if moved:
                    self.model.at_most(
                        self.name("memory_ends", p, j),
                        joined(kept, moved, [(end, -a.rate), (start, a.rate)]),
                        self._less_moved(limit, a.rate, a.forward.work(p).run_ns),
                    )
