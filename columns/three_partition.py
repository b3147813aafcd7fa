"""3-PARTITION: instances with certified answers, and the chains that they become."""

from jettison.instances.three_partition.instance import ThreePartition

__all__ = [
    "ThreePartition",
]
