r"""KIWI's reduced problem with elementwise operators that are recomputed together.

Not in the paper: its first simplification, (9), keeps two neighbours from being computed again
both, so that checkpoint_dots, the baseline of Section 4.1 that computes all again but products of
matrices, can be faster than the reduced problem. Here (9) holds only where one of the two is a
product; the plans are those of `ElementwiseRecomputation`. Memory is counted at each computation,
first or repeated, with what is still read afterwards and nothing else.

Symbols are those of `compact`: :math:`s, e, m, w, f`, the first backward user :math:`H_i`, the last
forward use :math:`l_i` and the last use :math:`live_i` of :math:`i`. :math:`Z` are the operators
that may be computed again: forward ones that a backward operator reads, and elementwise ones that
such an elementwise one of :math:`Z` reads; :math:`\mathrm{us}(i)` are the users of :math:`i` in
:math:`Z`, and :math:`E` the edges within :math:`Z` of which no end is a product.

When what is computed again comes back
---------------------------------------
:math:`i` with :math:`m_i = 0` comes back right before the first backward operator that reads it or
needs a user of :math:`i` that is computed again. Let :math:`N_{i}(t) = 1` if :math:`m_i = 0` and
:math:`i` is not back while :math:`t` runs:

.. math::
    N_i(t) = \begin{cases}
        0 & H_i \le t \\
        \min(1 - m_i,\; \min_{j: (i,j) \in E} m_j + N_j(t)) & \text{else}
    \end{cases}

since a user that is computed again and is back has needed :math:`i`. For :math:`(i, j) \notin E`
one of :math:`m_i, m_j` is 1, and nothing is said. While nothing that reaches :math:`i` in :math:`E`
has a backward user up to :math:`t`, which holds for all :math:`t` that are not backward,
:math:`N_i(t) = 1 - m_i`.

Moments
-------
:math:`\tau = t` is the first computation of :math:`t`, and :math:`\tau = (t, i)` the repeated one
of :math:`i \in Z` right before backward :math:`t`. At :math:`t` all that comes back for it is back;
at :math:`(t, i)` that is so for :math:`j \le i`, and for :math:`j > i` what holds is what held at
:math:`t - 1`:

.. math::
    N_j(\tau) = \begin{cases}
        N_j(t) & \tau = t \text{ or } j \le i \\
        N_j(t - 1) & \text{else}
    \end{cases}
    \qquad
    N^-_j(\tau) = \begin{cases}
        N_j(t) & \tau = t \text{ or } j < i \\
        N_j(t - 1) & \text{else}
    \end{cases}

:math:`N^-_j(\tau) = 1` if :math:`j` is computed again at :math:`\tau` or later.

Columns
-------
=================================== ==========================================================
:math:`s, e, m, w, f`               as in `compact`; only :math:`s` and :math:`m` are integer
:math:`n_{t,i,k}`, ``n_t_i_k``      :math:`s_{i,k} N_i(t)` where neither case above settles
                                    :math:`N_i(t)`; from 0 to 1
:math:`g_{\tau,i,k}`,               :math:`i` has strategy :math:`k` and is in memory at
``g_t_i_k``, ``g_t_j_i_k``          :math:`\tau = t` or :math:`(t, j)`, after :math:`live_i`, for
                                    a user that is computed again then or later; from 0 to 1
=================================== ==========================================================

Model
-----
(objective), (one), (from), (to), (stored) and (again) as in `compact`, and

.. math::
    \text{(inputs)} \quad & m_j + m_i \ge 1 && \forall (j,i) \notin E,\; i, j \in Z \\
    \text{(needed)} \quad & \sum_{j: (i,j) \in E} (1 - m_j) \ge 1 - m_i
        && \forall i \in Z \text{ that no backward operator reads} \\
    \text{(behind)} \quad & n_{t,i,k} \le s_{i,k} - w_{i,k} \\
    \text{(back)} \quad & \sum_k n_{t,i,k} \le m_j + N_j(t) && \forall j: (i,j) \in E \\
    \text{(away)} \quad & \sum_k n_{t,i,k} \ge 1 - m_i - \sum_{j: (i,j) \in E} (1 - m_j - N_j(t)) \\
    \text{(waits)} \quad & \sum_k g_{\tau,i,k} \ge N^-_j(\tau) - N_i(\tau), \quad
        g_{\tau,i,k} \le s_{i,k} && \forall j \in \mathrm{us}(i) \\
    \text{(memory)} \quad & \sum_{i,k} mem_{i,k}\, x_{i,k}(\tau) \le B && \forall \tau

where :math:`x_{i,k}(\tau)`, what of :math:`i` is in memory at :math:`\tau`, is :math:`s_{i,k}` on
:math:`[i, l_i]`; :math:`s_{i,k} (1 - N_i(\tau))` after that up to :math:`live_i`; and
:math:`g_{\tau,i,k}` after :math:`live_i`. Parameters and what is kept stay, as if
:math:`live_i = |V|`. Rows are named ``inputs_j_i``, ``needed_i``, ``behind_t_i_k``,
``back_t_i_j``, ``away_t_i``, ``waits_t_i_j`` and ``waits_t_j_i_u``, ``there_...`` likewise,
``memory_t`` and ``memory_t_i``. At a :math:`\tau` before the backward operators :math:`N` does
not depend on :math:`t`, and columns :math:`g` are shared; their names have the first such
:math:`\tau`.

Why it is exact: let :math:`s` and :math:`m` be binary. (back) and (away) leave :math:`N_i(t)` one
value where they hold for the users of :math:`i` and :math:`m_i = 0`: what is back is wanted by a
user that is back, and the other way round; where :math:`m_i = 1`, (behind) makes it 0. (behind)
puts it on the strategy. Memory grows with :math:`g`, which (waits) forces from below to the product
that it stands for. If :math:`i` is not computed again before :math:`t`, the row of :math:`(t, i)`
counts no more than is in memory at the computation before it, and says nothing new. So a point is
a plan with its memory at each of its computations, freed as early as it can be
(`ShardedSchedule.from_computations`).

What the optimum is worth: every plan of the reduced problem has the computations of a point, and
needs no more memory here, where values may be freed earlier; so has every plan that computes all
again but products of matrices. All points are staged schedules. Hence the optimum is between that
of the full problem and both of these. A bound of this model holds for its own plans only.

Rows (memory) and columns for backward :math:`\tau` are in the model where they are asked for: most
of them never bind, and without some the model is a relaxation. Those before are all there.

Size: :math:`O(n k + |E| k^2)` columns, and :math:`O(n k)` for each backward :math:`\tau`.
"""

