"""Reduction of sizes far above the memory, which would ruin the scale of models.

A strategy whose value alone exceeds the memory :math:`M` is part of no plan, however large it is.
Models scale by the largest of all sizes (`IntegerScale`), and one that is a billion times the
memory would round all others away. With :math:`g` the greatest common divisor of all sizes, a size
above :math:`2M + g` becomes the least multiple of :math:`g` above :math:`2M`. Plans that fit, and
the least amount above the memory that models can prove to be needed, stay the same.
"""

from __future__ import annotations

import math
from dataclasses import replace

from jettison.instances.remat_sharding.problem import RematSharding


def with_sizes_that_matter(problem: RematSharding) -> RematSharding:
    """Return a problem with the same plans and smaller sizes of strategies that never fit."""
    sharded, memory_bytes = problem.instance, problem.memory_bytes
    sizes = [
        strategy.memory_bytes for operator in sharded.operators for strategy in operator.strategies
    ]
    divisor = math.gcd(*sizes) or 1
    most_bytes = (2 * memory_bytes // divisor + 1) * divisor
    if max(sizes) <= most_bytes:
        return problem
    operators = tuple(
        replace(
            operator,
            strategies=tuple(
                replace(strategy, memory_bytes=min(strategy.memory_bytes, most_bytes))
                for strategy in operator.strategies
            ),
        )
        for operator in sharded.operators
    )
    return RematSharding(replace(sharded, operators=operators), memory_bytes)
