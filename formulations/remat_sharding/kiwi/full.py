r"""KIWI's full problem as the paper writes it: strategies and Checkmate's stages together.

Source: KIWI, Section 3.1 and Appendix 7.1, equations (1) and (12)-(23).

Operators and stages are counted from 0 to :math:`n - 1`; stage :math:`t` computes operators before
:math:`t` again, in their order, and then :math:`t` for the first time. :math:`\mathrm{in}(k)` are
the inputs of :math:`k` and :math:`\mathrm{us}(i)` the users of :math:`i`; :math:`Q` are the
parameters and :math:`K` what is kept.

Columns
-------
:math:`s` and :math:`e` of `columns`, and

================================ ==========================================================
:math:`A_{t,i}`, ``A[t,i]``      stage :math:`t` computes :math:`i < t`; binary
:math:`B_{t,i}`, ``B[t,i]``      :math:`i < t` is in memory when stage :math:`t` begins; binary
:math:`F_{t,i,k}`, ``F[t,i,k]``  stage :math:`t` frees :math:`i \in \mathrm{in}(k) \cup \{k\}`
                                 after it has computed :math:`k < t`; binary
:math:`U_{t,k}`, ``U[t,k]``      bytes of values in memory while stage :math:`t` computes
                                 :math:`k \le t`, at most :math:`M`
================================ ==========================================================

Constants have no columns: :math:`A_{t,t} = 1`; :math:`A_{t,i} = 0` for parameters and inputs and
:math:`i < t`; :math:`B_{t,i} = 1` for :math:`i \in Q`; :math:`B_{n,i}`, after the last stage, is 1
for :math:`i \in K \cup Q` and 0 for the others. Let :math:`h_{t,i,k} = (1 - A_{t,k}) + B_{t+1,i} +
\sum_{j \in \mathrm{us}(i),\, k < j \le t} A_{t,j}` count the reasons not to free :math:`i`, and
:math:`\kappa_{t,i,k}` its terms.

Model
-----
With :math:`\mathrm{cost}_i = s_i^T (c_i + d_i) + \sum_{(j,i)} e_{ji}^T R_{ji}` and rows (21)-(23):

.. math::
    \text{(1)} \quad & \min \sum_t \sum_{i \le t} A_{t,i}\, \mathrm{cost}_i \\
    \text{(12)} \quad & A_{t,j} \le A_{t,i} + B_{t,i}
        && \forall t,\; j \le t,\; i \in \mathrm{in}(j) \\
    \text{(13)} \quad & B_{t,i} \le A_{t-1,i} + B_{t-1,i} && \forall t > 0,\; i < t \\
    \text{(17)} \quad & U_{t,0} = \sum_{i<t} B_{t,i}\, s_i^T mem_i + A_{t,0}\, s_0^T mem_0 \\
    \text{(18), (19)} \quad & U_{t,k+1} = U_{t,k} + A_{t,k+1}\, s_{k+1}^T mem_{k+1}
        - \sum_{i \in \mathrm{in}(k) \cup \{k\}} F_{t,i,k}\, s_i^T mem_i && \forall t,\; k < t \\
    \text{(20)} \quad & 1 - F_{t,i,k} \le h_{t,i,k} \le \kappa_{t,i,k} (1 - F_{t,i,k})

(14) and (15) are the constants above, (16) is the upper limit of :math:`U`. Rows are named
``eq12[t,j,i]``, ``eq13[t,i]``, ``eq17[t]``, ``eq18[t,k]``, ``eq20low[t,i,k]``,
``eq20high[t,i,k]``; the limits (16) on :math:`U` are no rows.

Products of :math:`A`, :math:`B` and :math:`F` with :math:`s` and :math:`e` make it quadratic
(`Bilinear`), the product over users in (20) is linearised as in Checkmate. With `Linearised` it is
a linear model, called literal in comparisons, for graphs of about a dozen operators.

Corrections of the print
------------------------
`PrintedRow` builds the wrong rows; the tests show what they do.

* (22), (23): see `columns`.
* (15) holds for :math:`t > i`; with :math:`t = i` it contradicts (14). It also has to keep stages
  from computing parameters again, which costs nothing where they cost nothing to make.
* (16) asks for *less* than the device's memory; a step may fill it.
* (17), (18): the first moment of a stage counts the output of operator 0 if that is computed, and
  is within (16) like all others.
* (19) frees the inputs of :math:`k` only, although the text frees :math:`k` too.
* (20) is meant for :math:`t = n` too, where :math:`B_{n+1,i}`, which nothing defines, is 0 but for
  what is kept.
* (1) repeats the resharding of a computation's inputs each time that it runs, in the same
  strategy; so does the replay.

Size: :math:`n (n + |E|) / 2` binaries :math:`F`, each with :math:`k` products.
"""