# The symbols of the model are the names of the code.
# ruff: noqa: N802, N806

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.formulations.milp.integer_scale import IntegerScale
from jettison.formulations.remat_sharding.kiwi.columns import chosen_strategies, strategies_of_plan
from jettison.formulations.remat_sharding.kiwi.counted_moments import Moment
from jettison.formulations.remat_sharding.kiwi.recomputation_columns import RecomputationColumns
from jettison.instances.remat_sharding.operator import Role
from jettison.instances.remat_sharding.problem import RematSharding
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph
from jettison.schedules.remat_sharding.elementwise_recomputation import (
    ElementwiseRecomputation,
    recomputing,
)
from jettison.schedules.remat_sharding.schedule import ShardedSchedule


@dataclass(frozen=True)
class KiwiElementwiseModel:
    """Built model, with the translation between points and schedules.

    Attributes
    ----------
    sharded
        The instance.
    model
        The model.
    memory_scale, time_scale
        Scales of its bytes and nanoseconds.
    """

    sharded: ShardedGraph
    model: ArrayModel
    memory_scale: IntegerScale
    time_scale: IntegerScale

    def schedule(self, values: Mapping[str, float]) -> ShardedSchedule:
        """Return the schedule of a point: its values by the names of columns."""
        again = [
            i for i in ElementwiseRecomputation(self.sharded).recomputable if values[f"m_{i}"] < 0.5
        ]
        return ShardedSchedule.from_computations(
            self.sharded,
            chosen_strategies(self.sharded, values),
            recomputing(self.sharded, again),
        )

    def point(self, plan: ShardedSchedule) -> dict[str, float]:
        """Return the values of columns s and m for a plan of the class, by name."""
        values = strategies_of_plan(self.sharded, plan.strategies)
        times = Counter(plan.computations)
        for i in ElementwiseRecomputation(self.sharded).recomputable:
            values[f"m_{i}"] = float(times[i] == 1)
        return values


