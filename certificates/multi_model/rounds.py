r"""Rows of the rounds of a training unit: what `unit_model` leaves out.

Columns of round n: its length, the starts of milestones S of f and U of b, and for each part the
sums of bytes that stay (K) or stay or move (Q), of times of copies (O of f, I of b; W of both on a
shared link) and of recomputations (R of b). Of a pair, z says that milestone p of f runs before
milestone j of b; h, m and g, o are what is kept, or kept or moved, of the other sub-array beside a
milestone, and w is the time from the end of p to the start of j.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from .given_models import Tensor
from .unit_model import (
    KEPT_BACKWARD,
    KEPT_FORWARD,
    MOVED_BACKWARD,
    MOVED_FORWARD,
    ArrayColumns,
    Term,
    UnitModel,
    copy_ns,
    run_ns,
)


def minus(terms: Sequence[Term]) -> list[Term]:
    """Return the terms with the other sign."""
    return [(-value, column) for value, column in terms]


class Round:
    """Columns and rows that every round has.

    Parameters
    ----------
    unit
        The model, to which they are added.
    n
        The number of the round.
    f, b
        The sub-arrays of the forward and of the backward pass.
    """

    def __init__(self, unit: UnitModel, n: int, f: ArrayColumns, b: ArrayColumns) -> None:
        self.unit, self.n, self.f, self.b = unit, n, f, b
        self.length = unit.time(f"length_{n}", cost=1)
        self.S = [unit.time(f"S_{n}_{p}") for p in range(len(f.forward))]
        self.U = [unit.time(f"U_{n}_{j}") for j in range(len(b.backward))]
        self.parts_f, self.parts_b = f.parts_forward(), b.parts_backward()
        self.K_f: list[int] = []
        self.Q_f: list[int] = []
        self.O_f: list[int] = []
        for x, part in enumerate(self.parts_f):
            kept = f.present(part.tensors, KEPT_FORWARD, KEPT_FORWARD)
            moved = f.present(part.tensors, MOVED_FORWARD, KEPT_FORWARD)
            copies = f.terms(part.tensors, {"swap", "early"}, copy_ns)
            self.K_f.append(unit.sum_of(f"Kf_{n}_{x}", kept))
            self.Q_f.append(unit.sum_of(f"Qf_{n}_{x}", moved))
            self.O_f.append(unit.sum_of(f"Of_{n}_{x}", copies))
        self.K_b: list[int] = []
        self.Q_b: list[int] = []
        self.I_b: list[int] = []
        self.R_b: list[int] = []
        for y, part in enumerate(self.parts_b):
            kept = b.present(part.tensors, KEPT_BACKWARD, KEPT_BACKWARD)
            moved = b.present(part.tensors, MOVED_BACKWARD, KEPT_BACKWARD)
            copies = b.terms(part.tensors, {"redo_swap", "swap", "late"}, copy_ns)
            again = b.terms(part.tensors, {"recompute"}, lambda t: t.recompute_ns)
            self.K_b.append(unit.sum_of(f"Kb_{n}_{y}", kept))
            self.Q_b.append(unit.sum_of(f"Qb_{n}_{y}", moved))
            self.I_b.append(unit.sum_of(f"Ib_{n}_{y}", copies))
            self.R_b.append(unit.sum_of(f"Rb_{n}_{y}", again))

    def write(self) -> None:
        """Add the rows."""
        self._add_times()
        self._add_order()
        self._add_memory()
        self._add_more()

    def sums_f(self, columns: Sequence[int], first: int, end: int | None = None) -> list[Term]:
        """Return the sum of a column of each part of f's stretches from `first` to before `end`."""
        end = len(self.S) if end is None else end
        parts = zip(self.parts_f, columns, strict=True)
        return [(1, column) for part, column in parts if first <= part.stretch < end]

    def sums_b(self, columns: Sequence[int], first: int, end: int | None = None) -> list[Term]:
        """Return the sum of a column of each part of b's stretches from `first` to before `end`."""
        end = len(self.U) if end is None else end
        parts = zip(self.parts_b, columns, strict=True)
        return [(1, column) for part, column in parts if first <= part.stretch < end]

    def beside_forward(self, p: int) -> tuple[list[Term], int]:
        """Return the memory of b when milestone p of f starts: terms, and bytes."""
        del p
        return [], 0

    def beside_backward(self, j: int) -> tuple[list[Term], int]:
        """Return the memory of f when milestone j of b starts: terms, and bytes."""
        del j
        return [], 0

    def _add_times(self) -> None:
        unit, n, f, b = self.unit, self.n, self.f, self.b
        u, v = f.given.forward, b.given.backward
        length = (1, self.length)
        of_f, of_b = [t for t, _ in f.tensors], [t for t, _ in b.tensors]
        redone = f.terms(of_f, {"redo", "redo_swap"}, lambda t: t.recompute_ns)
        recomputed = redone + [(1, column) for column in self.R_b]
        unit.at_least(f"work_{n}", [length, *minus(recomputed)], run_ns(u) + run_ns(v))
        out = [(1, column) for column in self.O_f] + b.terms(of_b, {"late"}, copy_ns)
        unit.at_least(f"out_{n}", [length, *minus(out)], 0)
        back = [(1, column) for column in self.I_b] + f.terms(of_f, {"early"}, copy_ns)
        unit.at_least(f"in_{n}", [length, *minus(back)], 0)
        for p, place in enumerate(f.forward):
            copies = self.sums_f(self.O_f, p)
            unit.at_least(
                f"release_{n}_{p}", [length, (-1, self.S[p]), *minus(copies)], u[place].run_ns
            )
        for j in range(len(b.backward)):
            copies = self.sums_b(self.I_b, 0, j + 1)
            unit.at_least(f"due_{n}_{j}", [(1, self.U[j]), *minus(copies)], 0)
        for word, works, places, starts in (
            ("f", u, f.forward, self.S),
            ("b", v, b.backward, self.U),
        ):
            for place, (first, second) in enumerate(pairwise(places)):
                terms = [(1, starts[place + 1]), (-1, starts[place])]
                unit.at_least(f"chain_{word}_{n}_{place}", terms, run_ns(works[first:second]))

    def _add_order(self) -> None:
        """Add the rows on the order of the two passes of a sub-array alone."""
        unit, n, f, b = self.unit, self.n, self.f, self.b
        u, v = f.given.forward, b.given.backward
        for p, place in enumerate(f.forward):
            unit.at_least(f"start_f_{n}_{p}", [(1, self.S[p])], run_ns(u[:place]))
        for j, place in enumerate(b.backward):
            terms = [(1, self.U[j]), *minus(self.sums_b(self.R_b, 0, j + 1))]
            unit.at_least(f"start_b_{n}_{j}", terms, run_ns(u) + run_ns(v[:place]))
        unit.at_least(f"end_f_{n}", [(1, self.U[0]), (-1, self.S[-1])], u[-1].run_ns)
        unit.at_least(f"end_b_{n}", [(1, self.length), (-1, self.U[-1])], v[-1].run_ns)

    def _add_memory(self) -> None:
        unit, n = self.unit, self.n
        u, v = self.f.given.forward, self.b.given.backward
        for p, place in enumerate(self.f.forward):
            beside, held_bytes = self.beside_forward(p)
            room = unit.room(u[place].peak_bytes + held_bytes)
            unit.at_most(f"memory_f_{n}_{p}", self.sums_f(self.K_f, 0, p) + beside, room)
            for q, other in enumerate(self.f.forward[:p]):
                present = self.sums_f(self.K_f, 0, q) + self.sums_f(self.Q_f, q, p) + beside
                window = [(1, self.S[p]), (-1, self.S[q])]
                name = f"memory_f_{n}_{p}_{q}"
                unit.in_memory(name, present, window, room, u[other].run_ns)
        for j, place in enumerate(self.b.backward):
            beside, held_bytes = self.beside_backward(j)
            room = unit.room(v[place].peak_bytes + held_bytes)
            unit.at_most(f"memory_b_{n}_{j}", self.sums_b(self.K_b, j + 1) + beside, room)
            for q in range(j + 1, len(self.U)):
                present = self.sums_b(self.K_b, q + 1) + self.sums_b(self.Q_b, j + 1, q + 1)
                window = [(1, self.U[q]), (-1, self.U[j])]
                name = f"memory_b_{n}_{j}_{q}"
                unit.in_memory(name, present + beside, window, room, v[place].run_ns)

    def _add_more(self) -> None:
        """Add the rows that only a sub-array alone has."""
        unit, n, a = self.unit, self.n, self.f
        for p, place in enumerate(a.forward):
            for j, late in enumerate(a.backward):
                run_ns_of_p = a.given.forward[place].run_ns
                from_p = [t for t, item in a.tensors if item.last_forward >= place]
                swapped = [t for t in from_p if a.given.tensors[t].first_backward <= late]
                if swapped:
                    swaps = a.terms(swapped, {"swap"}, self._there_and_back_ns)
                    terms = [(1, self.U[j]), (-1, self.S[p]), *minus(swaps)]
                    unit.at_least(f"both_{n}_{p}_{j}", terms, run_ns_of_p)
                later = [t for t, item in a.tensors if item.first_backward > late]
                moved = [t for t in later if t in from_p]
                if moved:
                    early = [t for t in later if t not in from_p]
                    present = a.present(early, KEPT_FORWARD, KEPT_FORWARD)
                    present += a.present(moved, MOVED_FORWARD, KEPT_FORWARD)
                    window = [(1, self.U[j]), (-1, self.S[p])]
                    room = unit.room(a.given.backward[late].peak_bytes)
                    name = f"memory_ends_{n}_{p}_{j}"
                    unit.in_memory(name, present, window, room, run_ns_of_p)

    def _there_and_back_ns(self, tensor: Tensor) -> int:
        if not self.unit.given.total_per_s:
            return tensor.copy_ns
        return max(tensor.copy_ns, 2 * self.unit.given.shared_ns(tensor))
