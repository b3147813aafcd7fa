r"""KIWI's reduced problem, strategies and recomputations, in exact integers.

The model of `formulations/remat_sharding/kiwi/compact.py`, whose docstring has every row and the
reasons why its points are the plans of the reduced problem. Which operators may be computed again,
and when values are freed, is said in `schedules/remat_sharding/reduced_recomputation.py`, briefly:
:math:`Z` are the forward operators that a backward one reads; :math:`i \in Z` may be computed again
right before its first backward user :math:`H_i`, not beside an input that is, and is then freed
after its last use
:math:`l_i` that is not backward. Values are freed after their last use :math:`live_i`, or the last
:math:`H_j` of a user that is computed again; parameters and what is kept stay.

All columns are binary, for in the point of a plan each is 0 or 1: ``s``, ``e`` of
`strategy_columns`, and

* ``m_i``: :math:`i \in Z` is not computed again;
* ``w_i_k``: it is not, and has strategy :math:`k`;
* ``f_j_i_a_b``: it is, and its input is resharded from the class of :math:`a` to that of
  :math:`b`, where that costs something;
* ``g_i_q_k``: :math:`i` has strategy :math:`k` and is in memory up to moment :math:`q > live_i`.

Rows, in this order: those of `strategy_columns`; ``stored_i``, ``least_i_k`` for each :math:`i` of
:math:`Z`; ``fewer_j_i_a_b``, ``again_j_i_b`` for each table; ``inputs_j_i``; ``waits_i_q_j``,
``there_i_q_k``; ``memory_t``. In (memory) a value that is there whatever is chosen counts what it
takes beyond the least of its allowed strategies, which by (one) is no other row; and rows of
moments whose values are all there at the next one too are left out.

Version 1. No options.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import CertificateError
from ..header_fields import Fields, integer_field, only_fields
from ..integer_model import IntegerModel
from ..stated_model import StatedModel
from .given_sharded_graph import GivenShardedGraph
from .strategy_columns import StrategyColumns

# Operators times moments: what the rows of memory may cost.
_MOST_STEPS = 20_000_000

# Kinds of parts of a lifetime besides the moment up to which a value waits.
_ALL, _STORED = -1, -2

# An operator, and the kind of a part of its lifetime.
_Part = tuple[int, int]


def kiwi_reduced_compact(instance: Fields, resources: Fields, options: Fields) -> StatedModel:
    """Build the model; linear in its size.

    Raises
    ------
    CertificateError
        If the instance is no sharded graph, a backward operator comes before one that is not, or
        the memory or an option is not what the model needs.
    """
    only_fields(resources, {"memory_bytes"}, "resources")
    only_fields(options, set(), "the formulation")
    sharded = GivenShardedGraph.from_json(instance)
    if len(sharded) ** 2 > _MOST_STEPS:
        raise CertificateError(f"{len(sharded)} operators are too many to check")
    writer = _Writer(_Moments(sharded))
    writer.add_recomputation()
    writer.add_waiting()
    writer.add_memory(integer_field(resources, "memory_bytes"))
    return StatedModel(writer.model, "kiwi-reduced")


class _Moments:
    """Times at which values are computed again and freed: H of each operator of Z, l and live."""

    def __init__(self, sharded: GivenShardedGraph) -> None:
        self.sharded = sharded
        is_backward = [operator.role == "backward" for operator in sharded.operators]
        if is_backward != sorted(is_backward):
            raise CertificateError("an operator that is not backward comes after a backward one")
        self.again_at: dict[int, int] = {}
        self.last_forward_use: list[int] = []
        self.last_use: list[int] = []
        for i, (operator, users) in enumerate(zip(sharded.operators, sharded.users, strict=True)):
            backward = [j for j in users if is_backward[j]]
            if operator.role == "forward" and backward:
                self.again_at[i] = backward[0]
            forward = [j for j in users if not is_backward[j]]
            self.last_forward_use.append(max(forward, default=i))
            stays = operator.keep or operator.role == "parameter"
            self.last_use.append(len(sharded) if stays else max(users, default=i))


class _Writer:
    """Adds the columns and the rows, part by part."""

    def __init__(self, moments: _Moments) -> None:
        self.moments = moments
        self.sharded = moments.sharded
        self.Z = moments.again_at
        self.model = IntegerModel()
        times = [2 if i in self.Z else 1 for i in range(len(self.sharded))]
        self.choices = StrategyColumns(self.model, self.sharded, times)
        self.m: dict[int, int] = {}
        self.w: dict[tuple[int, int], int] = {}
        self.g: dict[tuple[int, int, int], int] = {}
        self.waits: list[list[int]] = []

    def add_recomputation(self) -> None:
        model, choices = self.model, self.choices
        for i in self.Z:
            self.m[i] = model.add_column(f"m_{i}", 0, 1)
            for k in self._places(i):
                cost = -choices.cost_ns(i, k)
                self.w[i, k] = model.add_column(f"w_{i}_{k}", 0, 1, cost=cost)
            stored = [self.w[i, k] for k in self._places(i)]
            model.equal(f"stored_{i}", [*stored, self.m[i]], [*([1] * len(stored)), -1], 0)
            for k in self._places(i):
                self._at_most(f"least_{i}_{k}", self.w[i, k], choices.of(i)[k])
        for j, i in sorted(self.sharded.tables):
            if i in self.Z:
                self._reshard_again(j, i)
        for i in self.Z:
            for j in self.sharded.operators[i].inputs:
                if j in self.Z:
                    model.at_least(f"inputs_{j}_{i}", [self.m[j], self.m[i]], [1, 1], 1)

    def _places(self, i: int) -> range:
        return range(len(self.sharded.operators[i].cost_ns))

    def _at_most(self, name: str, column: int, other: int) -> None:
        self.model.at_least(name, [other, column], [1, -1], 0)

    def _reshard_again(self, j: int, i: int) -> None:
        operators, table = self.sharded.operators, self.sharded.tables[j, i]
        pair = self.choices.e.get((operators[j].leader, operators[i].leader))
        if pair is None or not any(cost for row in table for cost in row):
            return
        for place, readers in enumerate(pair.columns):
            b = readers[0]
            columns = [self.w[i, k] for k in readers]
            coefficients = [1] * len(readers)
            columns += [self.choices.of(i)[k] for k in readers]
            coefficients += [-1] * len(readers)
            for same, of_row in zip(pair.rows, pair.e, strict=True):
                a, column = same[0], of_row[place]
                cost = table[a][b]
                if cost:
                    again = self.model.add_column(f"f_{j}_{i}_{a}_{b}", 0, 1, cost=cost)
                    self._at_most(f"fewer_{j}_{i}_{a}_{b}", again, column)
                    column = again
                columns.append(column)
                coefficients.append(1)
            self.model.at_least(f"again_{j}_{i}_{b}", columns, coefficients, 0)

    def add_waiting(self) -> None:
        for i, users in enumerate(self.sharded.users):
            live = self.moments.last_use[i]
            late = [j for j in users if self.Z.get(j, live) > live]
            self.waits.append(sorted({self.Z[j] for j in late}))
            for q in self.waits[i]:
                for k in self._places(i):
                    self.g[i, q, k] = self.model.add_column(f"g_{i}_{q}_{k}", 0, 1)
                columns = [self.g[i, q, k] for k in self._places(i)]
                for j in (j for j in late if self.Z[j] >= q):
                    ones = [1] * (len(columns) + 1)
                    self.model.at_least(f"waits_{i}_{q}_{j}", [*columns, self.m[j]], ones, 1)
                for k in self._places(i):
                    self._at_most(f"there_{i}_{q}_{k}", self.g[i, q, k], self.choices.of(i)[k])

    def add_memory(self, memory_bytes: int) -> None:
        count = len(self.sharded)
        begins: list[list[_Part]] = [[] for _ in range(count + 1)]
        ends: list[list[_Part]] = [[] for _ in range(count)]
        for i in range(count):
            for first, last, kind in self._parts(i):
                if first <= last:
                    begins[first].append((i, kind))
                    ends[last].append((i, kind))
        # For each part of a lifetime in memory, the size that it always counts, and its terms.
        present: dict[_Part, tuple[int, dict[int, int]]] = {}
        for t in range(count):
            for part in begins[t]:
                present[part] = self._size(*part)
            # All that is in memory at t is there at t + 1 too, and counts at least as much.
            is_within = t + 1 < count and all((i, _ALL) in begins[t + 1] for i, _ in ends[t])
            if not is_within:
                terms = [term for _, terms in present.values() for term in terms.items()]
                self.model.at_most(
                    f"memory_{t}",
                    [column for column, _ in terms],
                    [size for _, size in terms],
                    memory_bytes - sum(least for least, _ in present.values()),
                )
            for part in ends[t]:
                del present[part]

    def _size(self, i: int, kind: int) -> tuple[int, dict[int, int]]:
        """Return the size that a part of a lifetime always counts, and the rest by column."""
        places = self.choices.allowed(i)
        sizes = self.sharded.operators[i].memory_bytes
        least = min((sizes[k] for k in places), default=0)
        if kind == _ALL:
            terms = {self.choices.of(i)[k]: sizes[k] - least for k in places}
        elif kind == _STORED:
            terms = {self.w[i, k]: sizes[k] - least for k in places} | {self.m[i]: least}
        else:
            terms = {self.g[i, kind, k]: sizes[k] for k in places}
        known = least if kind == _ALL else 0
        return known, {column: size for column, size in terms.items() if size}

    def _parts(self, i: int) -> Iterator[tuple[int, int, int]]:
        """Yield first and last moment of each part of a lifetime, in order, and its kind."""
        if not any(self.sharded.operators[i].memory_bytes):
            return
        end = min(self.moments.last_use[i], len(self.sharded) - 1)
        if i in self.Z:
            last_forward = self.moments.last_forward_use[i]
            yield i, last_forward, _ALL
            yield last_forward + 1, self.Z[i] - 1, _STORED
            yield self.Z[i], end, _ALL
        else:
            yield i, end, _ALL
        for q in self.waits[i]:
            yield end + 1, q, q
            end = q
