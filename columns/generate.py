"""Generators of instances, as `jettison generate` has them.

Random ones are classes of parameters with a method ``draw(seed)``: equal seeds give equal instances
on any machine. Hard ones come with their answer and a certificate of it.
"""

from jettison.instances.generators.fused_networks.networks import fused_network
from jettison.instances.generators.layered_graph import LayeredGraphs, Passes
from jettison.instances.generators.random_models import RandomModels
from jettison.instances.generators.strategy_graphs import StrategyGraphs
from jettison.instances.generators.three_partition_family import (
    Family,
    family_of,
    generate_three_partition,
)
from jettison.instances.generators.training_networks import training_graph
from jettison.instances.multi_model.joined import joined_models

__all__ = [
    "Family",
    "LayeredGraphs",
    "Passes",
    "RandomModels",
    "StrategyGraphs",
    "family_of",
    "fused_network",
    "generate_three_partition",
    "joined_models",
    "training_graph",
]
