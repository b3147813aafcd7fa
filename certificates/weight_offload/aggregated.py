r"""AGG and AGGINT: weight offloading with inventories of all layers together, in exact integers.

The model of `formulations/weight_offload/aggregated.py`, whose docstring has every row and the
proof that every schedule is a point. Operations, sizes and the link are those of
`given_weight_offload`. Amounts are bytes, and idle times are nanoseconds, so that the objective is
a time: with :math:`\beta = p / q` the rows of the link are multiplied by :math:`q`. The letters are
those of that page:

* binary ``y0_i``, ``y1_i``: the layer is absent after :math:`B_i`, after :math:`F_i`; ``c_i`` from
  0 to 1; all three are 0 for layers without weights;
* ``idle_k``, idle time, which costs 1. It may be cut off where it could carry twice all weights: it
  stands in rows only that ask for no more;
* ``A_G_l``, ``W_G_l``, ``P_G_k``, ``U_G_k``, ``V_G_k``, ``h_G_k``, ``g_G_k``, ``r_G_k``,
  ``q_G_k``, amounts of the layers of class :math:`G`, from 0 to their size together: each layer is
  uploaded at most once in a period, and prefetched at most once between two of its operations, and
  an interval lies between two operations of every layer;
* ``N_l``, ``R_l``, ``S_l``, numbers of layers, from 0 to that of all;
* with ``whole`` layers, integers ``H_k``, ``Q_k``, from 0 to the number of layers of the size
  :math:`w`.

:math:`w` is the most frequent size, of equally frequent ones the largest, and 1 where there
are no weights. Rows, in this order:
``absent``, ``window`` of each class, ``once``, ``out``, ``in``, ``both`` where both directions of
the link share a total (with :math:`p' / q'` of it), ``ahead``, ``early``, ``late``,
``past`` of each class, ``apart``, with whole layers ``back``, ``wait``, then ``present`` of each
class, ``memory``, ``number``, ``other``, ``blocks``, ``all``, ``cover``. The durations add up to
the offset.

The last rows say of operation :math:`k` of layer :math:`l`, with :math:`\varepsilon = \lceil E_k /
w \rceil`, that whole layers are absent. They are integer roundings of (memory), and hold for any
schedule by themselves: of the layers :math:`i \ne l` those that are absent are some of those with
:math:`y^0_i` (:math:`i > l`) and :math:`y^1_i` (:math:`i < l`), and their sizes add up to at least
:math:`E_k`.

Version 1. Options: ``whole``.
"""

# The symbols of the model are the names of the code.

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from ..header_fields import Fields, flag_field, only_fields
from ..integer_model import IntegerModel
from ..stated_model import StatedModel
from .given_weight_offload import GivenWeightOffload

_MOST_LAYERS = 20_000


def weight_offload_aggregated(instance: Fields, resources: Fields, options: Fields) -> StatedModel:
    """Build the model, in linear time and size but for sorting sizes.

    Raises
    ------
    CertificateError
        If the instance, the memory, the link or an option is not what the model needs.
    """
    only_fields(options, {"whole"}, "the formulation")
    given = GivenWeightOffload.from_json(instance, resources, _MOST_LAYERS)
    return StatedModel(_Writer(given, flag_field(options, "whole")).model, "all schedules")


@dataclass(frozen=True)
class _Class:
    """Class of layers that share inventories: their sizes, 0 for others, and the columns.

    By operation, by layer from 1 (index 0 is not used), `window` up to :math:`L + 1`.
    """

    sizes: tuple[int, ...]
    absent: list[int]
    window: list[int]
    inwards: list[int]
    early_out: list[int]
    late_out: list[int]
    ahead: list[int]
    early: list[int]
    late: list[int]
    past: list[int]


