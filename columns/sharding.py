"""Choose one strategy for each operator: the instance, the problem, and its answers."""

from jettison.instances.sharding.problem import Sharding
from jettison.instances.sharding.strategy_graph import StrategyEdge, StrategyGraph, StrategyNode
from jettison.schedules.sharding.strategy_choice import StrategyChoice

__all__ = [
    "Sharding",
    "StrategyChoice",
    "StrategyEdge",
    "StrategyGraph",
    "StrategyNode",
]
