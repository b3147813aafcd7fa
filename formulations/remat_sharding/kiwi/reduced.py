r"""KIWI's reduced problem as the paper writes it: strategies and recomputations without stages.

Source: KIWI, Section 3.2 and Appendix 7.2, equations (2)-(11) and (21)-(31).

What may be computed again, and when: `ReducedRecomputation`, whose :math:`z_i`, :math:`H_i`,
:math:`live_i` and last forward use :math:`l_i` are constants here. :math:`V` are the operators,
counted from 0, as are the moments :math:`t`; :math:`\tau_t = t + 1` is a moment as the paper counts
it, from 1. :math:`Z` are the operators that may be computed again, and
:math:`D` those that are freed at the end: all but parameters and what is kept. Backward ones of
:math:`D` are freed at :math:`live`.

Columns
-------
:math:`s` and :math:`e` of `columns`, and

==================================== ======================================================
:math:`m_i`, ``m[i]``                :math:`i` is in memory until its last use; 0 if it is
                                     computed again; for :math:`i \in Z`, and 1 elsewhere
:math:`h_i`, ``h[i]``                when :math:`i` is freed; for :math:`i \in D` not backward
:math:`hz_{ij}`, ``hz[i,j]``         user :math:`j \in Z` decides that; for :math:`j = i` the
                                     last user does, which is :math:`hz_{i0}` in print
:math:`F_{it}`, ``F[i,t]``           :math:`i` is freed after :math:`t` has run
:math:`F^+_{it}`, ``Fplus[i,t]``     it is freed later
:math:`F^-_{it}`, ``Fminus[i,t]``    it is freed earlier
:math:`U_t`, ``U[t]``                bytes in memory while :math:`t` runs, at most :math:`B`
==================================== ======================================================

:math:`m, hz, F, F^+, F^-` are binary.

Model
-----
With :math:`\mathrm{cost}_i = s_i^T (c_i + d_i) + \sum_{(j,i)} e_{ji}^T R_{ji}`, rows (21)-(23),
:math:`u_i` the number of :math:`i`'s inputs in :math:`Z`, and
:math:`P_{ij} = \tau_{H_j} (1 - m_j)`:

.. math::
    \text{(2)} \quad & \min \sum_i (1 + (1 - m_i) z_i)\, \mathrm{cost}_i \\
    \text{(3)} \quad & U_t = U_{t-1} - \mathrm{freed}_{t-1} + s_t^T mem_t
        + \mathrm{recomputed}_t && \forall t > 0 \\
    \text{(4)} \quad & U_0 = s_0^T mem_0 \\
    \text{(5)} \quad & \mathrm{recomputed}_t = \sum_{i \in Z: H_i = t} (1 - m_i) s_i^T mem_i \\
    \text{(6), (7)} \quad & \mathrm{freed}_t = \sum_i F_{it}\, s_i^T mem_i
        + \sum_{i \in Z: l_i = t} (1 - m_i) s_i^T mem_i
        + \sum_{i \in D \text{ backward}: live_i = t} s_i^T mem_i \\
    \text{(8)} \quad & U_t \le B && \forall t \\
    \text{(24)} \quad & \sum_j hz_{ij} = 1 \\
    \text{(25)} \quad & h_i \le \tau_{live_i} + |V| (1 - hz_{ii}) \\
    \text{(26)} \quad & h_i \ge \tau_{live_i} \\
    \text{(27)} \quad & h_i \le P_{ij} + |V| (1 - hz_{ij}) && \forall j \ne i \\
    \text{(28)} \quad & h_i \ge P_{ij} && \forall j \ne i \\
    \text{(29)} \quad & \tau_t F_{it} + (\tau_t + \delta) F^+_{it} \le h_i
        \le (\tau_t - \delta) F^-_{it} + \tau_t F_{it} + |V| F^+_{it} && \forall t \\
    \text{(30)} \quad & F^-_{it} + F_{it} + F^+_{it} = 1 && \forall t \\
    \text{(31)} \quad & u_i m_i + \sum_{(j,i), j \in Z} m_j \ge u_i && \forall i \in Z

(24)-(30) for :math:`i \in D` not backward. (10) and (11) are what (24)-(28) and (29)-(30) say, (9)
is (31). Rows are named ``eq3[t]`` and so on, (29) ``eq29low[i,t]`` and ``eq29high[i,t]``; (5) to
(7) are written into (3).

The products of :math:`m` and of :math:`F` with :math:`s` and :math:`e` make it quadratic
(`Bilinear`); with `Linearised` it is a linear model for HiGHS, called literal in comparisons.
`compact` is made to be fast.

Corrections of the print
------------------------
`PrintedRow` builds the wrong rows; the tests show what they do.

* (22), (23): see `columns`.
* (3): what running :math:`t` frees is freed after it, so that :math:`U_t` counts the inputs of
  :math:`t`. The print subtracts it at once, and an operator may need more than :math:`B`.
* (5) counts all that is computed again before :math:`t` together with the output of :math:`t`; the
  replay needs just that.
* :math:`m_i` is 1 for every backward operator, parameter and input; the print leaves it open, and
  a model frees parameters and computes them again in no time.
* (9) holds where :math:`z_i = 1`. An operator that no backward one reads is freed in the forward
  pass too, but not computed again, and needs no inputs: :math:`m_i = 1` in (9) and (10).
* (6) frees parameters after their last use, and what is kept; they stay.
* (10): :math:`H_j` is a constant, and defined where :math:`z_j = 1` only.
* (29): :math:`\delta` is above 0 and at most 1, here 1/2, since :math:`h` is an integer; with more
  there is no point.

Size: :math:`O(n^2)` binaries, and :math:`O(n^2 k)` products in (3).
"""

