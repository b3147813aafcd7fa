r"""Mixed-integer program of the weight offloading paper, corrected, in exact integers.

The model of `formulations/weight_offload/paper.py`, whose docstring has every row, the proof that
every schedule is a point, and what the print gets wrong. Operations, sizes and the link are those
of `given_weight_offload`. Amounts are bytes, and idle times are nanoseconds, so that the objective
is a time: with :math:`\beta = p / q` the rows of the link are multiplied by :math:`q`.

Columns, for each layer :math:`i` with weights and each interval :math:`k`, which goes from the
start of operation :math:`k` to that of the next one:

* ``O_i_k``, ``P_i_k``, ``D_i_k``: what is uploaded, prefetched, deleted in the interval;
* ``m_i_k``, ``o_i_k``, ``d_i_k``: what is in memory when the operation starts, and has been
  uploaded since :math:`B_i`, deleted since the last operation of the layer. All six lie from 0 to
  :math:`|w_i|`: each weight is uploaded at most once in a period, and prefetched and deleted at
  most once between two of its operations, and an interval lies between two of them. In the
  intervals of its own operations :math:`m` is :math:`|w_i|` ((4), (5)) and :math:`d` is 0; so is
  :math:`o` in that of :math:`B_i`;
* ``upload_i``, ``gone1_i``, ``gone0_i``: binary: it is uploaded, is absent after :math:`F_i`, is
  absent after :math:`B_i`;
* ``idle_k``: idle time, which costs 1. It may be cut off where it could carry twice all weights:
  it stands in rows only that ask for no more.

Rows, in this order: ``out_k``, ``in_k`` (2); ``apart_i`` (3); ``stock_i_k``, which holds around the
cycle and is (5) with the bounds of :math:`m`; ``sent_i_k``; ``memory_k`` (4); ``kept_i_k`` (6);
``whole_i`` (7); ``late_i``, ``early_i`` (8); then the valid inequalities of the option, ``turn_i``,
``after_i``, ``first_i`` and ``deleted_i_k``, ``copied_i_k``. The durations add up to the offset.

Version 1. Options: ``cuts``, a list of ``3a``, ``3b``, ``7'``, ``6c``.
"""

# The symbols of the model are the names of the code.

from __future__ import annotations

from collections.abc import Iterator

from ..errors import CertificateError
from ..header_fields import Fields, list_field, only_fields
from ..integer_model import IntegerModel
from ..stated_model import StatedModel
from .given_weight_offload import GivenWeightOffload

_CUTS = ("3a", "3b", "7'", "6c")
# The model has up to 40 coefficients for each pair of layers.
_MOST_LAYERS = 300

Columns = dict[tuple[int, int], int]


def weight_offload_milp(instance: Fields, resources: Fields, options: Fields) -> StatedModel:
    """Build the model, in time quadratic in the number of layers.

    Raises
    ------
    CertificateError
        If the instance, the memory, the link or an option is not what the model needs.
    """
    only_fields(options, {"cuts"}, "the formulation")
    cuts = list_field(options, "cuts")
    if not all(isinstance(cut, str) and cut in _CUTS for cut in cuts):
        raise CertificateError(f"cuts are some of {', '.join(_CUTS)}")
    given = GivenWeightOffload.from_json(instance, resources, _MOST_LAYERS)
    return StatedModel(_Writer(given, set(cuts)).model, "all schedules")