# The symbols of the model are the names of the code.
# ruff: noqa: N802, N806

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jettison.formulations.milp.watched_writing import Watch, unwatched
from jettison.formulations.remat_sharding.kiwi.columns import (
    Term,
    chosen_strategies,
    strategies_of_plan,
)
from jettison.formulations.remat_sharding.kiwi.rows import KiwiForm, KiwiModel, KiwiRows, PrintedRow
from jettison.instances.remat_sharding.operator import Role
from jettison.instances.remat_sharding.problem import RematSharding
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph
from jettison.schedules.remat_sharding.schedule import ShardedSchedule


@dataclass(frozen=True)
class KiwiFullModel(KiwiModel):
    """Built full model, with the translation between points and schedules."""

    def schedule(self, values: Mapping[str, float]) -> ShardedSchedule:
        """Return the schedule of a point: its values by the names of columns, ``A_2_1`` say.

        It frees as early as it can, and computes nothing that nobody reads.
        """
        computations = [
            i
            for t in range(len(self.sharded))
            for i in range(t + 1)
            if i == t or values.get(f"A_{t}_{i}", 0) > 0.5
        ]
        strategies = chosen_strategies(self.sharded, values)
        return ShardedSchedule.from_computations(self.sharded, strategies, computations)

    def point(self, plan: ShardedSchedule) -> dict[str, float]:
        """Return the values of columns s, A and B for a staged plan, by name."""
        values = strategies_of_plan(self.sharded, plan.strategies)
        values |= {f"A_{t}_{i}": 0.0 for t, i in self.concrete.A}
        values |= {f"B_{t}_{i}": 0.0 for t, i in self.concrete.B}
        computed_in: dict[int, int] = {}
        stage = 0

        def store(i: int, until: int) -> None:
            for t in range(computed_in[i] + 1, until + 1):
                values[f"B_{t}_{i}"] = 1.0

        for i in plan.computations:
            for j in self.sharded.inputs[i]:
                store(j, stage)
            if i in computed_in:
                values[f"A_{stage}_{i}"] = 1.0
            computed_in[i] = stage
            # The first computation of an operator ends the stage that has its number.
            stage += i == stage
        for i, item in enumerate(self.sharded.operators):
            if item.keep:
                store(i, len(self.sharded) - 1)
        return values


@dataclass(frozen=True)
class KiwiFull(KiwiForm):
    """KIWI's full problem; the model is in the docstring of this module."""

    def build(self, problem: RematSharding, watch: Watch = unwatched) -> KiwiFullModel:
        """Build the model; about 20 µs for each coefficient. `watch` may end that."""
        return _Writer(self, problem, watch).model()

    def estimated_products(self, sharded: ShardedGraph) -> int:
        """Return about how many products the model has, in :math:`O(n + |E|)`."""
        count = len(sharded)
        total = 0
        for i, (item, inputs, users) in enumerate(
            zip(sharded.operators, sharded.inputs, sharded.users, strict=True)
        ):
            sizes = len(item.strategies)
            pairs = sum(
                sizes * len(sharded.operators[j].strategies)
                for j in inputs
                if (j, i) in sharded.tables
            )
            total += (count - i) * (2 * sizes + pairs)
            total += sizes * sum(count - k for k in (i, *users))
        return total


