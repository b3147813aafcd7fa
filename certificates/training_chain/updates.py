"""Rows of the cycle bound about updates: weights, gradients and states of all trained stages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..integer_model import IntegerModel
from .around import Around
from .given_step import GivenStep

Terms = list[tuple[int, int]]
_BROUGHT = ("u1", "uF", "uB", "uq", "uG", "uS")
_SENT = ("dF", "dr", "dz", "dG", "dS")


class Updates:
    """Columns and rows about updates.

    Attributes
    ----------
    brought, sent
        Columns of what is brought and sent in each element.
    """

    def __init__(
        self, model: IntegerModel, given: GivenStep, around: Around, lengths: Sequence[int]
    ) -> None:
        self.model, self.given, self.around, self.lengths = model, given, around, lengths
        self.brought: list[list[int]] = [[] for _ in around.elements]
        self.sent: list[list[int]] = [[] for _ in around.elements]
        self.stages = given.trained
        self._total = {
            "W": sum(given.weights),
            "G": sum(given.gradients),
            "S": sum(given.states),
        }
        self._add_columns()
        for i in self.stages:
            self._add_update(i)
        if self.stages:
            self._add_host()
            self._add_inventories()
            self._add_presence()

    def _share(self, name: str, most: int = 1, least: int = 0) -> int:
        return self.model.add_column(name, least, most, is_integer=False)

    def _add_columns(self) -> None:
        self.one = self._share("one", least=1)
        self.q: dict[int, int] = {}
        self.y: dict[int, int] = {}
        self.c: dict[int, int] = {}
        self.z: dict[int, int] = {}
        # By stage, then by element.
        self.x: dict[int, dict[int, int]] = {}
        self.xs: dict[int, dict[int, int]] = {}
        self.n: dict[int, dict[int, int]] = {}
        self.m: dict[int, dict[int, int]] = {}
        self.h: dict[int, dict[int, int]] = {}
        for i in self.stages:
            able = self.given.host_update_ns[i] is not None
            self.q[i] = self._share(f"q_{i}", int(able))
            self.y[i], self.c[i], self.z[i] = (self._share(f"{name}_{i}") for name in "ycz")
            for columns in (self.x, self.xs, self.n, self.m, self.h):
                columns[i] = {}
            for e in self.around.window(i):
                if not self.around.is_operation(e):
                    self.x[i][e] = self._share(f"x_{i}_{e}")
                    self.xs[i][e] = self._share(f"xs_{i}_{e}")
                    self.n[i][e] = self._share(f"n_{i}_{e}")
                    self.m[i][e] = self._share(f"m_{i}_{e}")
            if able:
                for e in self.around.window(i):
                    self.h[i][e] = self._share(f"h_{i}_{e}")

    def _row(self, name: str, terms: Iterable[tuple[int, int]], right: int = 0) -> None:
        """Add a row that asks for at least its right-hand side."""
        given = list(terms)
        self.model.at_least(name, [j for j, _ in given], [value for _, value in given], right)

    def _equation(self, name: str, terms: Iterable[tuple[int, int]], right: int = 0) -> None:
        given = list(terms)
        self.model.equal(name, [j for j, _ in given], [value for _, value in given], right)

    def _add_update(self, i: int) -> None:
        given, around = self.given, self.around
        q, y, c, z = self.q[i], self.y[i], self.c[i], self.z[i]
        after, before = _all(self.m[i], 1), _all(self.n[i], 1)
        self._equation(f"once_{i}", [*_all(self.x[i], 1), (q, 1)], 1)
        if self.h[i]:
            self._equation(f"hosted_{i}", [*_all(self.h[i], 1), (q, -1)])
        for e, x in self.x[i].items():
            for name, part in (("states", self.xs), ("before", self.n), ("after", self.m)):
                self._row(f"{name}_{i}_{e}", [(x, 1), (part[i][e], -1)])
        self._row(f"late_{i}", [(c, 1), (y, -1), (q, 1), *after])
        less = [(column, -value) for column, value in before]
        self._row(f"copy_{i}", [(z, 1), (c, 1), *less, *after])
        u, t_w = given.update_ns[i], given.transfer_ns(given.weights[i])
        on_host = given.transfer_ns(given.gradients[i]) + (given.host_update_ns[i] or 0) + t_w
        window = [(self.lengths[e], 1) for e in around.window(i)]
        self._row(f"turn_{i}", [*window, (q, u - on_host), *_all(self.m[i], -2 * t_w)], u)
        between = range(around.forward(i) + 1, around.backward(i))
        self._row(f"absence_{i}", [*((self.lengths[e], 1) for e in between), (y, -t_w)])
        trip = 2 * given.transfer_ns(given.states[i]) + u
        self._row(
            f"trip_{i}", [*((length, 1) for length in self.lengths), *_all(self.xs[i], -trip)]
        )

    def _add_host(self) -> None:
        for e in self.around.elements:
            terms = [
                (self.h[i][e], -(self.given.host_update_ns[i] or 0))
                for i in self.stages
                if e in self.h[i]
            ]
            if terms:
                self._row(f"host_{e}", [(self.lengths[e], 1), *terms])

    def _add_inventories(self) -> None:
        given, around = self.given, self.around
        moves = {}
        for names, lists in ((_BROUGHT, self.brought), (_SENT, self.sent)):
            for name in names:
                most = self._total.get(name[1], self._total["W"])
                moves[name] = [self._share(f"{name}_{e}", most) for e in around.elements]
                for e in around.elements:
                    lists[e].append(moves[name][e])
        w, g, s = given.weights, given.gradients, given.states
        first, last = 0, around.backward(around.N) - 1
        flows = _Flows(self, moves)
        back, needed = flows.before_backward(self.y), flows.before_forward(self.m)
        own_m, own_n, own_x = flows.own(self.m, w), flows.own(self.n, w), flows.own(self.x, g)
        own_h, own_xs = flows.own(self.h, w), flows.own(self.xs, s)
        made = flows.behind_backward({i: [self.one] for i in self.stages}, g)
        away = flows.behind_backward({i: list(self.n[i].values()) for i in self.stages}, w)
        late = flows.behind_backward({i: [self.c[i]] for i in self.stages}, w)
        hosted = flows.before_forward({i: {0: self.q[i]} for i in self.stages})
        self.have: dict[str, list[int]] = {}
        for name, inwards, outwards, pin in (
            ("A1", [flows.behind_forward(self.y)], [back], first),
            ("h1", [flows.moved("u1")], [back], first),
            ("AF", [own_m], [needed], last),
            ("hF", [flows.moved("uF")], [needed], last),
            ("gW", [own_m], [flows.moved("dF")], None),
            ("AB", [away], [own_n], last),
            ("hB", [flows.moved("uB")], [own_n], last),
            ("hq", [flows.moved("uq")], [hosted], last),
            ("V", [own_h], [flows.moved("uq")], last),
            ("Gd", [made, flows.moved("uG")], [own_x, flows.moved("dG")], last),
            ("Gh", [flows.moved("dG")], [flows.own(self.h, g), flows.moved("uG")], last),
            ("hS", [flows.moved("uS")], [own_xs], None),
            ("gS", [own_xs], [flows.moved("dS")], None),
            ("r", [late], [flows.moved("dr")], None),
        ):
            kind = {"Gd": "G", "Gh": "G", "hS": "S", "gS": "S"}.get(name, "W")
            columns = [
                self._share(f"{name}_{e}", 0 if e == pin else self._total[kind])
                for e in around.elements
            ]
            self.have[name] = columns
            for e in around.elements:
                terms = [(columns[e], 1), (columns[e - 1], -1)]
                terms += [(column, -size) for part in inwards for column, size in part[e]]
                terms += [(column, size) for part in outwards for column, size in part[e]]
                self._equation(f"{name}_{e}", terms)
        copies = [(self.z[i], -w[i]) for i in self.stages if w[i]]
        if copies:
            self._row("copies", [*((column, 1) for column in moves["dz"]), *copies])

    def _add_presence(self) -> None:
        around, have, w = self.around, self.have, self.given.weights
        self.waiting = [self._share(f"qL_{e}", self._total["W"]) for e in around.elements]
        for e in around.elements:
            not_begun = [
                (self.c[i], w[i])
                for i in self.stages
                if w[i] and (e in around.window(i) or e == around.forward(i))
            ]
            self._row(f"past_{e}", [(self.waiting[e], 1), (have["r"][e], -1), *not_begun])
            for name, more, less in (
                ("present_1", "A1", [have["h1"][e], self.waiting[e]]),
                ("present_F", "AF", [have["hF"][e], have["gW"][e]]),
                ("present_B", "AB", [have["hB"][e]]),
            ):
                self._row(f"{name}_{e}", [(have[more][e], 1), *((column, -1) for column in less)])

    def on_device(self, gap: int) -> Terms:
        """Return the updates on the device in a gap, with their times."""
        return [(self.x[i][gap], self.given.update_ns[i]) for i in self.stages if gap in self.x[i]]

    def present(self, e: int) -> Terms:
        """Return what is in memory at a cut beside all weights, or less than these."""
        if not self.stages:
            return []
        terms = [(self.waiting[e], 1)]
        for names, sign in (
            (("h1", "hF", "gW", "hB", "hq", "hS", "gS", "Gd"), 1),
            (("A1", "AF", "AB"), -1),
        ):
            terms += [(self.have[name][e], sign) for name in names]
        for i in self.stages:
            if e in self.around.window(i) and e != self.around.forward(i) - 1:
                terms.append((self.q[i], -self.given.weights[i]))
            for column, moved in zip(self.x[i].values(), self.xs[i].values(), strict=True):
                terms += [(column, self.given.states[i]), (moved, -self.given.states[i])]
        return terms


class _Flows:
    """Terms by element: what goes into an inventory, or out of it."""

    def __init__(self, updates: Updates, moves: dict[str, list[int]]) -> None:
        self.updates, self.moves = updates, moves
        self.around, self.stages = updates.around, updates.stages
        self.weights = updates.given.weights

    def _empty(self) -> list[Terms]:
        return [[] for _ in self.around.elements]

    def moved(self, name: str) -> list[Terms]:
        """Return what moves."""
        return [[(column, 1)] for column in self.moves[name]]

    def own(self, columns: dict[int, dict[int, int]], sizes: Sequence[int]) -> list[Terms]:
        """Return shares in their own elements."""
        found = self._empty()
        for i in self.stages:
            for e, column in columns[i].items():
                found[e].append((column, sizes[i]))
        return found

    def behind_forward(self, columns: dict[int, int]) -> list[Terms]:
        """Return shares of weights in the gap behind the forward operation of their stage."""
        found = self._empty()
        for i in self.stages:
            found[self.around.forward(i) + 1].append((columns[i], self.weights[i]))
        return found

    def before_backward(self, columns: dict[int, int]) -> list[Terms]:
        """Return shares of weights in the gap before the backward operation."""
        found = self._empty()
        for i in self.stages:
            found[self.around.backward(i) - 1].append((columns[i], self.weights[i]))
        return found

    def before_forward(self, columns: dict[int, dict[int, int]]) -> list[Terms]:
        """Return shares of weights in the gap before the forward operation."""
        found = self._empty()
        for i in self.stages:
            place = self.around.forward(i) - 1
            found[place] += [(column, self.weights[i]) for column in columns[i].values()]
        return found

    def behind_backward(self, columns: dict[int, list[int]], sizes: Sequence[int]) -> list[Terms]:
        """Return shares in the gap behind the backward operation."""
        found = self._empty()
        for i in self.stages:
            place = (self.around.backward(i) + 1) % (4 * self.around.N)
            found[place] += [(column, sizes[i]) for column in columns[i]]
        return found


def _all(columns: dict[int, int], value: int) -> Terms:
    return [(column, value) for column in columns.values()]
