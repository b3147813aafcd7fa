r"""MILP of the weight offloading paper, a lower bound on the time, as a PuLP model.

Source: the paper on weight offloading, Section 6, equations (1) to (8) and Theorem 2.

Operations :math:`k = 0, \dots, 2L-1` are those of `WeightCycle`, :math:`B_i` at
:math:`b_i = L - i` and :math:`F_i` at :math:`f_i = L + i - 1`: the paper counts them from 1.
Interval :math:`k` reaches from the start of operation :math:`k` to the start of the next one, and
after the last comes the first. Sums run around the cycle.

Instance: weights :math:`|w_i|`, times :math:`u_k`, the link :math:`\beta`, memory :math:`M`, and
:math:`e_k`, what operation :math:`k` needs besides weights, the gradient of its weights included.
With equation (1) :math:`e_k` is :math:`\sum_{l \le i} |a_l|`, and :math:`|w_i|` more for
:math:`B_i`. Layers without weights have no columns.

Columns
-------
============================ ===================================================================
:math:`O_{i,k}`, ``O_i_k``   what is uploaded of :math:`w_i` in interval :math:`k`
:math:`P_{i,k}`, ``P_i_k``   what is prefetched of it
:math:`D_{i,k}`, ``D_i_k``   what is deleted of it
:math:`m_{i,k}`, ``m_i_k``   what is in memory of it when operation :math:`k` starts
:math:`o_{i,k}`, ``o_i_k``   what has been uploaded of it by then, since :math:`B_i` started
:math:`d_{i,k}`, ``d_i_k``   what has been deleted of it by then, since its last operation started
:math:`O^*_i`, ``upload_i``  it is uploaded
:math:`D^1_i`, ``gone1_i``   it is absent between :math:`F_i` and :math:`B_i`
:math:`D^0_i`, ``gone0_i``   it is absent between :math:`B_i` and :math:`F_i`
:math:`z_k`, ``idle_k``      what the link could carry in the idle time after operation :math:`k`
============================ ===================================================================

The last four but :math:`z` are binary, the others at least 0. :math:`m` is at most
:math:`|w_i|`. The columns :math:`d` exist for (6c) only. Upper limits of the other columns follow
from the rows, and are written down because a dual bound in exact arithmetic needs them
(`exact_dual_bound`): :math:`O, o \le |w_i|` by (7), as all of :math:`O` is at least 0;
:math:`D, d \le |w_i|` by (8) likewise; and :math:`P_{i,k} = m_{i,k+1} - m_{i,k} + D_{i,k} \le 2
|w_i|`.

Model
-----
:math:`k+1` is the next operation around the cycle. Inventories :math:`m, o, d` take the place of
the sums of the paper: 14 coefficients for each layer and operation.

.. math::
    \text{(objective)} \quad & \min \sum_k z_k \quad (= \beta (T - \textstyle\sum_k u_k)) \\
    \text{(2), out} \quad & \sum_i O_{i,k} - z_k \le \beta u_k && \forall k \\
    \text{(2), in} \quad & \sum_i P_{i,k} - z_k \le \beta u_k && \forall k \\
    \text{both} \quad & \sum_i (O_{i,k} + P_{i,k}) - \tfrac{\tau}{\beta} z_k \le \tau u_k
        && \forall k \\
    \text{(3), apart} \quad & z_{b_i} \ge O_{i,b_i} && \forall i \\
    \text{stock} \quad & m_{i,k+1} = m_{i,k} + P_{i,k} - D_{i,k}
        && \forall i,\; k + 1 \ne b_i \\
    \text{sent} \quad & o_{i,k+1} = o_{i,k} + O_{i,k},\; o_{i,b_i} = 0
        && \forall i,\; k + 1 \ne b_i \\
    \text{(4), memory} \quad & \sum_i m_{i,k} \le M - e_k && \forall k \\
    \text{(4), backward} \quad & m_{i,b_i} = |w_i| && \forall i \\
    \text{(5), cycle} \quad & m_{i,b_i-1} + P_{i,b_i-1} - D_{i,b_i-1} = |w_i| && \forall i \\
    \text{(5), forward} \quad & m_{i,f_i} = |w_i| && \forall i \\
    \text{(6), kept} \quad & m_{i,k} + o_{i,k} \ge |w_i| && \forall i, k \\
    \text{(7), whole} \quad & o_{i,b_i-1} + O_{i,b_i-1} = |w_i| O^*_i && \forall i \\
    \text{(8), late} \quad & \sum_{k=f_i}^{b_i-1} D_{i,k} = |w_i| D^1_i && \forall i \\
    \text{(8), early} \quad & \sum_{k=b_i}^{f_i-1} D_{i,k} = |w_i| D^0_i && \forall i

The other half of (6), :math:`m_{i,k} \le |w_i|`, is the upper limit of the column. `Cut` names
inequalities that are no part of the paper:

.. math::
    \text{(3a), turn} \quad & z_{b_i} \ge O_{i,b_i} + P_{i,b_i} && \forall i \\
    \text{(3b), after} \quad & z_{f_i} \ge P_{i,f_i} && \forall i \\
    \text{(7'), first} \quad & o_{i,f_i} \ge |w_i| D^0_i && \forall i \\
    \text{deleted} \quad & d_{i,k+1} = d_{i,k} + D_{i,k},\; d_{i,b_i} = d_{i,f_i} = 0
        && \forall i,\; k + 1 \notin \{b_i, f_i\} \\
    \text{(6c), copied} \quad & d_{i,k+1} \le o_{i,k+1} && \forall i, k \\
    \text{(8c), blocks} \quad & \sum_{i \ne l} \nu_{k,i} g_i \ge \varepsilon_k
        && \forall k,\; E_k > 0 \\
    \text{(8c), cover} \quad & \sum_{i \ne l} g_i \ge \rho_k && \forall k,\; E_k > 0

with :math:`E_k = \sum_i |w_i| + e_k - M`, what has to be absent when operation :math:`k` of layer
:math:`l` starts, :math:`g_i = D^0_i` for :math:`i > l` and :math:`D^1_i` for :math:`i < l`. Blocks
are the layers of the most frequent size; :math:`\varepsilon_k` of them are :math:`E_k` large,
:math:`\nu_{k,i}` of those is what layer :math:`i` replaces (`Blocks`), and :math:`\rho_k` is the
least number of layers but :math:`l` that are :math:`E_k` large together (`Covers`); (cover) is left
out where it is (blocks), with layers of one size.

A row is named after the word behind its number and its indices: ``out_k``, ``in_k``, ``both_k``
(where both directions of the link share a total :math:`\tau`), ``apart_i``,
``stock_i_k``, ``sent_i_k``, ``memory_k``, ``backward_i``, ``cycle_i``, ``forward_i``,
``kept_i_k``, ``whole_i``, ``late_i``, ``early_i``, ``turn_i``, ``after_i``, ``first_i``,
``deleted_i_k``, ``copied_i_k``, ``blocks_k``, ``cover_k``.

Every schedule is a point
-------------------------
Take a `CyclicSchedule` whose replay breaks no rule, once it repeats.

*Without loss of generality* each weight is (a) absent at most once between two of its operations:
drop all prefetches of that gap but the last and all deletions but the first, and what is uploaded
between them. The host has the newest version from the first deletion on, for only :math:`B_i`
changes it. And each weight is (b) uploaded at most once per period: keep the first upload after
:math:`B_i`. Later ones only repeat it, and it ends before any deletion that it allows. An upload
does not reach into the next :math:`B_i`, for it may not run beside it. Both steps only lower
memory and free the link.

A transfer of :math:`|w_i|` bytes from :math:`s` to :math:`t` moves :math:`|w_i| / (t - s) \le
\beta` bytes per nanosecond; :math:`O_{i,k}` and :math:`P_{i,k}` are its parts within interval
:math:`k`, which may be one of the next period. Interval :math:`k` lasts :math:`u_k + z_k / \beta`
with :math:`z \ge 0`, and a direction carries one transfer at a time: (2). On a shared link a
transfer moves with its share of the total :math:`\tau`, which both directions together never
exceed: (both). A deletion, which takes no time, counts where it stands in the order of events; that
settles intervals of length 0 too, in which nothing moves. Memory is looked at only when operations
start. There :math:`m_{i,k}`, which counts what has arrived, is at most what is reserved: (4).
Operations start with all of their weights: (backward), (cycle), (forward). Uploads do not run
beside their own backward: (3). A deletion needs a complete copy that is newer than :math:`B_i`, and
then :math:`o_{i,k} = |w_i|`, else :math:`m_{i,k} = |w_i|`: (6). By (a) and (b) the rest: (7), (8).

The inequalities: in interval :math:`b_i` a prefetch of :math:`w_i` follows its deletion, which
follows its upload, which follows :math:`B_i`: all within the idle time, (3a). A prefetch of
:math:`w_i` in interval :math:`f_i` follows its deletion, which follows :math:`F_i`: (3b). What is
deleted before :math:`F_i` has been uploaded whole by then: (7'). What has been deleted since the
last operation has been uploaded whole before: (6c). It implies (6): what is missing is at most
what has been deleted. All four would hold for transfers that can be
interrupted too: they rest on a layer's being deleted as a whole.

Time is at least :math:`\sum_k u_k + \sum_k z_k / \beta`: Theorem 2.

Corrections of the print
------------------------
`PrintedRow` builds the wrong rows; the tests show what they do.

* (6): the first ":math:`\ge 0`" is ":math:`\le 0`". As printed nothing ever leaves memory, and
  there is no point where memory binds.
* (4): :math:`M_k` of equation (1) holds :math:`|w_i|` of the running layer, and :math:`m_{i,k}`
  holds it too. Counted twice it is not a lower bound: 6 in place of 4 on an instance of Theorem 1.
* (5): the sum runs from 0 to :math:`2L-1`, over operations counted from 1; it is over all of
  them. As printed what leaves after :math:`F_L` need not come back, and what comes back there does
  not count.
* (8): the range of :math:`D^1_L` ends before operation 1: it is operation :math:`2L` alone.
* (3) is right. It needs (2) with idle time after the backward, not before; without (3) the bound
  is weaker, and valid.
* (4) assumes that an operation needs what equation (1) says; :math:`e_k` is what it does need.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

import lazy_loader as lazy

from jettison.formulations.milp.watched_writing import Watch, unwatched, watched_problem
from jettison.formulations.weight_offload.least_layers import Blocks, Covers
from jettison.formulations.weight_offload.scale import WeightOffloadScale
from jettison.instances.weight_offload.problem import WeightOffload

if TYPE_CHECKING:
    import pulp
else:
    pulp = lazy.load("pulp")


class PrintedRow(StrEnum):
    """Rows that can be built wrongly as printed, for tests of the corrections.

    ``memory``
        (4) with the running layer's weights counted twice.
    ``cycle``
        (5) without the interval after the last operation.
    ``leaving``
        (6) with both signs alike.
    """

    MEMORY = "memory"
    CYCLE = "cycle"
    LEAVING = "leaving"


class Cut(StrEnum):
    """Valid inequalities added to those of the paper, by their numbers above."""

    TURN = "3a"
    AFTER = "3b"
    FIRST = "7'"
    COPIED = "6c"
    WHOLE = "8c"


# What the paper's own program implies: with it the optimum is that of the paper's program.
IMPLIED_CUTS = frozenset({Cut.WHOLE})


@dataclass(frozen=True)
class WeightOffloadMilpModel:
    """Built model, with the translation of its bounds to nanoseconds.

    Attributes
    ----------
    scale
        Turns the objective into a time.
    problem
        The PuLP problem.
    """

    scale: WeightOffloadScale
    problem: pulp.LpProblem


@dataclass(frozen=True)
class WeightOffloadMilp:
    """MILP of the paper in its variants; the model is in the docstring of this module.

    Attributes
    ----------
    printed
        Rows to take as they are printed; then the model bounds nothing.
    cuts
        Valid inequalities to add.
    """

    printed: frozenset[PrintedRow] = frozenset()
    cuts: frozenset[Cut] = field(default_factory=frozenset)

    def build(self, problem: WeightOffload, watch: Watch = unwatched) -> WeightOffloadMilpModel:
        """Build the model; about 10 µs for each coefficient. `watch` may end that."""
        return _Writer(self, problem, watch).model()

    def estimated_coefficients(self, problem: WeightOffload) -> int:
        """Return about how many coefficients the model without fixed columns has."""
        layers = sum(1 for size in problem.cycle.weight_bytes if size)
        per_place = 14 + 5 * (Cut.COPIED in self.cuts) + 2 * (Cut.WHOLE in self.cuts)
        return per_place * layers * len(problem.cycle)


Columns = Mapping[tuple[int, int], "pulp.LpVariable"]


class _Writer:
    """Writer of the columns and rows, in the order of the docstring."""

    def __init__(self, options: WeightOffloadMilp, problem: WeightOffload, watch: Watch) -> None:
        self.options = options
        self.cycle = problem.cycle
        self.scale = WeightOffloadScale.of(problem)
        self.w = dict(enumerate(self.scale.weights, start=1))
        self.count = len(self.cycle)
        self.layers = [i for i in self.w if self.w[i]]
        self.pulp = watched_problem("weight_offload", watch)
        self._add_columns()

    def model(self) -> WeightOffloadMilpModel:
        self.pulp += pulp.lpSum(self.z)
        self._add_link()
        self._add_inventories()
        self._add_memory()
        self._add_validity()
        self._add_choices()
        self._add_cuts()
        return WeightOffloadMilpModel(self.scale, self.pulp)

    def _add_columns(self) -> None:
        least = dict.fromkeys(self.layers, 0.0)
        if PrintedRow.LEAVING in self.options.printed:
            least = self.w
        self.O = self._inventory("O")
        self.P = self._inventory("P", 2)
        self.D = self._inventory("D")
        self.m = {
            (i, k): self.pulp.add_variable(f"m_{i}_{k}", least[i], self.w[i])
            for i in self.layers
            for k in range(self.count)
        }
        self.o = self._inventory("o")
        self.d = self._inventory("d") if Cut.COPIED in self.options.cuts else {}
        self.upload = self._binaries("upload")
        self.gone1 = self._binaries("gone1")
        self.gone0 = self._binaries("gone0")
        self.z = [self.pulp.add_variable(f"idle_{k}", 0) for k in range(self.count)]

    def _inventory(self, name: str, times: int = 1) -> dict[tuple[int, int], pulp.LpVariable]:
        return {
            (i, k): self.pulp.add_variable(f"{name}_{i}_{k}", 0, times * self.w[i])
            for i in self.layers
            for k in range(self.count)
        }

    def _binaries(self, name: str) -> dict[int, pulp.LpVariable]:
        return {i: self.pulp.add_variable(f"{name}_{i}", cat=pulp.LpBinary) for i in self.layers}

    def _b(self, layer: int) -> int:
        return self.cycle.backward_index(layer)

    def _f(self, layer: int) -> int:
        return self.cycle.forward_index(layer)

    def _places(self) -> Iterator[tuple[int, int, int]]:
        """Yield each layer with each interval and the operation after it."""
        for i in self.layers:
            for k in range(self.count):
                yield i, k, (k + 1) % self.count

    def _around(self, first: int, end: int) -> list[int]:
        """Return the intervals from `first` to the one before `end`, around the cycle."""
        return [k % self.count for k in range(first, end if first < end else end + self.count)]

    def _add_link(self) -> None:
        for word, moved in (("out", self.O), ("in", self.P)):
            for k, capacity in enumerate(self.scale.capacities):
                total = pulp.lpSum(moved[i, k] for i in self.layers)
                self.pulp += total - self.z[k] <= capacity, f"{word}_{k}"
        if self.scale.is_shared:
            for k, capacity in enumerate(self.scale.total_capacities):
                total = pulp.lpSum(self.O[i, k] + self.P[i, k] for i in self.layers)
                self.pulp += total - self.scale.total_ratio * self.z[k] <= capacity, f"both_{k}"
        for i in self.layers:
            self.pulp += self.z[self._b(i)] >= self.O[i, self._b(i)], f"apart_{i}"

    def _add_inventories(self) -> None:
        for i, k, after in self._places():
            if after != self._b(i):
                stock = self.m[i, k] + self.P[i, k] - self.D[i, k]
                self.pulp += self.m[i, after] == stock, f"stock_{i}_{k}"
        for i, k, after in self._places():
            if after != self._b(i):
                # A column that starts at 0 is left out of its first row.
                sent = self.O[i, k] + (self.o[i, k] if k != self._b(i) else 0)
                self.pulp += self.o[i, after] == sent, f"sent_{i}_{k}"

    def _add_memory(self) -> None:
        for k, operation in enumerate(self.cycle):
            room = self.scale.rooms[k]
            if PrintedRow.MEMORY in self.options.printed:
                room -= self.w[operation.layer]
            self.pulp += pulp.lpSum(self.m[i, k] for i in self.layers) <= room, f"memory_{k}"
        for i in self.layers:
            self.pulp += self.m[i, self._b(i)] == self.w[i], f"backward_{i}"

    def _add_validity(self) -> None:
        for i in self.layers:
            if PrintedRow.CYCLE in self.options.printed:
                change = pulp.lpSum(self.P[i, k] - self.D[i, k] for k in range(self.count - 1))
                self.pulp += change == 0, f"cycle_{i}"
            else:
                k = (self._b(i) - 1) % self.count
                end = self.m[i, k] + self.P[i, k] - self.D[i, k]
                self.pulp += end == self.w[i], f"cycle_{i}"
        for i in self.layers:
            self.pulp += self.m[i, self._f(i)] == self.w[i], f"forward_{i}"
        for i, k, _ in self._places():
            if k != self._b(i):
                self.pulp += self.m[i, k] + self.o[i, k] >= self.w[i], f"kept_{i}_{k}"

    def _add_choices(self) -> None:
        for i in self.layers:
            last = (self._b(i) - 1) % self.count
            sent = self.o[i, last] + self.O[i, last]
            self.pulp += sent == self.w[i] * self.upload[i], f"whole_{i}"
        for i in self.layers:
            deleted = pulp.lpSum(self.D[i, k] for k in self._around(self._f(i), self._b(i)))
            self.pulp += deleted == self.w[i] * self.gone1[i], f"late_{i}"
        for i in self.layers:
            deleted = pulp.lpSum(self.D[i, k] for k in self._around(self._b(i), self._f(i)))
            self.pulp += deleted == self.w[i] * self.gone0[i], f"early_{i}"

    def _add_cuts(self) -> None:
        cuts = self.options.cuts
        for i in self.layers:
            b, f = self._b(i), self._f(i)
            if Cut.TURN in cuts:
                self.pulp += self.z[b] >= self.O[i, b] + self.P[i, b], f"turn_{i}"
            if Cut.AFTER in cuts:
                self.pulp += self.z[f] >= self.P[i, f], f"after_{i}"
            if Cut.FIRST in cuts:
                self.pulp += self.o[i, f] >= self.w[i] * self.gone0[i], f"first_{i}"
        if Cut.COPIED in cuts:
            self._add_copied()
        if Cut.WHOLE in cuts:
            self._add_whole_layers()

    def _add_copied(self) -> None:
        for i, k, after in self._places():
            if after not in {self._b(i), self._f(i)}:
                is_first = k in {self._b(i), self._f(i)}
                deleted = self.D[i, k] + (0 if is_first else self.d[i, k])
                self.pulp += self.d[i, after] == deleted, f"deleted_{i}_{k}"
        for i, k, _ in self._places():
            if k not in {self._b(i), self._f(i)}:
                self.pulp += self.d[i, k] <= self.o[i, k], f"copied_{i}_{k}"

    def _add_whole_layers(self) -> None:
        sizes = self.cycle.weight_bytes
        if not any(sizes):
            return
        blocks, covers = Blocks(sizes), Covers(sizes)
        excess = self.cycle.excess_bytes(self.scale.problem.memory_bytes)
        binding = [k for k in range(self.count) if excess[k] > 0]
        for k in binding:
            gone = self._gone_at(k)
            worth = {i: blocks.worth(i - 1, excess[k]) for i in gone if i - 1 in blocks.others}
            counted = pulp.lpSum(
                worth.get(i, 1) * column for i, column in gone.items() if worth.get(i, 1)
            )
            self.pulp += counted >= blocks.least(excess[k]), f"blocks_{k}"
        for k in binding if blocks.others else ():
            least = covers.least_number(self.cycle.operations[k].layer - 1, excess[k])
            self.pulp += pulp.lpSum(self._gone_at(k).values()) >= least, f"cover_{k}"

    def _gone_at(self, k: int) -> dict[int, pulp.LpVariable]:
        """Return by layer whether it is absent in the gap in which operation `k` is."""
        layer = self.cycle.operations[k].layer
        return {i: (self.gone0 if i > layer else self.gone1)[i] for i in self.layers if i != layer}
