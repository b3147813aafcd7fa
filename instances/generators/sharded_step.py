r"""Training steps of matrices on a mesh of 2 x 2 devices, with costs from a stated model.

A tensor is a matrix, and a *layout* :math:`(a, b)` cuts its rows into :math:`a` and its columns
into :math:`b` parts; what is not cut is on every device. Strategies, of which the first ones are
taken where fewer are asked for:

============================ ======================================================================
tensor                       a parameter or an input, by its layout
aligned                      an operation that treats all its matrices alike: they have one layout
product :math:`C = A B`      ``rows`` (4, 1) from (4, 1) and (1, 1); ``columns`` (1, 4) from (1, 1)
                             and (1, 4); ``inner`` (1, 1) from (1, 4) and (4, 1), with an
                             all-reduce of the partial sums; ``grid`` (2, 2) from (2, 1) and (1, 2)
============================ ======================================================================

Costs, rounded up to nanoseconds: a computation takes the larger of 1 µs and
:math:`f / F + m / W` for the :math:`f` operations and the :math:`m` bytes of one device, with
:math:`F` = 14 TFLOP/s and :math:`W` = 0.8 TB/s. A collective over :math:`n` devices takes
:math:`\alpha` = 10 µs and, at :math:`b` = 130 GB/s and for :math:`B` bytes after gathering,
:math:`(n-1) B / (n b)` (all-gather), twice that (all-reduce) or half of it (all-to-all). A value
that its reader needs finer is cut for nothing; if it is needed coarser it is gathered, and if one
dimension is to be finer and the other coarser, that is an all-to-all. A V100 has such rates;
nothing here was measured.

Everything is an integer that follows from the shapes: the same words give the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from jettison.instances.core.errors import InputError
from jettison.instances.core.provenance import Provenance
from jettison.instances.remat_sharding.operator import Operator, Role, Strategy
from jettison.instances.remat_sharding.sharded_graph import Resharding, ShardedGraph

MOST_STRATEGIES = 4
_DEVICES = 4
_BYTES_PER_ELEMENT = 4
_FLOP_PER_NS = 14_000
_MEMORY_BYTES_PER_NS = 800
_LINK_BYTES_PER_NS = 130
_LATENCY_NS = 10_000
_LEAST_NS = 1_000


class Layout(NamedTuple):
    """Into how many parts the rows and the columns of a matrix are cut."""

    rows: int
    columns: int

    @property
    def parts(self) -> int:
        """Of how many parts one device has one."""
        return self.rows * self.columns

    @property
    def transposed(self) -> Layout:
        """The layout of the transposed matrix."""
        return Layout(self.columns, self.rows)


WHOLE, ROWS, COLUMNS, GRID = Layout(1, 1), Layout(4, 1), Layout(1, 4), Layout(2, 2)
_NAMES = {WHOLE: "whole", ROWS: "rows", COLUMNS: "columns", GRID: "grid"}
DATA_LAYOUTS = (ROWS, WHOLE, COLUMNS, GRID)
PARAMETER_LAYOUTS = (WHOLE, COLUMNS, ROWS, GRID)


class Product(Enum):
    """A product of two matrices, one of them transposed or none."""

    PLAIN = "a b"
    LEFT_TRANSPOSED = "a^T b"
    RIGHT_TRANSPOSED = "a b^T"


class _Way(NamedTuple):
    """One way to compute a product."""

    name: str
    output: Layout
    left: Layout
    right: Layout


_BY_ROWS = _Way("rows", ROWS, ROWS, WHOLE)
_BY_COLUMNS = _Way("columns", COLUMNS, WHOLE, COLUMNS)
_INNER = _Way("inner", WHOLE, COLUMNS, ROWS)
_GRID = _Way("grid", GRID, Layout(2, 1), Layout(1, 2))
_WAYS = {
    Product.PLAIN: (_BY_ROWS, _BY_COLUMNS, _INNER, _GRID),
    # The gradient of a weight: its inner dimension is the batch, which is cut first.
    Product.LEFT_TRANSPOSED: (_INNER, _BY_COLUMNS, _BY_ROWS, _GRID),
    Product.RIGHT_TRANSPOSED: (_BY_ROWS, _BY_COLUMNS, _INNER, _GRID),
}


@dataclass(frozen=True, slots=True)
class _Value:
    """What an operator computes, and how, strategy by strategy."""

    rows: int
    columns: int
    layouts: tuple[Layout, ...]

    @property
    def size_bytes(self) -> int:
        return _BYTES_PER_ELEMENT * self.rows * self.columns


class ShardedStep:
    """Puts a training step together, operator by operator.

    Parameters
    ----------
    name
        Of the graph.
    strategies
        How many strategies each operator has, 1 to 4.

    Raises
    ------
    InputError
        If there cannot be so many strategies.
    """

    def __init__(self, name: str, strategies: int) -> None:
        if not 1 <= strategies <= MOST_STRATEGIES:
            raise InputError(
                f"{strategies}", field="strategies", expected=f"write 1 to {MOST_STRATEGIES}"
            )
        self.name = name
        self._count = strategies
        self._operators: list[Operator] = []
        self._tables: list[Resharding] = []
        self._values: dict[str, _Value] = {}

    def tensor(
        self, name: str, role: Role, rows: int, columns: int, layouts: Sequence[Layout]
    ) -> str:
        """Add a parameter or an input, which costs nothing to make; return its name."""
        value = _Value(rows, columns, tuple(layouts[: self._count]))
        strategies = [
            Strategy(name=_NAMES[layout], compute_ns=0, memory_bytes=_part(value, layout))
            for layout in value.layouts
        ]
        return self._add(name, role, value, strategies, {})

    def aligned(self, name: str, role: Role, inputs: Sequence[str]) -> str:
        """Add an operation that only moves bytes, with the shape of its first input."""
        return self.aligned_shape(name, role, inputs, self._values[inputs[0]].columns, 0)

    def aligned_shape(
        self, name: str, role: Role, inputs: Sequence[str], columns: int, flops: int
    ) -> str:
        """Do the same for an output of other columns, and `flops` of all devices together."""
        rows = self._values[inputs[0]].rows
        value = _Value(rows, columns, DATA_LAYOUTS[: self._count])
        strategies = []
        for layout in value.layouts:
            moved = _part(value, layout) + sum(
                _part(self._values[source], layout) for source in inputs
            )
            strategies.append(
                Strategy(
                    name=_NAMES[layout],
                    compute_ns=_compute_ns(-(-flops // layout.parts), moved),
                    memory_bytes=_part(value, layout),
                )
            )
        return self._add(name, role, value, strategies, dict.fromkeys(inputs, value.layouts))

    def product(
        self,
        name: str,
        role: Role,
        left: str,
        right: str,
        kind: Product = Product.PLAIN,
        *,
        keep: bool = False,
    ) -> str:
        """Add the product of two matrices; `keep` is for the gradient of a weight."""
        a, b = self._values[left], self._values[right]
        ways = _WAYS[kind][: self._count]
        left_layouts = tuple(way.left for way in ways)
        right_layouts = tuple(way.right for way in ways)
        rows, inner, columns = a.rows, a.columns, b.columns
        if kind is Product.LEFT_TRANSPOSED:
            rows, inner = a.columns, a.rows
            left_layouts = tuple(layout.transposed for layout in left_layouts)
        if kind is Product.RIGHT_TRANSPOSED:
            columns = b.rows
            right_layouts = tuple(layout.transposed for layout in right_layouts)
        value = _Value(rows, columns, tuple(way.output for way in ways))
        flops = 2 * rows * inner * columns
        strategies = []
        for way, of_left, of_right in zip(ways, left_layouts, right_layouts, strict=True):
            size_bytes = _part(value, way.output)
            moved = size_bytes + _part(a, of_left) + _part(b, of_right)
            strategies.append(
                Strategy(
                    name=way.name,
                    compute_ns=_compute_ns(flops // _DEVICES, moved),
                    communication_ns=2 * _transfer_ns(size_bytes, _DEVICES) + _LATENCY_NS
                    if way is _INNER
                    else 0,
                    memory_bytes=size_bytes,
                )
            )
        needed = {left: left_layouts, right: right_layouts}
        return self._add(name, role, value, strategies, needed, keep=keep)

    def graph(self, note: str) -> ShardedGraph:
        """Return the graph; its fastest plan is not known yet."""
        return ShardedGraph(
            self.name,
            tuple(self._operators),
            tuple(self._tables),
            mesh=(2, 2),
            provenance=Provenance(source="synthetic", note=note),
        )

    def _add(
        self,
        name: str,
        role: Role,
        value: _Value,
        strategies: Sequence[Strategy],
        needed: dict[str, tuple[Layout, ...]],
        *,
        keep: bool = False,
    ) -> str:
        self._operators.append(
            Operator(
                name=name, role=role, strategies=tuple(strategies), inputs=tuple(needed), keep=keep
            )
        )
        self._values[name] = value
        for source, layouts in needed.items():
            given = self._values[source]
            costs = tuple(
                tuple(resharding_ns(given.size_bytes, before, after) for after in layouts)
                for before in given.layouts
            )
            if any(map(any, costs)):
                self._tables.append(Resharding(source, name, costs))
        return name


def resharding_ns(size_bytes: int, before: Layout, after: Layout) -> int:
    """Return what it takes to bring a matrix of `size_bytes` from one layout into another."""
    coarser = [old // new for old, new in zip(before, after, strict=True) if new < old]
    is_finer = any(new > old for old, new in zip(before, after, strict=True))
    if not coarser:
        return 0
    ratio = 1
    for factor in coarser:
        ratio *= factor
    gathered_bytes = -(-size_bytes // before.parts) * ratio
    transfer_ns = _transfer_ns(gathered_bytes, ratio)
    return _LATENCY_NS + (-(-transfer_ns // 2) if is_finer else transfer_ns)


def _part(value: _Value, layout: Layout) -> int:
    return -(-value.size_bytes // layout.parts)


def _compute_ns(flops: int, moved_bytes: int) -> int:
    spent_ns = -(-flops // _FLOP_PER_NS) - (-moved_bytes // _MEMORY_BYTES_PER_NS)
    return max(_LEAST_NS, spent_ns)


def _transfer_ns(gathered_bytes: int, devices: int) -> int:
    return -(-(devices - 1) * gathered_bytes // (devices * _LINK_BYTES_PER_NS))
