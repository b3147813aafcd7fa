r"""Branch and bound for a proof, with the node of the least bound first.

The target is known: a node is closed once it proves that no point in it has an objective of the
threshold or less. As the node of the least bound is branched first, that least bound rises, and is
proved whenever the search ends. A smaller claim needs only a part of the tree: an inner node whose
own bound suffices becomes a leaf.

At the root, multipliers whose bound comes close to the threshold fix columns: a column whose other
values would raise the bound above the threshold has the value that the bound takes. Fixings for one
threshold hold for every smaller one.

An integer point up to the threshold, checked exactly, shows that the claim is false; the threshold
is then lowered to just below its value, so that the search ends with the least value of the model.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from itertools import count
from threading import Event

import numpy as np

from jettison.certificates.integer_model import IntegerModel
from jettison.solvers.core.clock import Clock
from jettison.solvers.proof.branching import Branching, Fraction, gain_of
from jettison.solvers.proof.exact_rows import (
    Evaluation,
    ExactRows,
    Floats,
    Integers,
    Multipliers,
    integers,
)
from jettison.solvers.proof.linear_program import LinearProgram, LpAnswer, LpStatus
from jettison.solvers.proof.new_rows import NewRow
from jettison.solvers.proof.objective import Objective
from jettison.solvers.proof.params import PROOF, ProofParams
from jettison.solvers.proof.proof_lines import Attempt, Ending, Proof
from jettison.solvers.proof.proof_text import ProofText
from jettison.solvers.proof.tree import Fixing, Node, write_tree

_INTEGRALITY = 1e-6
_RAY_BITS = 30
_MOST_MULTIPLIER = 2.0**120


class ProofSearch:
    """One search by branch and bound for a proof.

    Parameters
    ----------
    model, derived
        The model, and rows that it implies.
    time_ns
        The time that no point beats, as claimed; None to prove that there is no point.
    bits
        Bits of multipliers after the point.
    clock, stop
        Time limit and stop signal.
    params
        How columns are fixed and chosen, and how large the tree may become.
    """

    def __init__(
        self,
        model: IntegerModel,
        derived: Sequence[NewRow],
        time_ns: int | None,
        bits: int,
        clock: Clock,
        stop: Event,
        params: ProofParams = PROOF,
    ) -> None:
        self._params = params
        self._model, self._derived = model, derived
        self._rows = ExactRows(model)
        self._rows.append(derived)
        self._time_ns, self._bits = time_ns, bits
        self._clock, self._stop = clock, stop
        self._objective = Objective(model)
        self._threshold = (
            None if time_ns is None else self._objective.to_beat(time_ns) << self._bits
        )
        self._lower, self._upper = self._rows.lower.copy(), self._rows.upper.copy()
        self._fixings: list[Fixing] = []
        self._branching = Branching(self._rows.num_columns, params)
        self._num_multipliers = 0
        self._is_false = False
        self._root = Node(None)
        self._rest(self._root, Multipliers.none(), self._lower, self._upper)
        self._order = count()

    def run(self) -> Attempt:
        """Search until the claim is proved, or the time ends."""
        self._search_root()
        ending: Ending | None = None
        waiting: list[tuple[int, int, Node]] = []
        self._push(waiting, self._root)
        while ending is None and waiting:
            node = waiting[0][2]
            if node.is_closed(self._threshold):
                # The other nodes prove more.
                break
            if self._stop.is_set():
                ending = Ending.INTERRUPTED
            elif not self._clock.left_s:
                ending = Ending.TIME_LIMIT
            elif not node.fractions:
                ending = Ending.PRECISION
            elif self._num_multipliers > self._params.most_multipliers:
                ending = Ending.SIZE_LIMIT
            elif self._is_false and self._threshold is None:
                ending = Ending.FALSE
            else:
                heapq.heappop(waiting)
                self._branch(node)
                for child in node.children:
                    self._push(waiting, child)
        if self._is_false and (ending is None or self._threshold is None):
            ending = Ending.FALSE
        return Attempt(self._proof(waiting), ending or Ending.PROVED)

    def _push(self, waiting: list[tuple[int, int, Node]], node: Node) -> None:
        if not node.is_closed(self._threshold):
            assert node.value is not None, "a node without points is closed"
            heapq.heappush(waiting, (node.value, next(self._order), node))

    def _search_root(self) -> None:
        """Solve the root's relaxation, and fix columns as long as enough are fixed."""
        while True:
            self._program = self._relaxation()
            self._look_at(self._root, self._lower, self._upper)
            evaluation = self._evaluated(self._root, self._lower, self._upper)
            if self._root.is_closed(self._threshold) or self._threshold is None:
                return
            fixed = self._fixable(evaluation)
            if not fixed:
                return
            num_free = int((self._lower < self._upper).sum())
            assert self._root.value is not None
            self._fixings.append(Fixing(self._root.multipliers, self._root.value, fixed))
            for column, value in fixed:
                self._lower[column] = self._upper[column] = value
            self._rest(self._root, self._root.multipliers, self._lower, self._upper)
            if not self._clock.left_s or self._stop.is_set():
                return
            most = self._params.most_fixings
            if len(self._fixings) >= most or len(fixed) < self._params.share_fixed * num_free:
                self._look_at(self._root, self._lower, self._upper)
                return

    def _relaxation(self) -> LinearProgram:
        first = None if not self._fixings else self._root.multipliers.rows
        program = LinearProgram(
            self._rows,
            self._lower,
            self._upper,
            with_costs=self._threshold is not None,
            first=first,
        )
        self._set_cutoff(program)
        return program

    def _set_cutoff(self, program: LinearProgram) -> None:
        if self._threshold is not None:
            value = self._threshold / 2**self._bits
            # Rounded multipliers prove a little less.
            program.set_cutoff(value + 1e-5 * max(1.0, abs(value)))

    def _fixable(self, evaluation: Evaluation) -> list[tuple[int, int]]:
        """Return the columns whose other values would raise the bound above the threshold."""
        assert self._threshold is not None
        reduced = evaluation.reduced_costs
        step = np.abs(reduced)
        # Columns that are fixed already have equal bounds.
        free = self._rows.is_integer & (self._lower < self._upper) & (reduced != 0)
        room = self._threshold - evaluation.value
        found = np.flatnonzero(free & (step > room))
        values = np.where(reduced > 0, self._lower, self._upper)
        return [(int(column), int(values[column])) for column in found]

    def _branch(self, node: Node) -> None:
        """Branch a node and look at both children."""
        lower, upper = self._bounds_of(node)
        self._program.set_bounds(lower, upper)
        self._program.basis = node.basis
        missing = self._missing(node)
        fraction = self._branching.choose(
            node.fractions, self._program, (lower, upper), node.relaxed, missing, self._clock
        )
        column, split = fraction.column, math.floor(fraction.value)
        low, high = int(lower[column]), int(upper[column])
        children = []
        for side, limits in enumerate(((low, split), (split + 1, high))):
            child = Node(node, column, *limits)
            lower[column], upper[column] = limits
            # The parent's multipliers hold here, and prove more where bounds are narrower.
            self._rest(child, node.multipliers, lower, upper)
            self._program.basis = node.basis
            answer = self._look_at(child, lower, upper)
            self._branching.learn(fraction, side, gain_of(answer, node.relaxed, missing))
            children.append(child)
        node.branched_at, node.children = (column, split), tuple(children)
        node.basis, node.fractions = None, []

    def _missing(self, node: Node) -> float:
        """Return how much the bound of a node must rise for it to be closed."""
        if self._threshold is None or node.value is None:
            return 1.0
        return max(1e-9, float(self._threshold - node.value) / 2.0**self._bits)

    def _bounds_of(self, node: Node) -> tuple[Integers, Integers]:
        lower, upper = self._lower.copy(), self._upper.copy()
        node.apply(lower, upper)
        return lower, upper

    def _look_at(self, node: Node, lower: Integers, upper: Integers) -> LpAnswer:
        """Solve a node's relaxation, and judge its multipliers and its point."""
        self._program.set_bounds(lower, upper)
        answer = self._program.solve_fully(self._clock)
        node.relaxed = answer.value
        if self._threshold is not None:
            self._judge(node, self._rounded(self._program.multipliers()), lower, upper)
        if node.is_closed(self._threshold):
            return answer
        if answer.status is LpStatus.EMPTY and self._is_empty(node, lower, upper):
            return answer
        point = self._program.point()
        node.basis = self._program.basis
        node.fractions = self._fractions(point, lower, upper)
        if not node.fractions:
            self._look_at_point(node, np.rint(point), lower, upper)
        return answer

    def _rest(self, node: Node, multipliers: Multipliers, lower: Integers, upper: Integers) -> None:
        """Give a node its multipliers and the bound that they prove."""
        if self._threshold is not None:
            value = self._rows.evaluate(multipliers, lower, upper, self._bits).value
            node.multipliers, node.value = multipliers, value

    def _judge(
        self, node: Node, multipliers: Multipliers, lower: Integers, upper: Integers
    ) -> None:
        """Give a node these multipliers if they prove more than its own."""
        value = self._rows.evaluate(multipliers, lower, upper, self._bits).value
        if node.value is not None and value > node.value:
            self._num_multipliers += len(multipliers.rows)
            node.multipliers, node.value = multipliers, value

    def _evaluated(self, node: Node, lower: Integers, upper: Integers) -> Evaluation:
        return self._rows.evaluate(node.multipliers, lower, upper, self._bits)

    def _is_empty(self, node: Node, lower: Integers, upper: Integers) -> bool:
        """Close a node if a ray of either sign proves that it has no point."""
        ray = self._program.ray()
        if ray is None:
            return False
        ray = np.where(np.isfinite(ray), ray, 0.0)
        largest = float(np.abs(ray).max(initial=0.0))
        if not largest:
            return False
        scaled = np.ldexp(ray / largest, _RAY_BITS)
        return any(
            self._empties(node, self._clipped(sign * scaled), lower, upper) for sign in (1, -1)
        )

    def _empties(
        self, node: Node, multipliers: Multipliers, lower: Integers, upper: Integers
    ) -> bool:
        """Close a node if multipliers prove that it has no point."""
        if self._rows.evaluate(multipliers, lower, upper, None).value <= 0:
            return False
        self._num_multipliers += len(multipliers.rows)
        node.multipliers, node.value = multipliers, None
        return True

    def _rounded(self, duals: Floats) -> Multipliers:
        # No model has multipliers beyond this; NaN is left out as well.
        sensible = np.abs(duals) < _MOST_MULTIPLIER
        return self._clipped(np.ldexp(np.where(sensible, duals, 0.0), self._bits))

    def _clipped(self, duals: Floats) -> Multipliers:
        """Return multipliers rounded to integers, at least 0 on inequalities."""
        values = np.rint(duals)
        values[(values < 0) & ~self._rows.is_equation] = 0.0
        rows = np.flatnonzero(values)
        return Multipliers(
            rows.astype(np.int32), integers([int(value) for value in values[rows].tolist()])
        )

    def _fractions(self, point: Floats, lower: Integers, upper: Integers) -> list[Fraction]:
        free = np.flatnonzero(self._rows.is_integer & (lower < upper))
        distance = np.abs(point[free] - np.rint(point[free]))
        found = free[distance > _INTEGRALITY]
        return [Fraction(int(column), float(point[column])) for column in found]

    def _look_at_point(self, node: Node, point: Floats, lower: Integers, upper: Integers) -> None:
        """Judge a point without fractions; if it breaks a row, branch at any column left."""
        rows = self._rows
        free = np.flatnonzero(rows.is_integer & (lower < upper))
        if rows.is_integer.all():
            exact = np.clip(integers([int(value) for value in point.tolist()]), lower, upper)
            broken = rows.broken_by(exact)
            if broken is None and self._contradicts(rows.cost_of(exact)):
                return
            if not len(free) and broken is None:
                self._judge(node, Multipliers.none(), lower, upper)
            elif not len(free) and broken is not None:
                row, sign = broken
                multipliers = Multipliers(np.array([row], np.int32), np.array([sign]))
                self._empties(node, multipliers, lower, upper)
        node.fractions = [
            Fraction(int(column), min(max(point[column], lower[column]), upper[column] - 1) + 0.5)
            for column in free[:1]
        ]

    def _contradicts(self, cost: int) -> bool:
        """Tell whether a point of the model contradicts the claim, and lower the claim if so."""
        if self._threshold is None or self._time_ns is None:
            self._is_false = True
            return True
        if cost << self._bits > self._threshold:
            return False
        self._is_false = True
        self._time_ns = min(
            self._time_ns, self._objective.proved_ns(cost << self._bits, self._bits)
        )
        self._threshold = self._objective.to_beat(self._time_ns) << self._bits
        self._set_cutoff(self._program)
        return True

    def _proof(self, waiting: list[tuple[int, int, Node]]) -> Proof | None:
        """Return the proof of the largest claim that all leaves prove."""
        time_ns, threshold = self._time_ns, None
        if time_ns is None:
            if waiting or self._is_false:
                return None
        else:
            if waiting:
                time_ns = min(time_ns, self._objective.proved_ns(waiting[0][0], self._bits))
            threshold = self._objective.to_beat(time_ns) << self._bits
        text = ProofText(self._rows.num_rows)
        for row in self._derived:
            text.derive(row.record)
        write_tree(text, self._fixings, self._root, threshold, self._model.column_names)
        return Proof(time_ns, self._bits, text.finish(), text.num_bytes, text.leaves)