# The symbols of the model are the names of the code.
# ruff: noqa: N806

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jettison.formulations.remat_sharding.kiwi.reduced_points import (
    point_of_reduced,
    schedule_of_reduced,
)
from jettison.formulations.remat_sharding.kiwi.rows import KiwiForm, KiwiModel, KiwiRows, PrintedRow
from jettison.instances.remat_sharding.operator import Role
from jettison.instances.remat_sharding.problem import RematSharding
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph
from jettison.schedules.remat_sharding.reduced_recomputation import ReducedRecomputation
from jettison.schedules.remat_sharding.schedule import ShardedSchedule


@dataclass(frozen=True)
class KiwiReducedModel(KiwiModel):
    """Built reduced model, with the translation of its points to schedules."""

    def schedule(self, values: Mapping[str, float]) -> ShardedSchedule:
        """Return the schedule of a point: its values by the names of columns, ``s_0_1`` say."""
        return schedule_of_reduced(self.sharded, values)

    def point(self, plan: ShardedSchedule) -> dict[str, float]:
        """Return the values of columns s and m for a plan of the reduced problem, by name."""
        return point_of_reduced(self.sharded, plan)


@dataclass(frozen=True)
class KiwiReduced(KiwiForm):
    r"""KIWI's reduced problem; the model is in the docstring of this module.

    Attributes
    ----------
    delta
        The :math:`\delta` of (29), above 0 and at most 1.
    """

    delta: float = 0.5

    def build(self, problem: RematSharding) -> KiwiReducedModel:
        """Build the model.

        Raises
        ------
        InputError
            If a backward operator comes before one that is not.
        """
        return _Writer(self, problem).model()

    def estimated_columns(self, sharded: ShardedGraph) -> int:
        """Return about how many columns the model has, most of which are F; :math:`O(n)`."""
        backward = sum(item.role is Role.BACKWARD for item in sharded.operators)
        return 3 * len(sharded) * (len(sharded) - backward - len(sharded.parameters))


