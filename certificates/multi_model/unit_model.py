r"""Integer program of one training unit: the relaxation of all its schedules, without roundings.

It is the model of ``formulations/multi_model/bound/model.py``, whose docstring has the proof that
every schedule is a point of it, in bytes and nanoseconds. Rows that multiply a time by the rate of
copies are multiplied by the denominator of the rate, p / q bytes per nanosecond, so that all
numbers are integers.

A unit is one sub-array, or a pair; in round n of a pair the forward pass of f runs beside the
backward pass of b. *Milestones* of a pass are some of its operators, the first and the last among
them, ``P`` of f and ``J`` of b. Stretch p of f has the feature maps with
:math:`P_p \le l_t < P_{p+1}`, and stretch j of b those with :math:`J_{j-1} < e_t \le J_j`. Each has
two *parts*: those at the milestone, :math:`l_t = P_p` or :math:`e_t = J_j`, whose *order* is p or
j, and the others, whose order is p + 1 or j - 1. Parts without feature maps are left out, as are
feature maps of no bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from ..integer_model import IntegerModel
from .given_models import GivenModels, GivenSubArray, Operator, Tensor

PATHS_OF_PAIR = ("recompute", "redo", "redo_swap", "swap", "late", "early", "keep")
PATHS_OF_ONE = ("recompute", "swap", "keep")

KEPT_FORWARD = {"late", "keep"}
MOVED_FORWARD = {"swap", "late", "early", "keep"}
KEPT_BACKWARD = {"redo", "early", "keep"}
MOVED_BACKWARD = set(PATHS_OF_PAIR) - {"recompute"}
AT_BOUNDARY = {"redo", "late", "early", "keep"}
# How often a feature map is copied in the round of its forward and of its backward pass.
CARRIED_FORWARD = {"swap": 1, "early": 2}
CARRIED_BACKWARD = {"redo_swap": 1, "swap": 1, "late": 2}

# A coefficient and a column.
Term = tuple[int, int]

# A sub-array with the milestones of its forward and of its backward pass.
MilestonesOf = tuple[GivenSubArray, tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Part:
    """Part of a stretch: the feature maps, by their places in the sub-array, and their bytes."""

    stretch: int
    order: int
    tensors: tuple[int, ...]
    size_bytes: int


@dataclass(frozen=True)
class ArrayColumns:
    """Sub-array of a unit with its milestones, and the columns of its feature maps by class."""

    given: GivenSubArray
    forward: tuple[int, ...]
    backward: tuple[int, ...]
    column: dict[tuple[int, str], int]

    @property
    def tensors(self) -> list[tuple[int, Tensor]]:
        """The feature maps of some bytes, with their places."""
        return [(t, item) for t, item in enumerate(self.given.tensors) if item.size_bytes]

    def parts_forward(self) -> list[Part]:
        """Return the parts of the forward pass, stretch by stretch."""
        idle_from = {t: item.last_forward for t, item in self.tensors}
        ends = (*self.forward[1:], len(self.given.forward))
        found = []
        for p, (place, end) in enumerate(zip(self.forward, ends, strict=True)):
            found += self._part(p, p, idle_from, range(place, place + 1))
            found += self._part(p, p + 1, idle_from, range(place + 1, end))
        return found

    def parts_backward(self) -> list[Part]:
        """Return the parts of the backward pass, stretch by stretch."""
        needed_by = {t: item.first_backward for t, item in self.tensors}
        befores = (-1, *self.backward[:-1])
        found = []
        for j, (place, before) in enumerate(zip(self.backward, befores, strict=True)):
            found += self._part(j, j, needed_by, range(place, place + 1))
            found += self._part(j, j - 1, needed_by, range(before + 1, place))
        return found

    def _part(
        self, stretch: int, order: int, place_of: Mapping[int, int], places: range
    ) -> list[Part]:
        tensors = tuple(t for t, place in place_of.items() if place in places)
        if not tensors:
            return []
        size_bytes = sum(self.given.tensors[t].size_bytes for t in tensors)
        return [Part(stretch, order, tensors, size_bytes)]

    def terms(
        self, tensors: Sequence[int], paths: Collection[str], amount: Callable[[Tensor], int]
    ) -> list[Term]:
        """Return an amount of each feature map times its columns of some classes."""
        return [
            (amount(self.given.tensors[t]), self.column[t, path])
            for t in tensors
            for path in PATHS_OF_PAIR
            if path in paths and (t, path) in self.column
        ]

    def present(
        self, tensors: Sequence[int], moved: Collection[str], kept: Collection[str]
    ) -> list[Term]:
        """Return the bytes of the classes `moved`, or `kept` where a copy takes no time."""
        slow = [t for t in tensors if self.given.tensors[t].copy_ns]
        instant = [t for t in tensors if not self.given.tensors[t].copy_ns]
        return self.terms(slow, moved, _size) + self.terms(instant, kept, _size)


def _size(tensor: Tensor) -> int:
    return tensor.size_bytes


def copy_ns(tensor: Tensor) -> int:
    """Return the time of a copy."""
    return tensor.copy_ns


def run_ns(operators: Sequence[Operator]) -> int:
    """Return the time of operators."""
    return sum(item.run_ns for item in operators)


class UnitModel:
    """Integer program of a unit; all of it but the rows of the rounds, and how these are written.

    Parameters
    ----------
    given
        The problem.
    arrays
        One or two sub-arrays, with the milestones of their passes.
    link
        Bytes and nanoseconds of the rate of copies, p and q.
    """

    def __init__(
        self,
        given: GivenModels,
        arrays: Sequence[MilestonesOf],
        link: tuple[int, int],
    ) -> None:
        self.given = given
        self.model = IntegerModel()
        self.link_bytes, self.link_ns = link
        self.static_bytes = sum(array.static_bytes for array, _, _ in arrays)
        # Everything swapped without any overlap: no least time is above it.
        self.horizon_ns = sum(
            array.compute_ns + 2 * sum(tensor.copy_ns for tensor in array.tensors)
            for array, _, _ in arrays
        )
        paths = PATHS_OF_PAIR if len(arrays) == 2 else PATHS_OF_ONE
        self.arrays = [
            ArrayColumns(array, forward, backward, self._classes(place, array, paths))
            for place, (array, forward, backward) in enumerate(arrays)
        ]
        for place, array in enumerate(self.arrays):
            for t, _ in array.tensors:
                classes = [(1, array.column[t, path]) for path in paths]
                columns = [column for _, column in classes]
                self.model.equal(f"class_{place}_{t}", columns, [1] * len(columns), 1)
            tensors = [t for t, _ in array.tensors]
            carried = array.given.forward[-1].active_bytes
            terms = array.terms(tensors, AT_BOUNDARY, _size)
            self.at_most(f"boundary_{place}", terms, self.room(carried))

    def _classes(
        self, place: int, array: GivenSubArray, paths: Sequence[str]
    ) -> dict[tuple[int, str], int]:
        return {
            (t, path): self.model.add_column(f"{path}_{place}_{t}", 0, 1)
            for t, tensor in enumerate(array.tensors)
            if tensor.size_bytes
            for path in paths
        }

    def room(self, used_bytes: int) -> int:
        """Return the memory beside static memory and these bytes; may be negative."""
        return self.given.memory_bytes - self.static_bytes - used_bytes

    def time(self, name: str, cost: int = 0) -> int:
        """Add a column for a time."""
        return self.model.add_column(name, 0, self.horizon_ns, cost=cost, is_integer=False)

    def sum_of(self, name: str, terms: Sequence[Term]) -> int:
        """Add a column that is the sum of terms with positive coefficients on binary columns."""
        most = sum(value for value, _ in terms)
        column = self.model.add_column(name, 0, most, is_integer=False)
        columns = [*(other for _, other in terms), column]
        self.model.equal(name, columns, [*(value for value, _ in terms), -1], 0)
        return column

    def at_least(self, name: str, terms: Sequence[Term], right: int) -> None:
        """Add an inequality."""
        columns, values = [column for _, column in terms], [value for value, _ in terms]
        self.model.at_least(name, columns, values, right)

    def at_most(self, name: str, terms: Sequence[Term], right: int) -> None:
        """Add an inequality of the other sense."""
        columns, values = [column for _, column in terms], [value for value, _ in terms]
        self.model.at_most(name, columns, values, right)

    def in_memory(
        self, name: str, terms: Sequence[Term], times: Sequence[Term], room: int, less_ns: int = 0
    ) -> None:
        """Add a row on memory: bytes less what copies move in some time fit in the room.

        The time is the sum of `times` less `less_ns`, and q times the row is written.
        """
        q = self.link_ns
        scaled = [(q * value, column) for value, column in terms]
        scaled += [(-self.link_bytes * value, column) for value, column in times]
        self.at_most(name, scaled, q * room - self.link_bytes * less_ns)