class _Writer:
    """Adds the columns and the rows, in the order of the docstring."""

    def __init__(self, given: GivenWeightOffload, whole: bool) -> None:
        self.given = given
        self.whole = whole
        self.L = given.num_layers
        self.layers = range(1, self.L + 1)
        self.operations = range(2 * self.L)
        self.model = IntegerModel(time_offset_ns=given.base_time_ns)
        counts = Counter(size for size in given.weights if size)
        self.block = max(counts, key=lambda size: (counts[size], size), default=1)
        self.binding = [k for k in self.operations if given.excess_bytes(k) > 0]
        self._add_choices(counts[self.block])
        kinds = [given.weights]
        if whole:
            blocks = tuple(size if size == self.block else 0 for size in given.weights)
            others = tuple(0 if size == self.block else size for size in given.weights)
            kinds = [blocks, others] if any(others) else [blocks]
        self.classes = [self._class(g, sizes) for g, sizes in enumerate(kinds)]
        for g, part in enumerate(self.classes):
            self._add_steps(f"absent_{g}", part.absent, part.sizes)
        for g, part in enumerate(self.classes):
            self._add_window(g, part)
        for i in self.layers:
            columns = [self.c[i], self.y1[i], self.y0[i]]
            self.model.at_least(f"once_{i}", columns, [1, -1, 1], 0)
        self._add_link()
        for g, part in enumerate(self.classes):
            self._add_inventories(g, part)
        self._add_apart()
        if whole:
            self._add_whole()
        self._add_present()
        self._add_blocks()
        self._add_cover()

    def _add_choices(self, blocks: int) -> None:
        add, weights = self.model.add_column, self.given.weights
        most = [0, *(int(weights[i] > 0) for i in self.layers)]
        self.y0 = [0, *(add(f"y0_{i}", 0, most[i]) for i in self.layers)]
        self.y1 = [0, *(add(f"y1_{i}", 0, most[i]) for i in self.layers)]
        self.c = [0, *(add(f"c_{i}", 0, most[i], is_integer=False) for i in self.layers)]
        most_ns = self.given.transfer_ns(2 * self.given.total_bytes)
        self.z = [add(f"idle_{k}", 0, most_ns, cost=1, is_integer=False) for k in self.operations]
        self.H = self.Q = list[int]()
        if self.whole:
            self.H = [add(f"H_{k}", 0, blocks) for k in self.operations]
            self.Q = [add(f"Q_{k}", 0, blocks) for k in self.operations]

    def _class(self, g: int, sizes: tuple[int, ...]) -> _Class:
        most = sum(sizes)

        def add(letter: str, numbers: range) -> list[int]:
            return [
                self.model.add_column(f"{letter}_{g}_{number}", 0, most, is_integer=False)
                for number in numbers
            ]

        return _Class(
            sizes=sizes,
            absent=[0, *add("A", self.layers)],
            window=[0, *add("W", range(1, self.L + 2))],
            inwards=add("P", self.operations),
            early_out=add("U", self.operations),
            late_out=add("V", self.operations),
            ahead=add("h", self.operations),
            early=add("g", self.operations),
            late=add("r", self.operations),
            past=add("q", self.operations),
        )

    def _add_steps(self, word: str, columns: Sequence[int], worth: Sequence[int]) -> None:
        """Define, for each layer, the worth of the layers that may be absent at its operations."""
        self.model.equal(
            f"{word}_1",
            [columns[1], *self.y0[2:]],
            [1, *(-amount for amount in worth[2:])],
            0,
        )
        for i in self.layers[1:]:
            self.model.equal(
                f"{word}_{i}",
                [columns[i], columns[i - 1], self.y0[i], self.y1[i - 1]],
                [1, -1, worth[i], -worth[i - 1]],
                0,
            )

    def _add_window(self, g: int, part: _Class) -> None:
        for i in self.layers:
            columns = [part.window[i], part.window[i + 1], self.c[i]]
            self.model.equal(f"window_{g}_{i}", columns, [1, -1, -part.sizes[i]], 0)
        self.model.equal(f"window_{g}_{self.L + 1}", [part.window[self.L + 1]], [1], 0)

    def _add_link(self) -> None:
        p, q = self.given.link_bytes, self.given.link_ns
        for word in ("out", "in"):
            for k, duration_ns in enumerate(self.given.durations_ns):
                columns = [part.inwards[k] for part in self.classes]
                if word == "out":
                    columns = [
                        column
                        for part in self.classes
                        for column in (part.early_out[k], part.late_out[k])
                    ]
                amounts = [q] * len(columns)
                name = f"{word}_{k}"
                self.model.at_most(name, [*columns, self.z[k]], [*amounts, -p], p * duration_ns)
        p, q = self.given.shared_bytes, self.given.shared_ns
        for k, duration_ns in enumerate(self.given.durations_ns if p else ()):
            columns = [
                column
                for part in self.classes
                for column in (part.early_out[k], part.late_out[k], part.inwards[k])
            ]
            amounts = [q] * len(columns)
            self.model.at_most(f"both_{k}", [*columns, self.z[k]], [*amounts, -p], p * duration_ns)

    def _add_inventories(self, g: int, part: _Class) -> None:
        layer_of, sizes = self.given.layer_of, part.sizes
        for k in self.operations:
            after = (k + 1) % len(self.operations)
            coming = layer_of[after]
            choice = self.y1 if after < self.L else self.y0
            columns = [part.ahead[after], part.ahead[k], part.inwards[k], choice[coming]]
            self.model.equal(f"ahead_{g}_{k}", columns, [1, -1, -1, sizes[coming]], 0)
        for word, stock, choice, out in (
            ("early", part.early, self.y0, part.early_out),
            ("late", part.late, self.c, part.late_out),
        ):
            for k in self.operations:
                after, here = (k + 1) % len(self.operations), layer_of[k]
                changed = sizes[here] if k < self.L else 0
                columns = [stock[after], stock[k], choice[here], out[k]]
                self.model.equal(f"{word}_{g}_{k}", columns, [1, -1, -changed, 1], 0)
        for k in self.operations:
            window = part.window[layer_of[k] + (k < self.L)]
            columns = [part.past[k], part.late[k], window]
            self.model.at_least(f"past_{g}_{k}", columns, [1, -1, 1], 0)

    def _add_apart(self) -> None:
        p, q = self.given.link_bytes, self.given.link_ns
        for part in self.classes:
            for i in self.layers:
                k, size = self.given.backward_of(i), part.sizes[i]
                if size:
                    columns = [
                        part.early[k + 1],
                        part.late[k + 1],
                        self.z[k],
                        self.y0[i],
                        self.c[i],
                    ]
                    self.model.at_least(f"apart_{i}", columns, [q, q, p, -q * size, -q * size], 0)

    def _add_whole(self) -> None:
        part = self.classes[0]
        for k in self.operations:
            columns = [self.H[k], part.ahead[k]]
            self.model.at_least(f"back_{k}", columns, [self.block, -1], 0)
        for k in self.operations:
            columns = [self.Q[k], part.early[k], part.past[k]]
            self.model.at_least(f"wait_{k}", columns, [self.block, -1, -1], 0)

    def _absence(self, g: int, k: int) -> dict[int, int]:
        """Return the absent bytes of a class when an operation starts, as coefficients."""
        part = self.classes[g]
        absent = {part.absent[self.given.layer_of[k]]: 1}
        if self.whole and g == 0:
            return absent | {self.H[k]: -self.block, self.Q[k]: -self.block}
        return absent | {part.ahead[k]: -1, part.early[k]: -1, part.past[k]: -1}

    def _add_present(self) -> None:
        for g in range(len(self.classes)):
            for k in self.operations:
                found = self._absence(g, k)
                self.model.at_least(f"present_{g}_{k}", [*found], [*found.values()], 0)
        for k in self.binding:
            total: dict[int, int] = {}
            for g in range(len(self.classes)):
                total |= self._absence(g, k)
            excess = self.given.excess_bytes(k)
            self.model.at_least(f"memory_{k}", [*total], [*total.values()], excess)

    def _numbers(self, letter: str, word: str, worth: Sequence[int]) -> list[int]:
        """Add columns, by layer, for the total worth of the layers that may be absent."""
        most = sum(worth)
        columns = [0, *(self.model.add_column(f"{letter}_{i}", 0, most) for i in self.layers)]
        self._add_steps(word, columns, worth)
        return columns

    def _add_blocks(self) -> None:
        given, block = self.given, self.block
        number = self._numbers("N", "number", [int(size == block) for size in given.weights])
        others = [i for i in self.layers if given.weights[i] not in {0, block}]
        other = list[int]()
        if len(others) > 1:
            worth = [0 if size == block else -(-size // block) for size in given.weights]
            other = self._numbers("R", "other", worth)
        for k in self.binding:
            here, excess = given.layer_of[k], given.excess_bytes(k)
            least = -(-excess // block)
            total = {number[here]: 1}
            if self.whole:
                total |= {self.H[k]: -1, self.Q[k]: -1}
            if other:
                total[other[here]] = 1
            elif others and others[0] != here:
                [i] = others
                choice = self.y0[i] if here < i else self.y1[i]
                total[choice] = least + (given.weights[i] - excess) // block
            self.model.at_least(f"blocks_{k}", [*total], [*total.values()], least)

    def _add_cover(self) -> None:
        """Add the rows on the least number of layers that have to be absent."""
        weights = self.given.weights
        if all(size in {0, self.block} for size in weights):
            return
        columns = self._numbers("S", "all", [int(size > 0) for size in weights])
        order = sorted(self.layers, key=lambda i: -weights[i])
        place = {i: number for number, i in enumerate(order)}
        sums = list(accumulate((weights[i] for i in order), initial=0))
        for k in self.binding:
            here, excess = self.given.layer_of[k], self.given.excess_bytes(k)
            least = bisect_left(sums, excess)
            if least > place[here]:
                # The layer itself is among the largest ones, and one more takes its place.
                least = bisect_left(sums, excess + weights[here]) - 1
            self.model.at_least(f"cover_{k}", [columns[here]], [1], least)
