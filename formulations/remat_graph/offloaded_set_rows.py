"""Rows of the model of offloaded sets (`formulations.remat_graph.offloaded_set`)."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.formulations.milp.integer_scale import IntegerScale
from jettison.instances.core.link import Link
from jettison.instances.remat_graph.graph import Graph
from jettison.schedules.remat_graph.saved_set import check_forward_first

# A sum of columns with coefficients, and a constant.
_Sum = tuple[dict[int, float], float]


class OffloadedSetRows:
    """Writer of the model: columns and rows, named as in the docstring of the model.

    Parameters and errors are those of `OffloadedSetModel`.
    """

    def __init__(
        self,
        graph: Graph,
        *,
        memory_bytes: int,
        link: Link,
        chosen: Collection[int],
        can_be_saved: Collection[int],
        never_again: Collection[int],
        never_moved: Collection[int],
    ) -> None:
        self._graph = graph
        self._memory_bytes = memory_bytes
        self._may = set(can_be_saved) | set(never_again)
        self._moves = self._may - set(never_moved)
        self._never = set(never_again)
        self._count = check_forward_first(graph)
        self._end = len(graph)
        self._builder = ArrayModelBuilder("offloaded_set")
        forward = range(self._count)
        readers = [[user for user in graph.users[i] if user >= self._count] for i in forward]
        self._users = [[user for user in graph.users[i] if user < self._count] for i in forward]
        self._first = [min(found, default=self._end) for found in readers]
        self._last = [max(found, default=-1) for found in readers]
        self._last_forward = [max(found, default=i) for i, found in enumerate(self._users)]
        nodes = graph.nodes
        self.time_scale = IntegerScale.of(node.duration_ns for node in nodes[: self._count])
        self._bytes = IntegerScale.of(
            [node.output_bytes for node in nodes] + [node.workspace_bytes for node in nodes]
        )
        self._moves_ns = [link.transfer_ns(nodes[i].output_bytes) for i in forward]
        self._link = IntegerScale.of([*self._moves_ns, *(node.duration_ns for node in nodes)])
        self._chosen = sorted(set(chosen))
        self._n: dict[tuple[int, int], _Sum] = {}
        self._r: dict[tuple[int, int], _Sum] = {}
        self.stays: dict[tuple[int, int], int] = {}
        self.begins: dict[tuple[int, int], int] = {}
        self._q: dict[tuple[int, int], int] = {}
        self._p: dict[tuple[int, int], int] = {}

    def write(self) -> ArrayModel:
        """Add all columns and rows."""
        builder, nodes = self._builder, self._graph.nodes
        self.saved = [
            builder.add_column(f"s_{i}", upper=float(i in self._may), integer=True)
            for i in range(self._count)
        ]
        self.offloaded = [
            builder.add_column(
                f"o_{i}", upper=float(i in self._moves and not nodes[i].keep), integer=True
            )
            for i in range(self._count)
        ]
        for i in range(self._count):
            builder.add_row(f"one_{i}", [self.saved[i], self.offloaded[i]], [1, 1], upper=1)
        behind = [t for t in self._chosen if t >= self._count]
        self._add_needs(self._end, is_last=True)
        for t in behind:
            self._add_needs(t, is_last=False)
        self._add_transfers()
        for t in self._chosen:
            if t < self._count:
                self._add_forward(t)
            else:
                self._add_backward(t)
        for t in behind:
            if t == self._count or t - 1 in behind:
                for j in range(self._count):
                    self._add_anew(t, j)
        return builder.build()

    def _add_needs(self, t: int, *, is_last: bool) -> None:
        builder = self._builder
        for i in reversed(range(self._count)):
            cost = self.time_scale.to_model(self._graph.nodes[i].duration_ns) if is_last else 0.0
            upper = 0.0 if i in self._never else 1.0
            r = builder.add_column(f"r_{t}_{i}", upper=upper, cost=cost)
            self._r[t, i] = ({r: 1.0}, 0.0)
            kept = {self.saved[i]: 1.0, self.offloaded[i]: 1.0}
            if self._first[i] <= t and self._first[i] < self._end:
                self._n[t, i] = ({}, 1.0)
                self._row(f"again_{t}_{i}", [({r: 1.0}, 0.0), (kept, -1.0)], lower=0)
            else:
                n = builder.add_column(f"n_{t}_{i}", upper=1)
                self._n[t, i] = ({n: 1.0}, 0.0)
                for k in self._users[i]:
                    self._row(
                        f"needed_{t}_{i}_{k}", [({n: 1.0}, 0.0), _minus(self._r[t, k])], lower=0
                    )
                wanted = [self._r[t, k] for k in self._users[i]]
                self._row(f"wanted_{t}_{i}", [*wanted, ({n: -1.0}, 0.0)], lower=0)
                self._row(f"again_{t}_{i}", [({r: 1.0, n: -1.0}, 0.0), (kept, 0.0)], lower=0)
                self._row(f"not_needed_{t}_{i}", [({n: 1.0, r: -1.0}, 0.0)], lower=0)
            self._row(f"not_again_{t}_{i}", [({r: 1.0}, 0.0), (kept, 0.0)], upper=1)

    def _add_transfers(self) -> None:
        builder, nodes = self._builder, self._graph.nodes
        chosen = set(self._chosen)
        segments = _segments(0, self._count, chosen) + _segments(self._count, self._end, chosen)
        totals: dict[str, dict[int, float]] = {}
        for number, segment in enumerate(segments):
            is_out = segment.start < self._count
            row: dict[int, float] = {}
            capacity = sum(nodes[t].duration_ns for t in segment)
            for i in range(self._count):
                inside = (
                    range(max(segment.start, i + 1), segment.stop)
                    if is_out
                    else range(segment.start, min(segment.stop, self._first[i]))
                )
                if not inside or nodes[i].keep:
                    continue
                own_ns = sum(nodes[t].duration_ns for t in inside)
                share = min(1.0, own_ns / self._moves_ns[i]) if self._moves_ns[i] else 1.0
                column = builder.add_column(f"{'q' if is_out else 'p'}_{number}_{i}", upper=share)
                (self._q if is_out else self._p)[segment.start, i] = column
                totals.setdefault(f"{'out' if is_out else 'back'}_{i}", {})[column] = 1.0
                if self._moves_ns[i]:
                    row[column] = self._link.to_model(self._moves_ns[i])
            if row:
                # Work is rounded down to the scale, and so this is up: no transfer is lost.
                upper = self._link.to_model(capacity + self._link.unit - 1)
                builder.add_row(f"link_{number}", list(row), list(row.values()), upper=upper)
        for i in range(self._count):
            for way in ("out", "back"):
                # Nothing needs to move that has no bytes.
                if self._moves_ns[i]:
                    row = {**totals.get(f"{way}_{i}", {}), self.offloaded[i]: -1.0}
                    builder.add_row(f"{way}_{i}", list(row), list(row.values()), lower=0, upper=0)

    def _add_forward(self, t: int) -> None:
        nodes = self._graph.nodes
        given = nodes[t].output_bytes + nodes[t].workspace_bytes
        parts: list[tuple[int, _Sum]] = []
        for i in range(t):
            if self._last_forward[i] >= t:
                given += nodes[i].output_bytes
            elif nodes[i].keep:
                parts.append((i, ({}, 1.0)))
                parts.append((i, _minus(self._r[self._end, i])))
            elif nodes[i].output_bytes:
                y = self._builder.add_column(f"y_{t}_{i}", upper=1, integer=True)
                self.stays[t, i] = y
                moved = [({c: 1.0}, 0.0) for (g, k), c in self._q.items() if k == i and g < t]
                self._row(
                    f"gone_{t}_{i}", [({y: 1.0, self.offloaded[i]: -1.0}, 0.0), *moved], lower=0
                )
                parts.append((i, ({self.saved[i]: 1.0, y: 1.0}, 0.0)))
        self._add_memory(f"forward_{t}", given, parts)

    def _there(self, t: int, i: int) -> list[_Sum]:
        """Return what is 1 if the device has a value that is not kept, at a backward node."""
        key = (t, i)
        if key not in self.begins:
            u = self._builder.add_column(f"u_{t}_{i}", upper=1, integer=True)
            self.begins[key] = u
            mine = {g: c for (g, k), c in self._p.items() if k == i}
            begun: list[_Sum] = [({c: -1.0}, 0.0) for g, c in mine.items() if g <= t]
            self._row(f"begun_{t}_{i}", [({u: 1.0}, 0.0), *begun], lower=0)
            before: list[_Sum] = [({c: 1.0}, 0.0) for g, c in mine.items() if g < t]
            if self._moves_ns[i]:
                self._row(
                    f"there_{t}_{i}",
                    [*before, ({self.offloaded[i]: -1.0}, 1.0), _minus(self._n[t, i])],
                    lower=0,
                )
        return [({self.saved[i]: 1.0, self.begins[key]: 1.0}, 0.0), self._r[t, i]]

    def _kept(self, t: int, i: int) -> list[_Sum]:
        return [({}, 1.0), _minus(self._r[self._end, i]), self._r_at(t, i)]

    def _r_at(self, t: int, i: int) -> _Sum:
        """Return whether a value was computed again by a node; before all of them it was not."""
        return ({}, 0.0) if t < self._count else self._r[t, i]

    def _add_backward(self, t: int) -> None:
        nodes = self._graph.nodes
        given = nodes[t].output_bytes + nodes[t].workspace_bytes + self._backward_bytes(t)
        parts: list[tuple[int, _Sum]] = []
        for i in range(self._count):
            if nodes[i].keep:
                parts += [(i, part) for part in self._kept(t, i)]
                continue
            there = self._there(t, i)
            if self._last[i] >= t:
                parts += [(i, part) for part in there]
            elif self._users[i] and nodes[i].output_bytes:
                m = self._builder.add_column(f"m_{t}_{i}", upper=1)
                for k in self._users[i]:
                    self._row(
                        f"later_{t}_{i}_{k}",
                        [
                            ({m: 1.0}, 1.0),
                            *map(_minus, there),
                            _minus(self._r[self._end, k]),
                            self._r[t, k],
                        ],
                        lower=0,
                    )
                parts.append((i, ({m: 1.0}, 0.0)))
        self._add_memory(f"backward_{t}", given, parts)

    def _add_anew(self, t: int, j: int) -> None:
        nodes, before = self._graph.nodes, t - 1
        given = nodes[j].output_bytes + nodes[j].workspace_bytes + self._backward_bytes(t)
        parts: list[tuple[int, _Sum]] = []
        for i in range(self._count):
            if i == j or not nodes[i].output_bytes:
                continue
            at = t if i < j else before
            if nodes[i].keep:
                parts += [(i, part) for part in self._kept(at, i)]
                continue
            there: list[_Sum] = [({self.saved[i]: 1.0}, 0.0), self._r_at(at, i)]
            if before >= self._count:
                self._there(before, i)
                there.append(({self.begins[before, i]: 1.0}, 0.0))
            x = self._builder.add_column(f"x_{t}_{j}_{i}", upper=1)
            parts.append((i, ({x: 1.0}, 0.0)))
            if self._last[i] >= t:
                self._row(f"meanwhile_{t}_{j}_{i}", [({x: 1.0}, 0.0), *map(_minus, there)], lower=0)
                continue
            for k in self._users[i]:
                self._row(
                    f"meanwhile_{t}_{j}_{i}_{k}",
                    [
                        ({x: 1.0}, 1.0),
                        *map(_minus, there),
                        _minus(self._r[self._end, k]),
                        self._r_at(before if k >= j else t, k),
                    ],
                    lower=0,
                )
        most = self._bytes.to_model(
            sum(node.output_bytes + node.workspace_bytes for node in nodes) + given
        )
        runs = [_scaled(self._r[t, j], most), _scaled(self._r_at(before, j), -most)]
        self._add_memory(f"anew_{t}_{j}", given, parts, runs, most)

    def _backward_bytes(self, t: int) -> int:
        """Return the bytes of backward values before a node that it or a later one reads."""
        graph = self._graph
        return sum(
            graph.nodes[v].output_bytes
            for v in range(self._count, t)
            if graph.nodes[v].keep or any(user >= t for user in graph.users[v])
        )

    def _add_memory(
        self,
        name: str,
        given_bytes: int,
        parts: Iterable[tuple[int, _Sum]],
        more: Iterable[_Sum] = (),
        slack: float = 0.0,
    ) -> None:
        amounts = [
            _scaled(part, self._bytes.to_model(self._graph.nodes[i].output_bytes))
            for i, part in parts
        ]
        # Rounded towards zero: a negative limit stays negative, and no point fits.
        upper = self._bytes.to_model(self._memory_bytes - given_bytes)
        self._row(name, [*amounts, *more], upper=upper + slack)

    def _row(
        self,
        name: str,
        parts: Iterable[_Sum],
        *,
        lower: float = float("-inf"),
        upper: float = float("inf"),
    ) -> None:
        row: dict[int, float] = {}
        constant = 0.0
        for columns, number in parts:
            constant += number
            for column, amount in columns.items():
                row[column] = row.get(column, 0.0) + amount
        self._builder.add_row(
            name, list(row), list(row.values()), lower=lower - constant, upper=upper - constant
        )


def _segments(start: int, stop: int, chosen: set[int]) -> list[range]:
    """Return the chosen nodes and the runs between them."""
    found: list[range] = []
    begin = start
    for t in range(start, stop):
        if t in chosen:
            if begin < t:
                found.append(range(begin, t))
            found.append(range(t, t + 1))
            begin = t + 1
    if begin < stop:
        found.append(range(begin, stop))
    return found


def _minus(part: _Sum) -> _Sum:
    return _scaled(part, -1.0)


def _scaled(part: _Sum, by: float) -> _Sum:
    columns, number = part
    return {column: by * amount for column, amount in columns.items()}, by * number