@dataclass(frozen=True)
class KiwiElementwise:
    """The model of this module.

    Attributes
    ----------
    looked_at
        The moments at backward operators at which memory is limited.
    """

    looked_at: frozenset[Moment] = frozenset()

    def build(self, problem: RematSharding) -> KiwiElementwiseModel:
        """Build the model.

        Raises
        ------
        InputError
            If a backward operator comes before one that is not.
        """
        return _Writer(problem).model(self.looked_at, problem.memory_bytes)


class _State(Enum):
    """Values of N that need no columns."""

    BACK = "0"
    AWAY = "1 - m"


# N of an operator at one t: settled, or the columns n of its strategies.
_Away = _State | tuple[int, ...]


class _Part(NamedTuple):
    """Coefficients of what one operator has in memory, and a constant."""

    columns: list[int]
    coefficients: list[float]
    constant: float = 0.0


class _Writer:
    """Writer of the columns and rows, part by part."""

    def __init__(self, problem: RematSharding) -> None:
        self.sharded = sharded = problem.instance
        self.of_class = ElementwiseRecomputation(sharded)
        self.moments = self.of_class.moments
        self.Z = frozenset(self.of_class.recomputable)
        self.H = self.moments.again_at
        self.builder = ArrayModelBuilder("kiwi_elementwise")
        self.again = RecomputationColumns(self.builder, sharded, self.of_class.recomputable)
        self.rows, self.m, self.w = self.again.rows, self.again.m, self.again.w
        # For each operator its users in Z, and those of them that may be computed again with it.
        self.users = [[j for j in users if j in self.Z] for users in sharded.users]
        self.together = [
            [j for j in users if i in self.Z and self.of_class.are_together(i, j)]
            for i, users in enumerate(self.users)
        ]
        self._away: dict[int, dict[int, _Away]] = {}
        self._later: dict[object, tuple[int, ...]] = {}
        self._add_neighbours()

    def _add_neighbours(self) -> None:
        edges = [
            (j, i)
            for i in self.of_class.recomputable
            for j in self.sharded.inputs[i]
            if j in self.Z and i not in self.together[j]
        ]
        self.again.forbid_both(edges)
        for i in self.of_class.recomputable:
            if i not in self.H:
                columns = [self.m[j] for j in self.together[i]]
                self.builder.add_row(
                    f"needed_{i}",
                    [*columns, self.m[i]],
                    [*(-1.0 for _ in columns), 1.0],
                    lower=1.0 - len(columns),
                )

    def model(self, looked_at: frozenset[Moment], memory_bytes: int) -> KiwiElementwiseModel:
        """Add the memory rows, and return the model."""
        limit = self.rows.memory_scale.to_model(memory_bytes)
        backward = [item.role is Role.BACKWARD for item in self.sharded.operators]
        first = backward.index(True) if True in backward else len(backward)
        for t in range(first):
            self._add_memory(Moment(t), limit)
        for moment in sorted(looked_at, key=lambda item: (item.t, item.again is None, item.again)):
            if moment.t >= first:
                self._add_memory(moment, limit)
        rows = self.rows
        return KiwiElementwiseModel(
            self.sharded, self.builder.build(), rows.memory_scale, rows.time_scale
        )

    def N(self, t: int) -> dict[int, _Away]:
        """Return N of each operator of Z at t, with new columns where it is not settled."""
        if t not in self._away:
            found: dict[int, _Away] = {}
            self._away[t] = found
            for i in reversed(self.of_class.recomputable):
                if self.H.get(i, len(self.sharded)) <= t:
                    found[i] = _State.BACK
                elif all(found[j] is _State.AWAY for j in self.together[i]):
                    found[i] = _State.AWAY
                else:
                    found[i] = self._add_away(t, i, found)
        return self._away[t]

    def _add_away(self, t: int, i: int, known: Mapping[int, _Away]) -> tuple[int, ...]:
        places, s = self.again.places(i), self.rows.of(i)
        columns = [self.builder.add_column(f"n_{t}_{i}_{k}", upper=1) for k in places]
        for k in places:
            self.builder.add_row(
                f"behind_{t}_{i}_{k}", [columns[k], self.w[i, k], s[k]], [1, 1, -1], upper=0
            )
        for j in self.together[i]:
            away = known[j]
            if away is _State.AWAY:
                continue
            others = () if isinstance(away, _State) else away
            self.builder.add_row(
                f"back_{t}_{i}_{j}",
                [*columns, self.m[j], *others],
                [*(1.0 for _ in columns), -1.0, *(-1.0 for _ in others)],
                upper=0,
            )
        row = dict.fromkeys([*columns, self.m[i]], 1.0)
        wanted = [j for j in self.together[i] if known[j] is not _State.AWAY]
        for j in wanted:
            away = known[j]
            row[self.m[j]] = -1.0
            row.update(dict.fromkeys(() if isinstance(away, _State) else away, -1.0))
        self.builder.add_row(
            f"away_{t}_{i}", list(row), list(row.values()), lower=1.0 - len(wanted)
        )
        return tuple(columns)

    def _add_memory(self, moment: Moment, limit: float) -> None:
        columns: list[int] = []
        coefficients: list[float] = []
        constant = 0.0
        for i in range(moment.t + (moment.again is None)):
            part = self._part(i, moment)
            columns += part.columns
            coefficients += part.coefficients
            constant += part.constant
        name = "_".join(map(str, ("memory", *_indices(moment))))
        self.builder.add_row(name, columns, coefficients, upper=limit - constant)

    def _part(self, i: int, moment: Moment) -> _Part:
        """Return what of an operator that has been computed is in memory."""
        sizes, s, t = self.rows.m[i], self.rows.of(i), moment.t
        if not any(sizes):
            return _Part([], [])
        away = self._at(i, moment, is_before=False) if i in self.Z else _State.BACK
        least = min(sizes)
        excess = [size - least for size in sizes]
        if t <= self.moments.last_forward_use[i] or t == i:
            return _Part(list(s), excess, least)
        if t <= self.moments.last_use[i]:
            if away is _State.BACK:
                return _Part(list(s), excess, least)
            if away is _State.AWAY:
                stored = [self.w[i, k] for k in self.again.places(i)]
                return _Part([*stored, self.m[i]], [*excess, least])
            assert not isinstance(away, _State)
            return _Part([*s, *away], [*excess, *(-size for size in sizes)], least)
        later = self._waiting(i, moment, away)
        return _Part(list(later), sizes if later else [])

    def _at(self, j: int, moment: Moment, is_before: bool) -> _Away:
        """Return N of an operator of Z at a moment, or before what is computed then."""
        t, again = moment
        is_done = again is None or j < again or (j == again and not is_before)
        return self.N(t if is_done else t - 1)[j]

    def _waiting(self, i: int, moment: Moment, away: _Away) -> tuple[int, ...]:
        """Return the columns g of what waits for users that are computed again later."""
        readers = {j: self._at(j, moment, is_before=True) for j in self.users[i]}
        readers = {j: N for j, N in readers.items() if N is not _State.BACK}
        if not readers:
            return ()
        key = (i, away, tuple(readers.items()))
        if key not in self._later:
            self._later[key] = self._add_waiting(i, moment, away, readers)
        return self._later[key]

    def _add_waiting(
        self, i: int, moment: Moment, away: _Away, readers: Mapping[int, _Away]
    ) -> tuple[int, ...]:
        name = "_".join(map(str, (*_indices(moment), i)))
        columns = [self.builder.add_column(f"g_{name}_{k}", upper=1) for k in self.again.places(i)]
        for k, column in enumerate(columns):
            self.again.at_most(f"there_{name}_{k}", column, self.rows.of(i)[k])
        for j, N in readers.items():
            # g - N_j + N_i >= 0, with N = 1 - m where it has no columns.
            row = dict.fromkeys(columns, 1.0)
            constant = 0.0
            for of, value, sign in ((j, N, -1.0), (i, away, 1.0)):
                if value is _State.AWAY:
                    row[self.m[of]] = row.get(self.m[of], 0.0) - sign
                    constant += sign
                elif not isinstance(value, _State):
                    row.update(dict.fromkeys(value, sign))
            self.builder.add_row(
                f"waits_{name}_{j}", list(row), list(row.values()), lower=-constant
            )
        return tuple(columns)


def _indices(moment: Moment) -> tuple[int, ...]:
    return (moment.t,) if moment.again is None else (moment.t, moment.again)