class _Writer:
    """Adds the columns and the rows, in the order of the docstring."""

    def __init__(self, given: GivenWeightOffload, cuts: set[str]) -> None:
        self.given = given
        self.w = given.weights
        self.layers = [i for i in range(1, given.num_layers + 1) if self.w[i]]
        self.count = 2 * given.num_layers
        self.model = IntegerModel(time_offset_ns=given.base_time_ns)
        self._add_columns("6c" in cuts)
        self._add_link()
        self._add_inventories()
        self._add_memory()
        self._add_choices()
        self._add_cuts(cuts)

    def _add_columns(self, with_deleted: bool) -> None:
        own = frozenset((i, k) for i in self.layers for k in (self._b(i), self._f(i)))
        starts = frozenset((i, self._b(i)) for i in self.layers)
        self.O, self.P, self.D = (self._amounts(name) for name in "OPD")
        self.m = self._amounts("m", full=own)
        self.o = self._amounts("o", empty=starts)
        self.d = self._amounts("d", empty=own) if with_deleted else {}
        self.upload, self.gone1, self.gone0 = (
            {i: self.model.add_column(f"{name}_{i}", 0, 1) for i in self.layers}
            for name in ("upload", "gone1", "gone0")
        )
        most_ns = self.given.transfer_ns(2 * self.given.total_bytes)
        self.z = [
            self.model.add_column(f"idle_{k}", 0, most_ns, cost=1, is_integer=False)
            for k in range(self.count)
        ]

    def _amounts(
        self,
        name: str,
        full: frozenset[tuple[int, int]] = frozenset(),
        empty: frozenset[tuple[int, int]] = frozenset(),
    ) -> Columns:
        return {
            (i, k): self.model.add_column(
                f"{name}_{i}_{k}",
                self.w[i] if (i, k) in full else 0,
                0 if (i, k) in empty else self.w[i],
                is_integer=False,
            )
            for i in self.layers
            for k in range(self.count)
        }

    def _b(self, layer: int) -> int:
        return self.given.backward_of(layer)

    def _f(self, layer: int) -> int:
        return self.given.forward_of(layer)

    def _places(self) -> Iterator[tuple[int, int, int]]:
        """Yield each layer with each interval and the operation after it."""
        for i in self.layers:
            for k in range(self.count):
                yield i, k, (k + 1) % self.count

    def _add_link(self) -> None:
        p, q = self.given.link_bytes, self.given.link_ns
        for word, moved in (("out", self.O), ("in", self.P)):
            for k, duration_ns in enumerate(self.given.durations_ns):
                columns = [moved[i, k] for i in self.layers]
                self.model.at_most(
                    f"{word}_{k}",
                    [*columns, self.z[k]],
                    [*([q] * len(columns)), -p],
                    p * duration_ns,
                )
        p, q = self.given.shared_bytes, self.given.shared_ns
        for k, duration_ns in enumerate(self.given.durations_ns if p else ()):
            columns = [moved[i, k] for moved in (self.O, self.P) for i in self.layers]
            self.model.at_most(
                f"both_{k}", [*columns, self.z[k]], [*([q] * len(columns)), -p], p * duration_ns
            )
        for i in self.layers:
            self._waits(f"apart_{i}", self._b(i), [self.O[i, self._b(i)]])

    def _waits(self, name: str, k: int, moved: list[int]) -> None:
        """Add the row that the idle time of an interval is enough for some of its transfers."""
        amounts = [-self.given.link_ns] * len(moved)
        self.model.at_least(name, [self.z[k], *moved], [self.given.link_bytes, *amounts], 0)

    def _add_inventories(self) -> None:
        m, o, O, P, D = self.m, self.o, self.O, self.P, self.D  # noqa: E741, N806
        for i, k, after in self._places():
            columns = [m[i, after], m[i, k], P[i, k], D[i, k]]
            self.model.equal(f"stock_{i}_{k}", columns, [1, -1, -1, 1], 0)
        for i, k, after in self._places():
            if after != self._b(i):
                columns = [o[i, after], o[i, k], O[i, k]]
                self.model.equal(f"sent_{i}_{k}", columns, [1, -1, -1], 0)

    def _add_memory(self) -> None:
        for k, needs in enumerate(self.given.needs_bytes):
            columns = [self.m[i, k] for i in self.layers]
            room = self.given.memory_bytes - needs
            self.model.at_most(f"memory_{k}", columns, [1] * len(columns), room)
        for i, k, _ in self._places():
            if k != self._b(i):
                columns = [self.m[i, k], self.o[i, k]]
                self.model.at_least(f"kept_{i}_{k}", columns, [1, 1], self.w[i])

    def _add_choices(self) -> None:
        for i in self.layers:
            last = (self._b(i) - 1) % self.count
            columns = [self.o[i, last], self.O[i, last], self.upload[i]]
            self.model.equal(f"whole_{i}", columns, [1, 1, -self.w[i]], 0)
        for word, gone in (("late", self.gone1), ("early", self.gone0)):
            for i in self.layers:
                first, end = self._b(i), self._f(i)
                if word == "late":
                    first, end = end, first + self.count
                deleted = [self.D[i, k % self.count] for k in range(first, end)]
                ones = [1] * len(deleted)
                self.model.equal(f"{word}_{i}", [*deleted, gone[i]], [*ones, -self.w[i]], 0)

    def _add_cuts(self, cuts: set[str]) -> None:
        for i in self.layers:
            b, f = self._b(i), self._f(i)
            if "3a" in cuts:
                self._waits(f"turn_{i}", b, [self.O[i, b], self.P[i, b]])
            if "3b" in cuts:
                self._waits(f"after_{i}", f, [self.P[i, f]])
            if "7'" in cuts:
                columns = [self.o[i, f], self.gone0[i]]
                self.model.at_least(f"first_{i}", columns, [1, -self.w[i]], 0)
        if "6c" in cuts:
            self._add_copied()

    def _add_copied(self) -> None:
        for i, k, after in self._places():
            if after not in {self._b(i), self._f(i)}:
                columns = [self.d[i, after], self.d[i, k], self.D[i, k]]
                self.model.equal(f"deleted_{i}_{k}", columns, [1, -1, -1], 0)
        for i, k, _ in self._places():
            if k not in {self._b(i), self._f(i)}:
                self.model.at_least(f"copied_{i}_{k}", [self.o[i, k], self.d[i, k]], [1, -1], 0)
