r"""Compact form of KIWI's reduced problem: only strategies and recomputations are integer.

The points of `reduced` without its columns for times: what is in memory at :math:`t` is said
at once. Symbols are those of `reduced`; :math:`l_i` is the last forward use of :math:`i`.

Columns
-------
=================================== =======================================================
:math:`s_{i,k}`, ``s_i_k``          strategies, binary; followers have none of their own
:math:`m_i`, ``m_i``                :math:`i \in Z` is not computed again; binary
:math:`e_{ji,ab}`, ``e_j_i_a_b``    pairs of strategies of edges with a table; from 0 to 1
:math:`w_{i,k}`, ``w_i_k``          :math:`s_{i,k} m_i` for :math:`i \in Z`; from 0 to 1
:math:`f_{ji,ab}`, ``f_j_i_a_b``    :math:`e_{ji,ab} (1 - m_i)` for :math:`i \in Z` where it
                                    costs something; from 0 to 1
:math:`g_{i,q,k}`, ``g_i_q_k``      :math:`i` has strategy :math:`k` and is in memory up to
                                    moment :math:`q > live_i`, for a user that is computed
                                    again then or later; from 0 to 1
=================================== =======================================================

:math:`q` runs over the distinct :math:`H_j > live_i` of users :math:`j \in Z`. Parameters and what
is kept have no :math:`g`: they stay.

Model
-----
With :math:`X_{ji} = R_{ji}` and sums over what is allowed:

.. math::
    \text{(objective)} \quad & \min \sum_{i,k} (c + d)_{i,k} \bigl(s_{i,k}
        + [i \in Z] (s_{i,k} - w_{i,k})\bigr)
        + \sum_{(j,i),a,b} X_{ji,ab} \bigl(e_{ji,ab} + [i \in Z] f_{ji,ab}\bigr) \\
    \text{(one)} \quad & \sum_k s_{i,k} = 1 \\
    \text{(from)} \quad & \sum_b e_{ji,ab} = s_{j,a} \\
    \text{(to)} \quad & \sum_a e_{ji,ab} = s_{i,b} \\
    \text{(stored)} \quad & \sum_k w_{i,k} = m_i, \quad w_{i,k} \le s_{i,k} && \forall i \in Z \\
    \text{(again)} \quad & \sum_{a: X_{ji,ab} > 0} f_{ji,ab} + \sum_{a: X_{ji,ab} = 0} e_{ji,ab}
        \ge s_{i,b} - w_{i,b}, \quad f_{ji,ab} \le e_{ji,ab} && \forall i \in Z \\
    \text{(inputs)} \quad & m_j + m_i \ge 1 && \forall (j,i),\; i, j \in Z \\
    \text{(waits)} \quad & \sum_k g_{i,q,k} \ge 1 - m_j, \quad g_{i,q,k} \le s_{i,k}
        && \forall i, q,\; \forall j: H_j \ge q \\
    \text{(memory)} \quad & \sum_{i,k} mem_{i,k}\, x_{i,k}(t) \le B && \forall t

where :math:`x_{i,k}(t)` is what of :math:`i` is in memory at :math:`t`: :math:`s_{i,k}` on
:math:`[i, l_i]` and :math:`[H_i, live_i]`, :math:`w_{i,k}` between :math:`l_i` and :math:`H_i`, for
:math:`i \in Z`; :math:`s_{i,k}` on :math:`[i, live_i]` for the others; and :math:`g_{i,q,k}` after
:math:`live_i` and the :math:`q` before, up to :math:`q`. Rows are named ``one_i``,
``from_j_i_a``, ``to_j_i_b``, ``stored_i``, ``least_i_k``, ``again_j_i_b``,
``fewer_j_i_a_b``, ``inputs_j_i``, ``waits_i_q_j``, ``there_i_q_k``, ``memory_t``.

Why it is exact: where :math:`s` and :math:`m` are binary, :math:`e`, with both marginals given, is
their product; :math:`w` is at most :math:`s` and has one unit where :math:`m_i = 1`, so it is the
product; (again) and (waits) force :math:`f` and :math:`g` from below to the products that they
stand for, and nothing gains from more. Hence only :math:`s` and :math:`m` need be integer, and
(31), whose rows with a large factor say only that of two neighbours in :math:`Z` one is not
computed again, is written tightly.

Rows (memory) at a moment whose values are all still there at the next one are left out. In the
others :math:`\sum_k mem_{i,k} s_{i,k}` counts the excess over the smallest strategy, and
:math:`\sum_k mem_{i,k} w_{i,k}` the same and the smallest times :math:`m_i`: fewer coefficients.

Columns s and e, with their rows, are those of `strategy_columns`: one set for operators that have
one choice together, and one for strategies that all tables between two choices treat alike; then
:math:`s` and :math:`w` in (from), (to) and (again) are sums.

Size: :math:`O(n k + |E| k^2)` columns; the rows (memory) have :math:`O(n^2 k)` coefficients.
"""

# The symbols of the model are the names of the code.

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import assert_never

import numpy as np

