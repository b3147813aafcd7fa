"""Rows of one round of a pair of sub-arrays, with the order of the two passes left open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jettison.formulations.multi_model.bound import tensor_path as paths
from jettison.formulations.multi_model.bound.columns import BoundRows, Terms, joined, scaled
from jettison.formulations.multi_model.bound.round_rows import BoundRound


class PairRound(BoundRound):
    """Round of a pair: the two passes may be interleaved in any way."""

    def write(self) -> None:
        """Add the rows."""
        super().write()
        if BoundRows.LINK in self.model.rows and self.f.is_shared:
            self._add_total()

    def _add_total(self) -> None:
        """Add the rows on what both directions of a shared link carry together."""
        f, b, model = self.f, self.b, self.model
        sent = self._totals("W_f", [f.carried(paths.CARRIED_IN_FORWARD, t) for t in self.tensors_f])
        back = self._totals(
            "W_b", [b.carried(paths.CARRIED_IN_BACKWARD, t) for t in self.tensors_b]
        )
        length = [(self.length, 1.0)]
        model.at_least(self.name("total"), joined(length, scaled(joined(*sent, *back), -1.0)), 0.0)
        for p, start in enumerate(self.S):
            model.at_least(
                self.name("total_release", p),
                joined(length, [(start, -1.0)], scaled(joined(*sent[p:]), -1.0)),
                self.ns(f.forward.work(p).run_ns),
            )
        for j, start in enumerate(self.U):
            model.at_least(
                self.name("total_due", j),
                joined([(start, 1.0)], scaled(joined(*back[: j + 1]), -1.0)),
                0.0,
            )

    def _add_order(self) -> None:
        f, b, model = self.f.forward, self.b.backward, self.model
        forward, backward = range(len(f)), range(len(b))
        # Without z nothing is known to be before anything else.
        self.z: list[list[int]] = []
        self._conditional: dict[str, int] = {}
        self.staying_b = self._halves_b(
            "staying_b", lambda part: self.b.stays(paths.IN_ALL_BACKWARD, part)
        )
        self.moving_b = self._halves_b(
            "moving_b",
            lambda part: self.b.stays_or_moves(
                paths.IN_BACKWARD_OR_PREFETCHED, paths.IN_ALL_BACKWARD, part
            ),
        )
        self.staying_f = self._halves_f(
            "staying_f", lambda part: self.f.stays(paths.IN_ALL_FORWARD, part)
        )
        self.moving_f = self._halves_f(
            "moving_f",
            lambda part: self.f.stays_or_moves(
                paths.IN_FORWARD_OR_OFFLOADED, paths.IN_ALL_FORWARD, part
            ),
        )
        if BoundRows.BESIDE in model.rows:
            self.z = [
                [
                    model.builder.add_column(self.name("before", p, j), upper=1, integer=True)
                    for j in backward
                ]
                for p in forward
            ]
        for p, start in enumerate(self.S):
            before = [(self.z[p][j], self.ns(b.until_ns(j))) for j in backward if self.z]
            model.at_least(
                self.name("start_f", p),
                [(start, 1.0), *before],
                self.ns(f.before_ns(p)) + sum(duration for _, duration in before),
            )
        for j, start in enumerate(self.U):
            before = [(self.z[p][j], -self.ns(f.until_ns(p))) for p in forward if self.z]
            model.at_least(
                self.name("start_b", j),
                joined([(start, 1.0), *before], scaled(joined(*self.R_b[: j + 1]), -1.0)),
                self.ns(b.before_ns(j)),
            )
        for p, start in enumerate(self.S):
            after = [(self.z[p][j], -self.ns(b.onward_ns(j))) for j in backward if self.z]
            model.at_least(
                self.name("end_f", p),
                [(self.length, 1.0), (start, -1.0), *after],
                self.ns(f.from_ns(p)),
            )
        for j, start in enumerate(self.U):
            after = [(self.z[p][j], self.ns(f.onward_ns(p))) for p in forward if self.z]
            model.at_least(
                self.name("end_b", j),
                [(self.length, 1.0), (start, -1.0), *after],
                self.ns(b.from_ns(j)) + sum(duration for _, duration in after),
            )
        for p in forward if self.z else ():
            for j in backward:
                for word, other in (("order_b", (p, j + 1)), ("order_f", (p - 1, j))):
                    if other[0] >= 0 and other[1] < len(b):
                        model.at_least(
                            self.name(word, p, j),
                            [(self.z[other[0]][other[1]], 1.0), (self.z[p][j], -1.0)],
                            0.0,
                        )

    def _add_memory(self) -> None:
        super()._add_memory()
        if not self.z or BoundRows.WINDOW not in self.model.rows:
            return
        f, b, model = self.f, self.b, self.model
        for p, start in enumerate(self.S):
            for j, end in enumerate(self.U):
                window = model.builder.add_column(self.name("between", p, j), upper=model.horizon)
                before = self.z[p][j]
                model.at_most(
                    self.name("between", p, j),
                    [(window, 1.0), (end, -1.0), (start, 1.0), (before, model.horizon)],
                    model.horizon - self.ns(f.forward.work(p).run_ns),
                )
                model.at_most(
                    self.name("apart", p, j), [(window, 1.0), (before, -model.horizon)], 0.0
                )
                held, limit = self._held_by_b(p)
                model.at_most(
                    self.name("turn_f", p, j),
                    joined(
                        *self.K_f[:p],
                        *self._beside_b(p, self.moving_b, "moves_b")[: j + 1],
                        *self._beside_b(p, self.staying_b, "beside_b")[j + 1 :],
                        held,
                        [(window, -b.rate)],
                    ),
                    limit + model.room(f.forward.work(p).peak_bytes),
                )
                held = self._held_by_f(j)
                model.at_most(
                    self.name("turn_b", p, j),
                    joined(
                        *self.K_b[j + 1 :],
                        *self._beside_f(j, self.staying_f, "beside_f")[:p],
                        *self._beside_f(j, self.moving_f, "moves_f")[p:],
                        held,
                        [(window, -f.rate)],
                    ),
                    model.room(b.backward.work(j).peak_bytes),
                )

    def _beside_forward(self, p: int) -> tuple[Terms, float]:
        if not self.z:
            return [], 0.0
        held, limit = self._held_by_b(p)
        return joined(*self._beside_b(p, self.staying_b, "beside_b"), held), limit

    def _beside_backward(self, j: int) -> tuple[Terms, float]:
        if not self.z:
            return [], 0.0
        return joined(*self._beside_f(j, self.staying_f, "beside_f"), self._held_by_f(j)), 0.0

    def _held_by_b(self, p: int) -> tuple[Terms, float]:
        """Return the active memory of b when p starts, as terms and a constant."""
        model, terms = self.model, []
        held = model.memory.to_model(self.b.profile.carried_bytes)
        for j, before in enumerate(self.z[p]):
            onward = model.memory.to_model(self.b.backward.least_active_bytes(j))
            terms.append((before, held - onward))
            held = onward
        return terms, -held

    def _held_by_f(self, j: int) -> Terms:
        """Return the active memory of f when j starts."""
        terms, held = [], 0.0
        for p, row in enumerate(self.z):
            onward = self.model.memory.to_model(self.f.forward.least_active_bytes(p))
            terms.append((row[j], onward - held))
            held = onward
        return terms

    def _beside_b(self, p: int, sums: Sequence[_Half], word: str) -> list[Terms]:
        """Return, by stretch, b's tensors that are still to be used and in memory when p starts."""
        found: list[Terms] = [[] for _ in range(len(self.U) + 1)]
        for half in sums:
            name = self.name(word, p, half.stretch, half.order)
            found[half.stretch] += self._sum_if(name, half, self.z[p][half.order])
        return found

    def _beside_f(self, j: int, sums: Sequence[_Half], word: str) -> list[Terms]:
        """Return, by stretch, f's idle tensors that are in memory when j starts."""
        found: list[Terms] = [[] for _ in self.S]
        for half in sums:
            name = self.name(word, half.stretch, half.order, j)
            found[half.stretch] += self._sum_if(name, half, self.z[half.order][j])
        return found

    def _sum_if(self, name: str, half: _Half, order: int) -> Terms:
        """Return a column that is at least a sum if the binary column `order` is 1."""
        if not half.terms:
            return []
        if name not in self._conditional:
            column = self.model.builder.add_column(name, upper=half.most_bytes)
            self.model.at_least(
                name,
                joined([(column, 1.0), (order, -half.most_bytes)], scaled(half.terms, -1.0)),
                -half.most_bytes,
            )
            self._conditional[name] = column
        return [(self._conditional[name], 1.0)]

    def _halves_b(self, word: str, terms_of: Callable[[list[int]], Terms]) -> list[_Half]:
        """Return a sum over the tensors of each milestone, and over those between milestones.

        If p runs before milestone j, the tensors used first by j are idle, and all used later.
        """
        b = self.b
        halves = []
        for stretch, tensors in enumerate(self.tensors_b):
            at = b.backward.places[stretch] if stretch < len(b.backward) else None
            for order in (stretch - 1, stretch):
                part = [
                    t
                    for t in tensors
                    if (b.profile.tensors[t].first_backward == at) == (order == stretch)
                ]
                if part:
                    name = self.name(word, stretch, order)
                    terms = self.model.total(name, terms_of(part))
                    halves.append(_Half(stretch, order, terms, b.most_bytes(part)))
        return halves

    def _halves_f(self, word: str, terms_of: Callable[[list[int]], Terms]) -> list[_Half]:
        """Return a sum over the tensors of each milestone, and over those between milestones.

        If milestone p runs before j, the tensors used last by p are idle, and all used earlier.
        """
        f = self.f
        halves = []
        for stretch, tensors in enumerate(self.tensors_f):
            for order in (stretch, stretch + 1):
                part = [
                    t
                    for t in tensors
                    if (f.profile.tensors[t].last_forward == f.forward.places[stretch])
                    == (order == stretch)
                ]
                if part:
                    name = self.name(word, stretch, order)
                    terms = self.model.total(name, terms_of(part))
                    halves.append(_Half(stretch, order, terms, f.most_bytes(part)))
        return halves


@dataclass(frozen=True, slots=True)
class _Half:
    """Sum over tensors of a stretch, with the milestone whose order decides if they are idle."""

    stretch: int
    order: int
    terms: Terms
    most_bytes: float