class _Writer(KiwiRows):
    """Writer of the columns and rows, in the order of the docstring."""

    name = "kiwi_full"

    def __init__(self, form: KiwiForm, problem: RematSharding, watch: Watch) -> None:
        super().__init__(form, problem)
        self.watch = watch
        self._add_columns()

    def model(self) -> KiwiFullModel:
        self._add_objective()
        self._add_stages()
        self._add_memory()
        self._add_freeing()
        return KiwiFullModel(*self.built)

    def _add_columns(self) -> None:
        pyo, concrete, n = self.pyo, self.concrete, self.count
        operators = self.sharded.operators
        self.stages = range(n)
        concrete.A = pyo.Var(
            [(t, i) for t in range(n) for i in range(t) if not operators[i].role.is_computed_once],
            domain=pyo.Binary,
        )
        stored = [
            (t, i) for t in range(n) for i in range(t) if operators[i].role is not Role.PARAMETER
        ]
        if PrintedRow.PARAMETERS in self.printed:
            stored += [(i, i) for i in self.sharded.parameters]
        concrete.B = pyo.Var(stored, domain=pyo.Binary)
        self._recomputed = dict(concrete.A.items())
        limit = self.limit
        if PrintedRow.MEMORY in self.printed:
            limit -= 1 / self.columns.memory_scale.factor
        concrete.U = pyo.Var([(t, k) for t in range(n) for k in range(t + 1)], bounds=(0, limit))
        self.freeing = [
            (t, i, k)
            for t in range(n)
            for k in range(t)
            for i in self._freed_after(k)
            if not isinstance(self.B(t + 1, i), int) or self.B(t + 1, i) == 0
        ]
        concrete.F = pyo.Var(self.freeing, domain=pyo.Binary)

    def A(self, t: int, i: int) -> Any:
        """Return the column, or the number that it is fixed to."""
        if i >= t:
            return int(i == t)
        return self._recomputed.get((t, i), 0)

    def B(self, t: int, i: int) -> Any:
        """Return the column, or the number that it is fixed to."""
        item = self.sharded.operators[i]
        if item.role is Role.PARAMETER and t > i:
            return 1
        if t == self.count:
            return int(item.keep and PrintedRow.END not in self.printed)
        return self.concrete.B[t, i] if i < t else 0

    def _freed_after(self, k: int) -> tuple[int, ...]:
        inputs = self.sharded.inputs[k]
        return inputs if PrintedRow.FREED in self.printed else (*inputs, k)

    def _times(self, factor: Any, terms: list[Term]) -> Any:
        self.watch()
        if isinstance(factor, int):
            return factor * sum(amount * column for column, amount in terms)
        return self.products.times(factor, terms)

    def _add_objective(self) -> None:
        costs = [self.columns.costs(i) for i in range(self.count)]
        total = sum(self._times(self.A(t, i), costs[i]) for t in self.stages for i in range(t + 1))
        self.concrete.eq1 = self.pyo.Objective(expr=total)

    def _rows(self, name: str, rows: Mapping[Any, Any]) -> None:
        """Add the rows ``left <= 0``; where the left side is a number, they hold anyway."""
        kept = {index: left for index, left in rows.items() if not isinstance(left, int)}
        constraint = self.pyo.Constraint(list(kept))
        setattr(self.concrete, name, constraint)
        for index, left in kept.items():
            self.watch()
            constraint.add(index, left <= 0)

    def _add_stages(self) -> None:
        A, B, inputs = self.A, self.B, self.sharded.inputs
        self._rows(
            "eq12",
            {
                (t, j, i): A(t, j) - A(t, i) - B(t, i)
                for t in self.stages
                for j in range(t + 1)
                for i in inputs[j]
            },
        )
        self._rows(
            "eq13",
            {
                (t, i): B(t, i) - A(t - 1, i) - B(t - 1, i)
                for t in range(1, self.count + 1)
                for i in range(t)
            },
        )
        if PrintedRow.PARAMETERS in self.printed:
            # (14) fixes to 0 what this reading of (15) fixes to 1.
            B_ii = {i: self.concrete.B[i, i] for i in self.sharded.parameters}
            self._rows("eq14", B_ii)
            self._rows("eq15", {i: 1 - column for i, column in B_ii.items()})

    def _add_memory(self) -> None:
        pyo, U = self.pyo, self.concrete.U

        def start(_: Any, t: int) -> Any:
            stored = sum(self._times(self.B(t, i), self.sizes[i]) for i in range(t))
            if PrintedRow.START not in self.printed:
                stored += self._times(self.A(t, 0), self.sizes[0])
            return U[t, 0] - stored == 0

        def step(_: Any, t: int, k: int) -> Any:
            freed = sum(
                self._times(self.concrete.F[t, i, k], self.sizes[i])
                for i in self._freed_after(k)
                if (t, i, k) in self.concrete.F
            )
            added = self._times(self.A(t, k + 1), self.sizes[k + 1])
            return U[t, k + 1] == U[t, k] + added - freed

        self.concrete.eq17 = pyo.Constraint(self.stages, rule=start)
        self.concrete.eq18 = pyo.Constraint(
            [(t, k) for t in self.stages for k in range(t)], rule=step
        )

    def _add_freeing(self) -> None:
        low, high = {}, {}
        for t, i, k in self.freeing:
            self.watch()
            reasons = [1 - self.A(t, k), self.B(t + 1, i)]
            reasons += [self.A(t, j) for j in self.sharded.users[i] if k < j <= t]
            F, h = self.concrete.F[t, i, k], sum(reasons)
            low[t, i, k] = 1 - F - h
            high[t, i, k] = h - len(reasons) * (1 - F)
        self._rows("eq20low", low)
        self._rows("eq20high", high)
