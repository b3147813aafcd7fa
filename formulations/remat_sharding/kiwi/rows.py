"""Common part of KIWI's full and reduced problem: the choice of strategies.

Both have the columns s and e and the rows (21) to (23) of `columns`, and products of
columns in what they count. `full` adds the rows about stages, `reduced` those about
moments.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar

from jettison.formulations.milp.integer_scale import IntegerScale
from jettison.formulations.remat_sharding.kiwi.columns import ShardingColumns
from jettison.formulations.remat_sharding.kiwi.products import Bilinear, Products
from jettison.instances.remat_sharding.problem import RematSharding
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph
from jettison.schedules.remat_sharding.schedule import ShardedSchedule


class PrintedRow(StrEnum):
    """Rows that can be built wrongly as printed, for tests of the corrections.

    Of both problems:

    ``resharding``
        (22) and (23) as inequalities.
    ``orientation``
        Tables read with source and target exchanged; both must have as many strategies.

    Of the full problem:

    ``parameters``
        (15) from :math:`t = i` on.
    ``memory``
        (16) as a strict inequality.
    ``start``
        (17) without operator 0.
    ``freed``
        (19) with the inputs only.
    ``end``
        (20) with nothing kept after the last stage.

    Of the reduced problem:

    ``at-once``
        (3) with what is freed at :math:`t` gone while :math:`t` runs.
    ``once``
        :math:`m_i` open for parameters and inputs that a backward operator reads.
    ``inputs``
        (9) for every operator that is freed in the forward pass.
    ``stays``
        (6) for parameters and what is kept.
    """

    RESHARDING = "resharding"
    ORIENTATION = "orientation"
    PARAMETERS = "parameters"
    MEMORY = "memory"
    START = "start"
    FREED = "freed"
    END = "end"
    AT_ONCE = "at-once"
    ONCE = "once"
    INPUTS = "inputs"
    STAYS = "stays"


@dataclass(frozen=True)
class KiwiModel(ABC):
    """Built KIWI model, with the translation of its points to schedules.

    Attributes
    ----------
    sharded
        The instance.
    concrete
        The Pyomo model.
    memory_scale, time_scale
        Turn U and the objective into bytes and nanoseconds.
    """

    sharded: ShardedGraph
    concrete: Any
    memory_scale: IntegerScale
    time_scale: IntegerScale

    @abstractmethod
    def schedule(self, values: Mapping[str, float]) -> ShardedSchedule:
        """Return the schedule of a point: its values by the names of columns, ``s_0_1`` say."""


@dataclass(frozen=True)
class KiwiForm:
    """Form of a KIWI model: how products are written, and which rows are as printed.

    Attributes
    ----------
    products
        Form of the products of columns.
    printed
        Rows to take as they are printed; then the model's points are no schedules.
    """

    products: Products = field(default_factory=Bilinear)
    printed: frozenset[PrintedRow] = frozenset()


class KiwiRows:
    """New Pyomo model with the columns and rows of strategies, to which a problem adds its own."""

    name: ClassVar[str]

    def __init__(self, form: KiwiForm, problem: RematSharding) -> None:
        import pyomo.environ as pyo

        self.pyo = pyo
        self.printed = form.printed
        self.problem = problem
        self.sharded = sharded = problem.instance
        self.count = len(sharded)
        self.concrete = concrete = pyo.ConcreteModel(self.name)
        self.columns = ShardingColumns(
            sharded,
            concrete,
            operator.le if PrintedRow.RESHARDING in self.printed else operator.eq,
            lambda a, b: (b, a) if PrintedRow.ORIENTATION in self.printed else (a, b),
        )
        self.products = form.products.on(concrete)
        self.sizes = [self.columns.sizes(i) for i in range(self.count)]
        self.limit = self.columns.memory_scale.to_model(problem.memory_bytes)

    @property
    def built(self) -> tuple[ShardedGraph, Any, IntegerScale, IntegerScale]:
        """The fields of a `KiwiModel`."""
        columns = self.columns
        return self.sharded, self.concrete, columns.memory_scale, columns.time_scale
