"""Where µ-TWO would be faster than HFTA: a sweep over assumed rates, recorded for the notebook.

The rates of `device.py` are assumptions, and so is every time that follows from them. Here they are
changed: `rate` multiplies arithmetic and device memory (once and 8 times), launches stay as they
are; `link_quarters` has the link in fourths of the assumed one (a fourth, 1 and 4 times). Eight
models of each network with the paper's batch in 40 GiB, and with an eighth of both.

A row has the replayed times of HFTA, of µ-TWO and of µ-TWO with copies both ways charged for, and
the lower bound of all schedules over the fastest of these links, which holds for the slower ones as
well. The table is written anew, in some ten minutes on one core.
Name networks to run only those.

    .venv/bin/python benchmarks/multi_model_rates.py
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator
from pathlib import Path

from jettison.instances.core.atomic_file import replacing
from jettison.instances.generators.fused_networks.device import (
    LINK_BYTES_PER_S,
    MEMORY_BYTES_PER_NS,
    TILE_FLOPS_PER_NS,
    AssumedDevice,
)
from jettison.instances.generators.fused_networks.networks import FUSED_NETWORKS, fused_network
from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve_with

TABLE = Path(__file__).parents[1] / "notebooks" / "_recorded" / "mu_two_rates.csv"
RATES = (1, 8)
# In quarters of the assumed link.
LINK_QUARTERS = (16, 4, 1)
PARTS = (1, 8)
METHODS = ("hfta", "mu-two", "mu-two-both-ways")
COLUMNS = ("network", "batch", "rate", "link_quarters", *METHODS, "bound")


def rows(network: str) -> Iterator[dict[str, object]]:
    """Yield the rows of a network."""
    for part in PARTS:
        batch = FUSED_NETWORKS[network].batch // part
        for rate in RATES:
            bound_ns: int | None = None
            for quarters in LINK_QUARTERS:
                device = AssumedDevice(
                    f"arithmetic and memory x{rate}, link x{quarters}/4",
                    tile_flops_per_ns=rate * TILE_FLOPS_PER_NS,
                    memory_bytes_per_ns=rate * MEMORY_BYTES_PER_NS,
                    link_bytes_per_s=quarters * LINK_BYTES_PER_S // 4,
                )
                models = fused_network(network, batch, 8, device)
                problem = MultiModelTraining(models, 40 * 2**30 // part)
                options = SolveOptions(time_limit_s=None)
                if bound_ns is None:
                    bound_ns = solve_with(problem, "bound", options).lower_bound_ns
                yield {
                    "network": network,
                    "batch": batch,
                    "rate": rate,
                    "link_quarters": quarters,
                    **{name: solve_with(problem, name, options).time_ns for name in METHODS},
                    "bound": bound_ns,
                }


def main(chosen: list[str]) -> None:
    """Write the rows of the networks that are named, or of all of them."""
    text = io.StringIO()
    table = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    table.writeheader()
    for network in chosen or FUSED_NETWORKS:
        for row in rows(network):
            table.writerow(row)
            print(*row.values(), flush=True)
    with replacing(TABLE) as file:
        file.write(text.getvalue().encode())


if __name__ == "__main__":
    main(sys.argv[1:])