from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.formulations.milp.integer_scale import IntegerScale
from jettison.formulations.remat_graph.checkmate import Peak, Time
from jettison.formulations.remat_sharding.kiwi.lifetimes import (
    ALWAYS,
    STORED,
    lifetimes,
    moments_that_count,
    waits_of,
)
from jettison.formulations.remat_sharding.kiwi.recomputation_columns import RecomputationColumns
from jettison.formulations.remat_sharding.kiwi.reduced_points import (
    point_of_reduced,
    schedule_of_reduced,
)
from jettison.instances.remat_sharding.problem import RematSharding
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph
from jettison.schedules.remat_sharding.reduced_recomputation import ReducedRecomputation
from jettison.schedules.remat_sharding.schedule import ShardedSchedule


@dataclass(frozen=True)
class KiwiReducedCompactModel:
    """Built compact model, with the translation between points and schedules.

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
        return schedule_of_reduced(self.sharded, values)

    def point(self, plan: ShardedSchedule) -> dict[str, float]:
        """Return the values of columns s and m for a plan of the reduced problem, by name."""
        return point_of_reduced(self.sharded, plan)


@dataclass(frozen=True)
class KiwiReducedCompact:
    """Compact form of KIWI's reduced problem; the model is in the docstring of this module.

    Attributes
    ----------
    objective
        The time, or the memory that is needed: then :math:`B` is a column ``B``, and time costs
        nothing.
    """

    objective: Time | Peak = field(default_factory=Time)

    def build(self, problem: RematSharding) -> KiwiReducedCompactModel:
        """Build the model; about 1 µs for each coefficient.

        Raises
        ------
        InputError
            If a backward operator comes before one that is not.
        """
        writer = _Writer(problem)
        writer.add_waiting()
        model = writer.model(self.objective, problem.memory_bytes)
        return KiwiReducedCompactModel(
            problem.instance, model, writer.rows.memory_scale, writer.rows.time_scale
        )


class _Writer:
    """Writer of the columns and rows, part by part."""

    def __init__(self, problem: RematSharding) -> None:
        self.sharded = sharded = problem.instance
        self.moments = ReducedRecomputation(sharded)
        self.Z = self.moments.again_at
        self.builder = ArrayModelBuilder("kiwi_reduced_compact")
        self.again = RecomputationColumns(self.builder, sharded, self.Z)
        self.again.forbid_both((j, i) for i in self.Z for j in sharded.inputs[i] if j in self.Z)
        self.rows, self.m, self.w = self.again.rows, self.again.m, self.again.w
        self.g: dict[tuple[int, int, int], int] = {}
        self.waits = waits_of(sharded, self.moments)

    def add_waiting(self) -> None:
        for i, waits in self.waits.items():
            for q, users in waits.items():
                for k in self.again.places(i):
                    self.g[i, q, k] = self.builder.add_column(f"g_{i}_{q}_{k}", upper=1)
                columns = [self.g[i, q, k] for k in self.again.places(i)]
                for j in users:
                    ones = [1.0] * (len(columns) + 1)
                    self.builder.add_row(f"waits_{i}_{q}_{j}", [*columns, self.m[j]], ones, lower=1)
                for k in self.again.places(i):
                    self.again.at_most(f"there_{i}_{q}_{k}", self.g[i, q, k], self.rows.of(i)[k])

    def model(self, objective: Time | Peak, memory_bytes: int) -> ArrayModel:
        """Add the memory rows, and return the model."""
        limit = self.rows.memory_scale.to_model(memory_bytes)
        match objective:
            case Time():
                self._add_memory(limit, None)
                return self.builder.build()
            case Peak(at_least_bytes):
                least = self.rows.memory_scale.to_model(at_least_bytes)
                peak = self.builder.add_column("B", lower=least, upper=limit)
                self._add_memory(0.0, peak)
                built = self.builder.build()
                costs = np.zeros(built.num_columns)
                costs[peak] = 1
                return replace(built, objective=costs)
            case other:
                assert_never(other)

    def _add_memory(self, limit: float, peak: int | None) -> None:
        parts = lifetimes(self.sharded, self.moments, self.waits)
        # For each moment the parts of lifetimes that are in memory, as (operator, kind).
        present: list[list[tuple[int, int]]] = [[] for _ in self.sharded.operators]
        for i, of_operator in enumerate(parts):
            for part in of_operator if any(self.rows.m[i]) else ():
                for t in range(part.first, part.last + 1):
                    present[t].append((i, part.kind))
        for t in moments_that_count(parts, self.sharded):
            columns: list[int] = []
            coefficients: list[float] = []
            constant = 0.0
            for i, kind in sorted(present[t]):
                sizes = dict(enumerate(self.rows.m[i]))
                least = min(sizes.values())
                if kind == ALWAYS:
                    constant += least
                    terms = {self.rows.of(i)[k]: size - least for k, size in sizes.items()}
                elif kind == STORED:
                    terms = {self.w[i, k]: size - least for k, size in sizes.items()}
                    terms[self.m[i]] = least
                else:
                    terms = {self.g[i, kind, k]: size for k, size in sizes.items()}
                columns.extend(terms)
                coefficients.extend(terms.values())
            if peak is not None:
                columns.append(peak)
                coefficients.append(-1.0)
            self.builder.add_row(f"memory_{t}", columns, coefficients, upper=limit - constant)
