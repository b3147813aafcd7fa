"""Writer of the windowed sharding model: its columns and rows; `windows` has the model."""

# The symbols of the model are the names of the code.
# ruff: noqa: N806

from __future__ import annotations

from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.formulations.remat_graph.windows.closure import add_closure
from jettison.formulations.remat_graph.windows.needed_sets import (
    kept_until,
    needed_sets,
    read_in_window,
)
from jettison.formulations.remat_sharding.skeleton import skeleton
from jettison.formulations.remat_sharding.strategy_columns import (
    Columns,
    PairColumns,
    StrategyColumns,
)
from jettison.instances.remat_sharding.problem import RematSharding
from jettison.instances.remat_sharding.sharded_graph import Table
from jettison.schedules.core.schedule_class import ScheduleClass


class ShardingWriter:
    """Writer of the columns and rows: strategies, then window by window.

    Parameters
    ----------
    problem
        The instance and its memory.
    cuts, slots, valid_for
        As in `WindowedSharding`.

    Attributes
    ----------
    choices
        The columns of strategies.
    R, S
        For each window, the columns of each needed operator.
    memory_scale, time_scale
        Scales of the model's bytes and nanoseconds.
    """

    def __init__(
        self,
        problem: RematSharding,
        cuts: tuple[int, ...],
        slots: tuple[tuple[int, int], ...],
        valid_for: ScheduleClass,
    ) -> None:
        sharded = problem.instance
        self.sharded = sharded
        self.cuts = cuts
        self.slots = slots
        self.staged = valid_for is ScheduleClass.STAGED
        self.graph, self.once = skeleton(sharded)
        self.parameters = sharded.parameters
        self.builder = ArrayModelBuilder("windowed_sharding")
        self.choices = StrategyColumns(self.builder, sharded, [1] * len(sharded))
        self.memory_scale, self.time_scale = self.choices.memory_scale, self.choices.time_scale
        self.limit = self.memory_scale.to_model(problem.memory_bytes)
        self.m = self.choices.m
        self.R: list[dict[int, int]] = []
        self.S: list[dict[int, int]] = []
        self.r: list[dict[int, Columns]] = []
        self.q: list[dict[int, Columns]] = []

    def model(self) -> ArrayModel:
        """Write everything, and return the model."""
        self.choices.write()
        self._add_work()
        if self.cuts:
            needed_in = needed_sets(self.graph, self.cuts, self.once)
            ends = (*self.cuts[1:], len(self.graph) - 1 if self.staged else len(self.graph))
            for t, end, needed in zip(self.cuts, ends, needed_in, strict=True):
                self._add_columns(t, end, sorted(needed))
        for w in range(len(self.cuts)):
            self._add_products(w)
            self._add_window(w)
            self._add_resharding(w)
            self._add_memory(w)
        for w in range(len(self.cuts) - 1):
            add_closure(self.builder, self.graph, self.once, self.cuts[w], self.R[w:], self.S[w])
        window_of = {t: w for w, t in enumerate(self.cuts)}
        for t, q in self.slots:
            if q in self.R[window_of[t - 1]]:
                self._add_slot(t, q, window_of[t - 1])
        return self.builder.build()

    def _equal(self, name: str, columns: Columns, total: int) -> None:
        """Add the row that columns sum up to another one."""
        ones = [1] * len(columns)
        self.builder.add_row(name, [*columns, total], [*ones, -1], lower=0, upper=0)

    def _working_set(self, t: int) -> set[int]:
        before = {p for p in self.parameters if p < t}
        return before.union(self.sharded.inputs[t], (t,))

    def _add_work(self) -> None:
        for t in range(len(self.sharded)):
            operators = self._working_set(t)
            if t not in self.cuts and sum(max(self.m[i]) for i in operators) > self.limit:
                columns, sizes = self.choices.sizes(operators)
                self.builder.add_row(f"work_{t}", columns, sizes, upper=self.limit)
        # What is kept and the parameters are in memory together at the end.
        kept = {i for i, op in enumerate(self.sharded.operators) if op.keep} | {*self.parameters}
        if sum(max(self.m[i]) for i in kept) > self.limit:
            columns, sizes = self.choices.sizes(kept)
            self.builder.add_row("work_end", columns, sizes, upper=self.limit)

    def _add_columns(self, t: int, end: int, nodes: list[int]) -> None:
        """Add R, S, r and q of the window after `t`, whose last stage is `end`."""
        again = [i not in self.once and t < end for i in nodes]
        R = self.builder.add_columns([f"R_{t}_{i}" for i in nodes], upper=again, integer=True)
        S = self.builder.add_columns([f"S_{t}_{i}" for i in nodes], upper=1, integer=True)
        self.R.append(dict(zip(nodes, R.tolist(), strict=True)))
        self.S.append(dict(zip(nodes, S.tolist(), strict=True)))
        r: dict[int, Columns] = {}
        q: dict[int, Columns] = {}
        for i, may in zip(nodes, again, strict=True):
            places = range(len(self.sharded.operators[i].strategies))
            r[i] = self.builder.add_columns(
                [f"r_{t}_{i}_{k}" for k in places],
                upper=may,
                cost=[self.choices.cost(i, k) for k in places],
            ).tolist()
            q[i] = self.builder.add_columns([f"q_{t}_{i}_{k}" for k in places], upper=1).tolist()
        self.r.append(r)
        self.q.append(q)

    def _add_products(self, w: int) -> None:
        t = self.cuts[w]
        for i in self.R[w]:
            for name, whole, parts in (
                ("againas", self.R[w][i], self.r[w][i]),
                ("heldas", self.S[w][i], self.q[w][i]),
            ):
                self._equal(f"{name}_{t}_{i}", parts, whole)
                for k, (part, chosen) in enumerate(zip(parts, self.choices.of(i), strict=True)):
                    self.builder.add_row(f"{name}_{t}_{i}_{k}", [part, chosen], [1, -1], upper=0)

    def _add_window(self, w: int) -> None:
        R, S, cuts, graph = self.R[w], self.S[w], self.cuts, self.graph
        t = cuts[w]
        is_last = w == len(cuts) - 1
        needed = read_in_window(graph, t, len(graph) - 1 if is_last else cuts[w + 1])
        if is_last:
            needed |= kept_until(graph, t)
        for p in sorted(needed):
            for k, chosen in enumerate(self.choices.of(p)):
                columns = [self.q[w][p][k], self.r[w][p][k], chosen]
                self.builder.add_row(f"need_{t}_{p}_{k}", columns, [1, 1, -1], lower=0, upper=0)
        for i in R:
            if i not in needed and i not in self.once:
                self.builder.add_row(f"either_{t}_{i}", [R[i], S[i]], [1, 1], upper=1)
        for i in R:
            for p in () if i in self.once else graph.inputs[i]:
                self.builder.add_row(f"again_{t}_{i}_{p}", [R[p], S[p], R[i]], [1, 1, -1], lower=0)
        if is_last:
            return
        for i, held in self.q[w + 1].items():
            for k, later in enumerate(held) if i <= t else ():
                columns = [self.r[w][i][k], self.q[w][i][k], later]
                self.builder.add_row(f"stay_{cuts[w + 1]}_{i}_{k}", columns, [1, 1, -1], lower=0)

    def _add_resharding(self, w: int) -> None:
        t = self.cuts[w]
        for i in self.R[w]:
            for j in () if i in self.once else self.sharded.inputs[i]:
                table = self.sharded.tables.get((j, i))
                pair = self.choices.e.get((self.sharded.leader[j], self.sharded.leader[i]))
                if table is None or pair is None or not any(cost for row in table for cost in row):
                    continue
                for place, alike in enumerate(pair.columns):
                    again = [self.r[w][i][b] for b in alike]
                    self._add_paid(f"{t}_{j}_{i}", place, again, table, pair)

    def _add_paid(
        self, name: str, place: int, again: Columns, table: Table, pair: PairColumns
    ) -> None:
        """Add f and the row (reshard) of one class of strategies of the reader."""
        b = pair.columns[place][0]
        columns = []
        for alike, of_row in zip(pair.rows, pair.e, strict=True):
            a, pays = alike[0], of_row[place]
            cost = table[a][b]
            if cost:
                first = pays
                pays = self.builder.add_column(
                    f"f_{name}_{a}_{b}", upper=1, cost=self.time_scale.to_model(cost)
                )
                self.builder.add_row(f"reshard_{name}_{a}_{b}", [pays, first], [1, -1], upper=0)
            columns.append(pays)
        coefficients = [*(1 for _ in columns), *(-1 for _ in again)]
        self.builder.add_row(f"reshard_{name}_{b}", [*columns, *again], coefficients, lower=0)

    def _add_memory(self, w: int) -> None:
        t = self.cuts[w]
        running = self._working_set(t)
        columns, sizes = self.choices.sizes(running)
        for i, held in self.q[w].items():
            if i not in running:
                columns += held
                sizes += self.m[i]
        self.builder.add_row(f"memory_{t}", columns, sizes, upper=self.limit)

    def _add_slot(self, t: int, q: int, w: int) -> None:
        columns, sizes = self.choices.sizes({p for p in self.parameters if p < t})
        columns += [*self.r[w][q], *self.q[w][q]]
        sizes += [*self.m[q], *self.m[q]]
        for i in self.R[w]:
            if i == q:
                continue
            if i > q:
                held = self.q[w][i]
            elif t in self.graph.users[i]:
                held = self.choices.of(i)
            else:
                held = self._later(t, q, w, i)
            columns += held
            sizes += self.m[i][: len(held)]
        self.builder.add_row(f"slot_{t}_{q}", columns, sizes, upper=self.limit)

    def _later(self, t: int, q: int, w: int, i: int) -> Columns:
        """Return the columns l of a value that may be read at the slot or after it."""
        reasons = {
            f"later_{t}_{q}_{i}_{j}": self.R[w][j]
            for j in self.graph.users[i]
            if q <= j < t and j in self.R[w]
        }
        if i in self.S[w + 1]:
            reasons[f"later_{t}_{q}_{i}"] = self.S[w + 1][i]
        if not reasons:
            return []
        chosen = self.choices.of(i)
        later: Columns = self.builder.add_columns(
            [f"l_{t}_{q}_{i}_{k}" for k in range(len(chosen))], upper=1
        ).tolist()
        for k, (held, whole) in enumerate(zip(later, chosen, strict=True)):
            self.builder.add_row(f"later_{t}_{q}_{i}_as_{k}", [held, whole], [1, -1], upper=0)
        for name, reason in reasons.items():
            self.builder.add_row(name, [*later, reason], [*(1 for _ in later), -1], lower=0)
        return later