class _Writer(KiwiRows):
    """Writer of the columns and rows, in the order of the docstring."""

    name = "kiwi_reduced"

    def __init__(self, form: KiwiReduced, problem: RematSharding) -> None:
        super().__init__(form, problem)
        self.delta = form.delta
        self.moments = ReducedRecomputation(problem.instance)
        self._set_constants()
        self._add_columns()

    def _set_constants(self) -> None:
        moments = self.moments
        self.Z = list(moments.recomputable)
        if PrintedRow.ONCE in self.printed:
            self.Z = sorted({*self.Z, *self._read_backward(Role.PARAMETER, Role.INPUT)})
        self.H = {i: moments.first_backward_user(i) for i in self.Z}
        stays = [moments.stays(i) for i in range(self.count)]
        self.live = list(moments.last_use)
        if PrintedRow.STAYS in self.printed:
            stays = [False] * self.count
            self.live = [max((i, *users)) for i, users in enumerate(self.sharded.users)]
        is_backward = [item.role is Role.BACKWARD for item in self.sharded.operators]
        freed = [i for i in range(self.count) if not stays[i]]
        self.D = [i for i in freed if not is_backward[i]]
        self.D_backward = [i for i in freed if is_backward[i]]
        self.deciding = {i: [i, *(j for j in self.sharded.users[i] if j in self.H)] for i in self.D}

    def _read_backward(self, *roles: Role) -> list[int]:
        operators = self.sharded.operators
        return [
            i
            for i, users in enumerate(self.sharded.users)
            if operators[i].role in roles and any(operators[j].role is Role.BACKWARD for j in users)
        ]

    def _add_columns(self) -> None:
        pyo, concrete = self.pyo, self.concrete
        moments = range(self.count)
        times = [(i, t) for i in self.D for t in moments]
        concrete.m = pyo.Var(self.Z, domain=pyo.Binary)
        concrete.h = pyo.Var(self.D, bounds=(1, self.count))
        concrete.hz = pyo.Var([(i, j) for i in self.D for j in self.deciding[i]], domain=pyo.Binary)
        concrete.F = pyo.Var(times, domain=pyo.Binary)
        concrete.Fplus = pyo.Var(times, domain=pyo.Binary)
        concrete.Fminus = pyo.Var(times, domain=pyo.Binary)
        concrete.U = pyo.Var(moments, bounds=(0, self.limit))

    def model(self) -> KiwiReducedModel:
        self._add_objective()
        self._add_memory()
        self._add_times()
        self._add_inputs()
        return KiwiReducedModel(*self.built)

    def _missing(self, i: int, terms: Any) -> Any:
        """Return (1 - m_i) times a sum, with one product for each column."""
        whole = sum(amount * column for column, amount in terms)
        return whole - self.products.times(self.concrete.m[i], terms)

    def _add_objective(self) -> None:
        total = 0
        for i in range(self.count):
            terms = self.columns.costs(i)
            total += sum(amount * column for column, amount in terms)
            if i in self.H:
                total += self._missing(i, terms)
        self.concrete.eq2 = self.pyo.Objective(expr=total)

    def _add_memory(self) -> None:
        pyo, concrete, U = self.pyo, self.concrete, self.concrete.U
        sizes = self.sizes

        def size(i: int) -> Any:
            return sum(amount * column for column, amount in sizes[i])

        def recomputed(t: int) -> Any:
            return sum(self._missing(i, sizes[i]) for i in self.Z if self.H[i] == t)

        def freed(t: int) -> Any:
            at_last = sum(self.products.times(concrete.F[i, t], sizes[i]) for i in self.D)
            between = sum(
                self._missing(i, sizes[i]) for i in self.Z if self.moments.last_forward_use[i] == t
            )
            return at_last + between + sum(size(i) for i in self.D_backward if self.live[i] == t)

        at_once = PrintedRow.AT_ONCE in self.printed

        def step(_: Any, t: int) -> Any:
            gone = freed(t) if at_once else freed(t - 1)
            return U[t] == U[t - 1] - gone + size(t) + recomputed(t)

        concrete.eq4 = pyo.Constraint(expr=U[0] - (size(0) - (freed(0) if at_once else 0)) == 0)
        concrete.eq3 = pyo.Constraint(range(1, self.count), rule=step)

    def _add_times(self) -> None:
        pyo, concrete = self.pyo, self.concrete
        h, hz, m = concrete.h, concrete.hz, concrete.m
        F, Fplus, Fminus = concrete.F, concrete.Fplus, concrete.Fminus
        live, H, most, delta = self.live, self.H, self.count, self.delta
        others = [(i, j) for i in self.D for j in self.deciding[i] if j != i]
        concrete.eq24 = pyo.Constraint(
            self.D, rule=lambda _, i: sum(hz[i, j] for j in self.deciding[i]) == 1
        )
        concrete.eq25 = pyo.Constraint(
            self.D, rule=lambda _, i: h[i] <= live[i] + 1 + most * (1 - hz[i, i])
        )
        concrete.eq26 = pyo.Constraint(self.D, rule=lambda _, i: h[i] >= live[i] + 1)
        concrete.eq27 = pyo.Constraint(
            others,
            rule=lambda _, i, j: h[i] <= (H[j] + 1) * (1 - m[j]) + most * (1 - hz[i, j]),
        )
        concrete.eq28 = pyo.Constraint(others, rule=lambda _, i, j: h[i] >= (H[j] + 1) * (1 - m[j]))
        times = [(i, t) for i in self.D for t in range(self.count)]
        concrete.eq29low = pyo.Constraint(
            times,
            rule=lambda _, i, t: (t + 1) * F[i, t] + (t + 1 + delta) * Fplus[i, t] <= h[i],
        )
        concrete.eq29high = pyo.Constraint(
            times,
            rule=lambda _, i, t: (
                h[i] <= (t + 1 - delta) * Fminus[i, t] + (t + 1) * F[i, t] + most * Fplus[i, t]
            ),
        )
        concrete.eq30 = pyo.Constraint(
            times, rule=lambda _, i, t: Fminus[i, t] + F[i, t] + Fplus[i, t] == 1
        )

    def _add_inputs(self) -> None:
        m, sources = self.concrete.m, {}
        for i, inputs in enumerate(self.sharded.inputs):
            sources[i] = [j for j in inputs if j in self.H]
        rows = [i for i in self.Z if sources[i]]
        if PrintedRow.INPUTS in self.printed:
            unread = set(range(self.count)).difference(self.Z, self._read_backward(*Role))
            rows += [
                i
                for i in sorted(unread)
                if sources[i] and self.sharded.operators[i].role is Role.FORWARD
            ]

        def independent(_: Any, i: int) -> Any:
            own = m[i] if i in self.H else 0
            most = len(sources[i])
            return most * own + sum(m[j] for j in sources[i]) >= most

        self.concrete.eq31 = self.pyo.Constraint(rows, rule=independent)
