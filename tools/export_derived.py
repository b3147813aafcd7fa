"""Write the bundled instances that are derived from papers, and the index.

Run ``python -m tools.export_derived`` from a checkout: the fused networks of µ-TWO and the chains
of the paper on weight offloading.
"""

from __future__ import annotations

from jettison.instances.catalog import Instance, save
from jettison.instances.generators.fused_networks.networks import FUSED_NETWORKS, fused_network
from jettison.instances.generators.published_transformers import PUBLISHED_ROWS, published_chain
from tools.bundled_index import DATA, write_index

_MODELS = 8


def main() -> None:
    """Write the files."""
    instances: list[Instance] = [fused_network(name, None, _MODELS) for name in FUSED_NETWORKS]
    instances += map(published_chain, PUBLISHED_ROWS)
    for instance in instances:
        save(instance, DATA / f"{instance.name}.json")
    write_index(DATA)


if __name__ == "__main__":
    main()
