"""Rows of the rounds of a pair, whose passes may be interleaved in any way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .given_models import Operator, Tensor
from .rounds import Round, minus
from .unit_model import CARRIED_BACKWARD, CARRIED_FORWARD, ArrayColumns, Part, Term, run_ns


class PairRound(Round):
    """Round of a pair; first come the columns z and what is beside a milestone."""

    def write(self) -> None:
        """Add the rows."""
        n, model = self.n, self.unit.model
        forward, backward = range(len(self.S)), range(len(self.U))
        self.z = [
            [model.add_column(f"before_{n}_{p}_{j}", 0, 1) for j in backward] for p in forward
        ]
        # Of b's part y, or f's part x: bytes that are there when a milestone starts.
        kept_b, moved_b = (
            list(zip(self.parts_b, sums, strict=True)) for sums in (self.K_b, self.Q_b)
        )
        self.h = [self._beside(f"h_{n}_{p}", self.z[p], kept_b) for p in forward]
        self.h_moved = [self._beside(f"hm_{n}_{p}", self.z[p], moved_b) for p in forward]
        kept_f, moved_f = (
            list(zip(self.parts_f, sums, strict=True)) for sums in (self.K_f, self.Q_f)
        )
        after = [[row[j] for row in self.z] for j in backward]
        self.g = [self._beside(f"g_{n}_{j}", after[j], kept_f) for j in backward]
        self.g_moved = [self._beside(f"gm_{n}_{j}", after[j], moved_f) for j in backward]
        super().write()

    def _beside(
        self, name: str, order: Sequence[int], sums: Sequence[tuple[Part, int]]
    ) -> list[int]:
        """Add a column for each sum that is at least the sum if its part's order column is 1."""
        found = []
        for number, (part, total) in enumerate(sums):
            most, z = part.size_bytes, order[part.order]
            column = self.unit.model.add_column(f"{name}_{number}", 0, most, is_integer=False)
            terms = [(1, column), (-1, total), (-most, z)]
            self.unit.at_least(f"{name}_{number}", terms, -most)
            found.append(column)
        return found

    def beside_forward(self, p: int) -> tuple[list[Term], int]:
        """Return the memory of b when milestone p of f starts: terms, and bytes."""
        held, held_bytes = self._held_by_b(p)
        return self.sums_b(self.h[p], 0) + held, held_bytes

    def beside_backward(self, j: int) -> tuple[list[Term], int]:
        """Return the memory of f when milestone j of b starts: terms, and bytes."""
        return self.sums_f(self.g[j], 0) + self._held_by_f(j), 0

    def _held_by_b(self, p: int) -> tuple[list[Term], int]:
        """Return the active memory of b when p starts: what is carried, if b has not begun."""
        held = self.b.given.forward[-1].active_bytes
        terms = []
        for z, least in zip(
            self.z[p], _least_active(self.b.given.backward, self.b.backward), strict=True
        ):
            terms.append((held - least, z))
            held = least
        return terms, held

    def _held_by_f(self, j: int) -> list[Term]:
        """Return the active memory of f when j starts."""
        held, terms = 0, []
        for row, least in zip(
            self.z, _least_active(self.f.given.forward, self.f.forward), strict=True
        ):
            terms.append((least - held, row[j]))
            held = least
        return terms

    def _add_order(self) -> None:
        unit, n = self.unit, self.n
        u, v = self.f.given.forward, self.b.given.backward
        until_f, until_b = _until(u, self.f.forward), _until(v, self.b.backward)
        onward_f, onward_b = _onward(u, self.f.forward), _onward(v, self.b.backward)
        for p, place in enumerate(self.f.forward):
            terms = [(1, self.S[p]), *zip(until_b, self.z[p], strict=True)]
            unit.at_least(f"start_f_{n}_{p}", terms, run_ns(u[:place]) + sum(until_b))
        for j, place in enumerate(self.b.backward):
            before = [*zip(until_f, (row[j] for row in self.z), strict=True)]
            terms = [(1, self.U[j]), *minus(before), *minus(self.sums_b(self.R_b, 0, j + 1))]
            unit.at_least(f"start_b_{n}_{j}", terms, run_ns(v[:place]))
        for p, place in enumerate(self.f.forward):
            after = [*zip(onward_b, self.z[p], strict=True)]
            terms = [(1, self.length), (-1, self.S[p]), *minus(after)]
            unit.at_least(f"end_f_{n}_{p}", terms, run_ns(u[place:]))
        for j, place in enumerate(self.b.backward):
            after = [*zip(onward_f, (row[j] for row in self.z), strict=True)]
            terms = [(1, self.length), (-1, self.U[j]), *after]
            unit.at_least(f"end_b_{n}_{j}", terms, run_ns(v[place:]) + sum(onward_f))
        for p, row in enumerate(self.z):
            for j, z in enumerate(row):
                if j + 1 < len(row):
                    unit.at_least(f"order_b_{n}_{p}_{j}", [(1, row[j + 1]), (-1, z)], 0)
                if p:
                    unit.at_least(f"order_f_{n}_{p}_{j}", [(1, self.z[p - 1][j]), (-1, z)], 0)

    def _add_more(self) -> None:
        """Add the rows on the time between two milestones, and on a shared link."""
        unit, n, most = self.unit, self.n, self.unit.horizon_ns
        u, v = self.f.given.forward, self.b.given.backward
        for p, place in enumerate(self.f.forward):
            held, held_bytes = self._held_by_b(p)
            for j, other in enumerate(self.b.backward):
                w, z = unit.time(f"between_{n}_{p}_{j}"), self.z[p][j]
                terms = [(1, w), (-1, self.U[j]), (1, self.S[p]), (most, z)]
                unit.at_most(f"between_{n}_{p}_{j}", terms, most - u[place].run_ns)
                unit.at_most(f"apart_{n}_{p}_{j}", [(1, w), (-most, z)], 0)
                present = self.sums_f(self.K_f, 0, p) + held
                present += self.sums_b(self.h_moved[p], 0, j + 1) + self.sums_b(self.h[p], j + 1)
                room = unit.room(u[place].peak_bytes + held_bytes)
                unit.in_memory(f"turn_f_{n}_{p}_{j}", present, [(1, w)], room)
                present = self.sums_b(self.K_b, j + 1) + self._held_by_f(j)
                present += self.sums_f(self.g[j], 0, p) + self.sums_f(self.g_moved[j], p)
                room = unit.room(v[other].peak_bytes)
                unit.in_memory(f"turn_b_{n}_{p}_{j}", present, [(1, w)], room)
        if unit.given.total_per_s:
            self._add_total()

    def _add_total(self) -> None:
        """Add the rows on what both directions of a shared link carry together."""
        unit, n = self.unit, self.n
        sent = [
            unit.sum_of(f"Wf_{n}_{x}", self._carried(self.f, part, CARRIED_FORWARD))
            for x, part in enumerate(self.parts_f)
        ]
        back = [
            unit.sum_of(f"Wb_{n}_{y}", self._carried(self.b, part, CARRIED_BACKWARD))
            for y, part in enumerate(self.parts_b)
        ]
        length = (1, self.length)
        unit.at_least(f"total_{n}", [length, *minus([(1, column) for column in sent + back])], 0)
        for p, place in enumerate(self.f.forward):
            terms = [length, (-1, self.S[p]), *minus(self.sums_f(sent, p))]
            run = self.f.given.forward[place].run_ns
            unit.at_least(f"total_release_{n}_{p}", terms, run)
        for j in range(len(self.U)):
            terms = [(1, self.U[j]), *minus(self.sums_b(back, 0, j + 1))]
            unit.at_least(f"total_due_{n}_{j}", terms, 0)

    def _carried(self, array: ArrayColumns, part: Part, copies: Mapping[str, int]) -> list[Term]:
        def shared_ns(tensor: Tensor) -> int:
            return self.unit.given.shared_ns(tensor)

        return [
            (times * value, column)
            for path, times in copies.items()
            for value, column in array.terms(part.tensors, {path}, shared_ns)
        ]


def _until(works: Sequence[Operator], places: Sequence[int]) -> list[int]:
    """Return the time from the end of the milestone before each, or the start, to its end."""
    return [
        run_ns(works[before + 1 : place + 1])
        for before, place in zip((-1, *places), places, strict=False)
    ]


def _onward(works: Sequence[Operator], places: Sequence[int]) -> list[int]:
    """Return the time from the start of each milestone to that of the next, or to the end."""
    ends = (*places[1:], len(works))
    return [run_ns(works[place:end]) for place, end in zip(places, ends, strict=True)]


def _least_active(works: Sequence[Operator], places: Sequence[int]) -> list[int]:
    """Return the least active memory from the end of each milestone to the start of the next."""
    ends = (*places[1:], len(works))
    return [
        min(work.active_bytes for work in works[place:end])
        for place, end in zip(places, ends, strict=True)
    ]
