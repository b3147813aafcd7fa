r"""AGG: a lower bound on the time of weight offloading with O(L) columns and rows.

Source: relaxes the problem of the paper on weight offloading as its MILP does (Section 6), but
keeps inventories of all layers together in place of one for each layer. Neither bound is above the
other on all instances.

Operations :math:`k`, intervals, :math:`b_i`, :math:`f_i` and :math:`e_k` are those of
`weight_offload_milp`; :math:`l(k)` is the layer of operation :math:`k`, and
:math:`E_k = \sum_i |w_i| + e_k - M` is what has to be absent when it starts. Layers fall into
classes :math:`G`, each with inventories of its own. `Fluid` has one class. `Whole` has two: the
layers of the most frequent size :math:`w`, which move as a whole, and all others.

Columns
-------
================================ ===============================================================
:math:`y^0_i`, ``y0_i``          layer :math:`i` is absent between :math:`B_i` and :math:`F_i`
:math:`y^1_i`, ``y1_i``          it is absent between :math:`F_i` and :math:`B_i`
:math:`c_i`, ``c_i``             it is uploaded for :math:`y^1` only
:math:`z_k`, ``idle_k``          what the link could carry in the idle time after operation k
:math:`A^G_l`, ``A_G_l``         size of the layers that may be absent when an operation of
                                 layer :math:`l` starts
:math:`W^G_l`, ``W_G_l``         size of the layers :math:`i \ge l` with :math:`c_i`
:math:`N_l, R_l`, ``N_l, R_l``   of the layers that may be absent: the number of those of size
                                 :math:`w`, and what the others count for in blocks of size
                                 :math:`w`
:math:`P^G_k`, ``P_G_k``         what is prefetched in interval :math:`k`
:math:`U^G_k`, ``U_G_k``         what is uploaded of layers with :math:`y^0`
:math:`V^G_k`, ``V_G_k``         what is uploaded of layers with :math:`c`
:math:`h^G_k`, ``h_G_k``         what is prefetched when operation :math:`k` starts, of layers whose
                                 own operation comes later
:math:`g^G_k`, ``g_G_k``         what is not uploaded by then, of layers with :math:`y^0`, after
                                 their :math:`B_i`
:math:`r^G_k`, ``r_G_k``         the same of layers with :math:`c`
:math:`q^G_k`, ``q_G_k``         the part of it whose :math:`F_i` has begun
:math:`H_k`, ``H_k``             layers of size :math:`w` on their way back
:math:`Q_k`, ``Q_k``             those that wait for their upload
================================ ===============================================================

:math:`y` are binary, :math:`H, Q` are integers and exist for `Whole` only; the rest is continuous
and at least 0.

Model
-----
.. math::
    \text{(objective)} \quad & \min \sum_k z_k \quad (= \beta (T - \textstyle\sum_k u_k)) \\
    \text{absent} \quad & A^G_1 = \sum_{i > 1} |w_i| y^0_i,\quad
        A^G_{l+1} = A^G_l - |w_{l+1}| y^0_{l+1} + |w_l| y^1_l \\
    \text{window} \quad & W^G_l = W^G_{l+1} + |w_l| c_l, \quad W^G_{L+1} = 0 \\
    \text{once} \quad & c_i \ge y^1_i - y^0_i \\
    \text{out} \quad & \sum_G (U^G_k + V^G_k) - z_k \le \beta u_k \\
    \text{in} \quad & \sum_G P^G_k - z_k \le \beta u_k \\
    \text{ahead} \quad & h^G_{k+1} = h^G_k + P^G_k - n_{k+1}, \quad
        n_{b_i} = |w_i| y^1_i,\; n_{f_i} = |w_i| y^0_i \\
    \text{early} \quad & g^G_{k+1} = g^G_k + [k = b_i] |w_i| y^0_i - U^G_k \\
    \text{late} \quad & r^G_{k+1} = r^G_k + [k = b_i] |w_i| c_i - V^G_k \\
    \text{past} \quad & q^G_k \ge r^G_k - W^G_l \; (k = f_l), \quad
        q^G_k \ge r^G_k - W^G_{l+1} \; (k = b_l) \\
    \text{apart} \quad & g^G_{b_i+1} + r^G_{b_i+1} + z_{b_i} \ge |w_i| (y^0_i + c_i) \\
    \text{present} \quad & A^G_{l(k)} - h^G_k - g^G_k - q^G_k \ge 0 \\
    \text{memory} \quad & \sum_G (A^G_{l(k)} - h^G_k - g^G_k - q^G_k) \ge E_k
        \quad (E_k > 0)

with inventories of the class of layer :math:`i` in (apart). `Whole` has, for the class of size
:math:`w` in place of the last two,

.. math::
    \text{back} \quad & w H_k \ge h_k \\
    \text{wait} \quad & w Q_k \ge g_k + q_k \\
    \text{present} \quad & A_{l(k)} - w H_k - w Q_k \ge 0 \\
    \text{memory} \quad & A_{l(k)} - w H_k - w Q_k + (A' - h' - g' - q') \ge E_k ,

the primes being the other class. And both have, where :math:`E_k > 0`, with
:math:`\varepsilon = \lceil E_k / w \rceil`,

.. math::
    \text{blocks} \quad & N_l + R_l \, [-\, H_k - Q_k] \ge \varepsilon, \quad
        R_l = \sum_i \lceil |w_i| / w \rceil \, y_i \\
    \text{cover} \quad & \textstyle\sum_{i > l} y^0_i + \sum_{i < l} y^1_i \ge \rho_k ,

where :math:`\rho_k` is the least number of layers other than :math:`l` that are of size
:math:`E_k` together, and :math:`y_i` is :math:`y^0_i` for :math:`i > l`, :math:`y^1_i` for
:math:`i < l`, of the layers of another size. If there is one such layer, it counts
:math:`\varepsilon - \lceil (E_k - |w_i|) / w \rceil`, which is no more. (cover) is left out where
all sizes are equal: it is (blocks) then.

A row is named after its word, the class ``0`` or ``1`` where there is one, and ``k``, ``l`` or
``i``, as in ``memory_k`` and ``ahead_0_k``.

Every schedule is a point
-------------------------
Take a valid schedule as in `weight_offload_milp`: each weight is absent at most once in each of
its two gaps, and uploaded at most once per period, at its first upload after :math:`B_i`. Let
:math:`y^0, y^1` say which gaps those are, and :math:`c_i = 1` if :math:`y^1_i = 1` and
:math:`y^0_i = 0`. What is uploaded of layers that are never absent is dropped. Transfers move
evenly while they last, no faster than :math:`\beta`: (out), (in).

When operation :math:`k` of layer :math:`l` starts, layer :math:`i > l` has run :math:`B_i` and not
yet :math:`F_i`, and layer :math:`i < l` has run :math:`F_i` and not yet :math:`B_i`: so the layers
that may be absent are those of (absent), and :math:`l` itself is not one. A weight that has been
prefetched for its next operation stays until then: (ahead). A layer with :math:`y^0` is uploaded
before it is deleted, so before :math:`F_i`: (early). One with :math:`c` is uploaded before the next
:math:`B_i`: (late). Of what is late, no more than :math:`W` belongs to layers whose :math:`F_i` has
not begun; they are :math:`i \ge l` when :math:`F_l` starts and :math:`i > l` when :math:`B_l` does:
(past). In interval :math:`b_i` the upload of :math:`w_i` waits for the idle time: (apart).

A layer :math:`i` that may be absent is in memory as long as its upload is not complete, and once
its prefetch has begun. If the upload is not complete, its part of :math:`g + q` is at most
:math:`|w_i|` and its part of :math:`h` is 0; if it is, its part of :math:`g + q` is 0. Either way
what is absent of it is at most :math:`|w_i|` less both parts, which is at least 0: (present). The
sum over layers is at least :math:`E_k`: (memory). The part of a layer with :math:`y^0` and
:math:`y^1` after :math:`F_i` is 0: it has been uploaded. If :math:`F_l` starts and :math:`l` is
late, it is in :math:`W^G_l` and not in :math:`q`.

A layer of size :math:`w` is absent as a whole or not at all, since its memory is taken from the
start of its prefetch and until its deletion. :math:`H_k` counts those that may be absent and have
begun to come back, :math:`Q_k` those that wait for the end of their upload: no layer is both.
That gives (back), (wait) and the rows below them.

(blocks): at least :math:`\varepsilon - \sum_i \lceil |w_i| / w \rceil y_i` layers of size :math:`w`
are absent, for their number is an integer and at least :math:`(E_k - \sum_i |w_i| y_i) / w`, and
:math:`\lceil a - b \rceil \ge \lceil a \rceil - \lceil b \rceil`. With one other layer the two
values of its :math:`y` can be looked at. (cover): what is absent are whole layers.

Sizes and :math:`\beta u_k` are those of `WeightOffloadScale`, :math:`\varepsilon` and :math:`\rho`
are computed in exact integers.

The order of layers
-------------------
MONOTONE_NOTE
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from jettison.formulations.array_model import ArrayModel, Floats
from jettison.formulations.array_model_builder import ArrayModelBuilder
from jettison.formulations.weight_offload_scale import WeightOffloadScale
from jettison.instances.errors import InputError
from jettison.instances.weight_offload import WeightOffload

Integers = NDArray[np.int64]
# Columns, one in each row of a block, and their coefficients.
Terms = list[tuple[Integers, "float | Floats"]]


class Layers(StrEnum):
    """How layers move: see the docstring of this module.

    ``fluid``
        AGG: any part of a layer may be absent.
    ``whole``
        AGGINT: layers of the most frequent size are absent as a whole.
    """

    FLUID = "fluid"
    WHOLE = "whole"


@dataclass(frozen=True)
class AggregatedModel:
    """A built model, and how to read it.

    Attributes
    ----------
    scale
        Turns the objective into a time.
    model
        The model.
    """

    scale: WeightOffloadScale
    model: ArrayModel

    def selection_parts(self, values: Floats) -> tuple[Floats, Floats]:
        """Return the values of y0 and y1 by layer, each shape (L,), at a point of the model."""
        layers = self.scale.problem.cycle.num_layers
        return values[:layers], values[layers : 2 * layers]


@dataclass(frozen=True)
class Aggregated:
    """Which model to build.

    Attributes
    ----------
    layers
        How layers move.
    """

    layers: Layers = Layers.FLUID

    def build(self, problem: WeightOffload) -> AggregatedModel:
        """Build the model, in O(L) time and size but for sorting sizes.

        Raises
        ------
        InputError
            If no layer has weights.
        """
        if not problem.cycle.total_weight_bytes:
            raise InputError(
                "a chain without weights",
                source=problem.instance.name,
                expected="nothing can leave memory: only its operations take time",
            )
        return _Writer(self, problem).model()


@dataclass(frozen=True)
class _Inventories:
    """The columns of one class; by operation, layer, or layer from 1 to L + 1."""

    absent: Integers
    window: Integers
    inwards: Integers
    early_out: Integers
    late_out: Integers
    ahead: Integers
    early: Integers
    late: Integers
    past: Integers


class _Writer:
    """Adds the columns and the rows, in the order of the docstring."""

    def __init__(self, options: Aggregated, problem: WeightOffload) -> None:
        cycle = problem.cycle
        self.scale = WeightOffloadScale.of(problem)
        self.builder = ArrayModelBuilder("weight_offload_aggregated")
        self.L = cycle.num_layers
        self.layers = np.arange(self.L)
        self.K = 2 * self.L
        self.operations = np.arange(self.K)
        self.following = (self.operations + 1) % self.K
        self.layer_of = np.array([operation.layer - 1 for operation in cycle])
        self.is_backward = np.array([operation.is_backward for operation in cycle])
        self.w = np.array(self.scale.weights)
        self.capacity = np.array(self.scale.capacities)
        self.excess = np.maximum(0.0, self.w.sum() - np.array(self.scale.rooms))
        self.excess_bytes = cycle.excess_bytes(problem.memory_bytes)
        self.sizes = cycle.weight_bytes
        self.weighs = np.array(self.sizes) > 0
        sizes = Counter(size for size in self.sizes if size)
        self.block_bytes = max(sizes, key=lambda size: (sizes[size], size))
        self.is_block = np.array([size == self.block_bytes for size in self.sizes])
        self.is_whole = options.layers is Layers.WHOLE
        self.classes = [np.ones(self.L, dtype=bool)]
        if self.is_whole:
            others = ~self.is_block & self.weighs
            self.classes = [self.is_block] + ([others] if others.any() else [])
        self._add_choices()

    def model(self) -> AggregatedModel:
        self.inventories = [self._columns(g) for g in range(len(self.classes))]
        for g in range(len(self.classes)):
            self._add_absent(g)
            self._add_window(g)
        self._add_once()
        self._add_link()
        for g in range(len(self.classes)):
            self._add_inventories(g)
        self._add_apart()
        if self.is_whole:
            self._add_whole()
        for g in range(len(self.classes)):
            self._add_present(g)
        self._add_memory()
        self._add_blocks()
        self._add_cover()
        return AggregatedModel(self.scale, self.builder.build())

    def _named(self, word: str, numbers: Sequence[int] | Integers) -> list[str]:
        return [f"{word}_{number}" for number in numbers]

    def _add_choices(self) -> None:
        names = self.layers + 1
        upper = self.weighs.astype(float)
        self.y0 = self.builder.add_columns(self._named("y0", names), upper=upper, integer=True)
        self.y1 = self.builder.add_columns(self._named("y1", names), upper=upper, integer=True)
        self.c = self.builder.add_columns(self._named("c", names), upper=upper)
        self.most = 2 * self.w.sum()
        self.z = self.builder.add_columns(
            self._named("idle", self.operations), upper=self.most, cost=1.0
        )
        self.whole: tuple[Integers, Integers] | None = None
        if self.is_whole:
            upper_count = float(self.is_block.sum())
            self.whole = (
                self.builder.add_columns(
                    self._named("H", self.operations), upper=upper_count, integer=True
                ),
                self.builder.add_columns(
                    self._named("Q", self.operations), upper=upper_count, integer=True
                ),
            )

    def _columns(self, g: int) -> _Inventories:
        def add(letter: str, numbers: Integers) -> Integers:
            names = self._named(f"{letter}_{g}", numbers)
            return self.builder.add_columns(names, upper=self.most)

        layers, operations = self.layers + 1, self.operations
        return _Inventories(
            absent=add("A", layers),
            window=add("W", np.arange(1, self.L + 2)),
            inwards=add("P", operations),
            early_out=add("U", operations),
            late_out=add("V", operations),
            ahead=add("h", operations),
            early=add("g", operations),
            late=add("r", operations),
            past=add("q", operations),
        )

    def _rows(
        self,
        word: str,
        numbers: Integers,
        terms: Terms,
        lower: float | Floats = -np.inf,
        upper: float | Floats = np.inf,
    ) -> None:
        """Add a block of rows, one for each number, with one column of each term in each row."""
        count = len(numbers)
        self.builder.add_rows(
            self._named(word, numbers),
            np.tile(np.arange(count), len(terms)),
            np.concatenate([columns for columns, _ in terms]),
            np.concatenate([np.broadcast_to(factor, count) for _, factor in terms]),
            lower=lower,
            upper=upper,
        )

    def _steps(self, word: str, columns: Integers, size: Floats) -> None:
        """Say what changes in `columns`, by layer, from one layer to the next."""
        here, above = self.layers[:-1], self.layers[1:]
        self.builder.add_row(
            f"{word}_1",
            [int(columns[0]), *self.y0[1:].tolist()],
            [1.0, *(-size[1:]).tolist()],
            lower=0,
            upper=0,
        )
        terms: Terms = [
            (columns[above], 1.0),
            (columns[here], -1.0),
            (self.y0[above], size[above]),
            (self.y1[here], -size[here]),
        ]
        self._rows(word, above + 1, terms, lower=0, upper=0)

    def _size(self, g: int) -> Floats:
        return np.where(self.classes[g], self.w, 0.0)

    def _add_absent(self, g: int) -> None:
        self._steps(f"absent_{g}", self.inventories[g].absent, self._size(g))

    def _add_window(self, g: int) -> None:
        window = self.inventories[g].window
        terms: Terms = [(window[:-1], 1.0), (window[1:], -1.0), (self.c, -self._size(g))]
        self._rows(f"window_{g}", self.layers + 1, terms, lower=0, upper=0)
        self.builder.add_row(f"window_{g}_{self.L + 1}", [int(window[-1])], [1.0], upper=0)

    def _add_once(self) -> None:
        terms: Terms = [(self.c, 1.0), (self.y1, -1.0), (self.y0, 1.0)]
        self._rows("once", self.layers + 1, terms, lower=0)

    def _add_link(self) -> None:
        out: Terms = [(self.z, -1.0)]
        inwards: Terms = [(self.z, -1.0)]
        for inventory in self.inventories:
            out += [(inventory.early_out, 1.0), (inventory.late_out, 1.0)]
            inwards.append((inventory.inwards, 1.0))
        self._rows("out", self.operations, out, upper=self.capacity)
        self._rows("in", self.operations, inwards, upper=self.capacity)

    def _add_inventories(self, g: int) -> None:
        inventory, size = self.inventories[g], self._size(g)
        now, then = self.operations, self.following
        # Of the operation that comes next for (ahead), of this one for the other two.
        coming = self.layer_of[then]
        needed = np.where(self.is_backward[then], self.y1[coming], self.y0[coming])
        ahead: Terms = [
            (inventory.ahead[then], 1.0),
            (inventory.ahead[now], -1.0),
            (inventory.inwards, -1.0),
            (needed, size[coming]),
        ]
        self._rows(f"ahead_{g}", now, ahead, lower=0, upper=0)
        here = self.layer_of
        changed = np.where(self.is_backward, size[here], 0.0)
        for word, stock, choice, out in (
            ("early", inventory.early, self.y0, inventory.early_out),
            ("late", inventory.late, self.c, inventory.late_out),
        ):
            terms: Terms = [
                (stock[then], 1.0),
                (stock[now], -1.0),
                (choice[here], -changed),
                (out, 1.0),
            ]
            self._rows(f"{word}_{g}", now, terms, lower=0, upper=0)
        window = inventory.window[here + self.is_backward]
        past: Terms = [(inventory.past, 1.0), (inventory.late, -1.0), (window, 1.0)]
        self._rows(f"past_{g}", now, past, lower=0)

    def _add_apart(self) -> None:
        for g, inventory in enumerate(self.inventories):
            member = np.flatnonzero(self.classes[g])
            backward = self.L - 1 - member
            size = self.w[member]
            terms: Terms = [
                (inventory.early[backward + 1], 1.0),
                (inventory.late[backward + 1], 1.0),
                (self.z[backward], 1.0),
                (self.y0[member], -size),
                (self.c[member], -size),
            ]
            self._rows("apart", member + 1, terms, lower=0)

    def _absence(self, g: int) -> Terms:
        """Return what is absent of a class at each operation, as terms."""
        inventory = self.inventories[g]
        absent = (inventory.absent[self.layer_of], 1.0)
        if self.whole is not None and g == 0:
            block = float(self.w[self.is_block][0])
            return [absent, (self.whole[0], -block), (self.whole[1], -block)]
        return [absent, (inventory.ahead, -1.0), (inventory.early, -1.0), (inventory.past, -1.0)]

    def _add_whole(self) -> None:
        assert self.whole is not None
        inventory = self.inventories[0]
        block = float(self.w[self.is_block][0])
        back: Terms = [(self.whole[0], block), (inventory.ahead, -1.0)]
        self._rows("back", self.operations, back, lower=0)
        wait: Terms = [(self.whole[1], block), (inventory.early, -1.0), (inventory.past, -1.0)]
        self._rows("wait", self.operations, wait, lower=0)

    def _add_present(self, g: int) -> None:
        self._rows(f"present_{g}", self.operations, self._absence(g), lower=0)

    def _add_memory(self) -> None:
        binding = np.flatnonzero(self.excess > 0)
        terms: Terms = [
            (columns[binding], factor)
            for g in range(len(self.classes))
            for columns, factor in self._absence(g)
        ]
        self._rows("memory", binding, terms, lower=self.excess[binding])

    def _binding(self) -> Integers:
        return np.flatnonzero(np.array([excess > 0 for excess in self.excess_bytes]))

    def _count_columns(self, letter: str, counts: Floats) -> Integers:
        names = self._named(letter, self.layers + 1)
        columns = self.builder.add_columns(names, upper=float(counts.sum()))
        self._steps({"N": "number", "R": "other", "S": "all"}[letter], columns, counts)
        return columns

    def _add_blocks(self) -> None:
        binding = self._binding()
        here = self.layer_of[binding]
        number = self._count_columns("N", self.is_block.astype(float))
        terms: Terms = [(number[here], 1.0)]
        if self.whole is not None:
            terms += [(columns[binding], -1.0) for columns in self.whole]
        block = self.block_bytes
        least = np.array([-(-self.excess_bytes[k] // block) for k in binding], dtype=float)
        others = [i for i, size in enumerate(self.sizes) if size and size != block]
        if len(others) == 1:
            [other] = others
            without = [-(-(self.excess_bytes[k] - self.sizes[other]) // block) for k in binding]
            worth = np.where(here == other, 0.0, least - np.array(without, dtype=float))
            terms.append((np.where(here < other, self.y0[other], self.y1[other]), worth))
        elif others:
            counts = np.array(
                [0 if size == block else -(-size // block) for size in self.sizes], dtype=float
            )
            terms.append((self._count_columns("R", counts)[here], 1.0))
        self._rows("blocks", binding, terms, lower=least)

    def _add_cover(self) -> None:
        if not self.weighs[~self.is_block].any():
            return
        binding = self._binding()
        columns = self._count_columns("S", self.weighs.astype(float))
        here = self.layer_of[binding]
        covers = _Covers(self.sizes)
        least = [
            covers.least_number(layer, self.excess_bytes[k])
            for k, layer in zip(binding.tolist(), here.tolist(), strict=True)
        ]
        self._rows("cover", binding, [(columns[here], 1.0)], lower=np.array(least, dtype=float))


class _Covers:
    """How many layers have to be absent, by the size of what has to be.

    Parameters
    ----------
    sizes
        Of all layers.
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = sizes
        order = sorted(range(len(sizes)), key=lambda layer: -sizes[layer])
        self.place = {layer: place for place, layer in enumerate(order)}
        self.sums = list(accumulate((sizes[layer] for layer in order), initial=0))

    def least_number(self, layer: int, excess_bytes: int) -> int:
        """Return the least number of layers, `layer` not among them, of that size together."""
        number = bisect_left(self.sums, excess_bytes)
        if number <= self.place[layer]:
            return number
        return bisect_left(self.sums, excess_bytes + self.sizes[layer]) - 1
