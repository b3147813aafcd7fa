"""Assumed rates at which µ-TWO is faster than HFTA: a sweep, recorded for the notebook.

The rates of `device.py` are assumptions, and so is every time that follows from them. Here they are
changed: `rate` multiplies arithmetic and device memory (once and 8 times), launches stay as they
are; `link_quarters` has the link in fourths of the assumed one (a fourth, 1 and 4 times). Eight
models of each network, with the paper's batch in 40 GiB and with an eighth of both; and, over the
fastest link, with small parts of the batch in the memory of so many models: `held` is how often
that of one model with every feature map kept goes into it. HFTA is limited to as many models, whole
ones: below 2 it trains them one by one.

A row has the hash of its instance, the replayed times and peaks of HFTA, of µ-TWO and of µ-TWO with
copies both ways charged for, and the lower bound of all schedules over the fastest of these links,
which holds for the slower ones as well. The table is written anew, in some twenty minutes on one
core. Name networks to run only those.

    .venv/bin/python benchmarks/multi_model_rates.py
"""

from __future__ import annotations

import csv
import io
import itertools
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from jettison.instances.core.atomic_file import replacing
from jettison.instances.core.memory import Amount
from jettison.instances.generators.fused_networks.device import (
    LINK_BYTES_PER_S,
    MEMORY_BYTES_PER_NS,
    TILE_FLOPS_PER_NS,
    AssumedDevice,
)
from jettison.instances.generators.fused_networks.networks import FUSED_NETWORKS, fused_network
from jettison.instances.multi_model.instance import MultiModel
from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.solve import solve_with

TABLE = Path(__file__).parents[1] / "notebooks" / "_recorded" / "mu_two_rates.csv"
RATES = (1, 8)
# In quarters of the assumed link.
LINK_QUARTERS = (16, 4, 1)
PARTS = (1, 8)
# How many models the memory holds, in percent, and parts of the batch for it.
HELD_PERCENT = (100, 150, 175, 195, 200, 400)
PARTS_OF_HELD = (8, 16, 32)
METHODS = ("hfta", "mu-two", "mu-two-both-ways")
COLUMNS = (
    *("network", "batch", "rate", "link_quarters", "held", "memory_bytes", "instance_sha256"),
    *METHODS,
    "bound",
    *(f"{name} peak_bytes" for name in METHODS),
    "versions",
)


def rows(network: str) -> Iterator[dict[str, object]]:
    """Yield the rows of a network."""
    for part, rate in itertools.product(PARTS, RATES):
        bound_ns: int | None = None
        for quarters in LINK_QUARTERS:
            models = on_device(network, part, rate, quarters)
            row = row_of(MultiModelTraining(models, 40 * 2**30 // part), bound_ns)
            bound_ns = row["bound"]
            yield {**place_of(network, part, rate, quarters), "held": "", **row}
    parts = [part for part in PARTS_OF_HELD if part <= FUSED_NETWORKS[network].batch]
    for part, rate in itertools.product(parts, RATES):
        models = on_device(network, part, rate, LINK_QUARTERS[0])
        for percent in HELD_PERCENT:
            memory = Amount(models.sub_array(1).store_all_peak_bytes * percent // 100)
            row = row_of(MultiModelTraining(models, memory), None)
            yield {**place_of(network, part, rate, LINK_QUARTERS[0]), "held": percent / 100, **row}


def on_device(network: str, part: int, rate: int, quarters: int) -> MultiModel:
    """Return eight models with a part of the batch, on a device of other rates."""
    device = AssumedDevice(
        f"arithmetic and memory x{rate}, link x{quarters}/4",
        tile_flops_per_ns=rate * TILE_FLOPS_PER_NS,
        memory_bytes_per_ns=rate * MEMORY_BYTES_PER_NS,
        link_bytes_per_s=quarters * LINK_BYTES_PER_S // 4,
    )
    return fused_network(network, FUSED_NETWORKS[network].batch // part, 8, device)


def place_of(network: str, part: int, rate: int, quarters: int) -> dict[str, object]:
    """Return where in the sweep a row stands."""
    batch = FUSED_NETWORKS[network].batch // part
    return {"network": network, "batch": batch, "rate": rate, "link_quarters": quarters}


def row_of(problem: MultiModelTraining, bound_ns: int | None) -> dict[str, Any]:
    """Return what the methods find, with the bound if there is none yet."""
    options = SolveOptions(time_limit_s=None)
    found = {name: solve_with(problem, name, options) for name in METHODS}
    if bound_ns is None:
        bound_ns = solve_with(problem, "bound", options).lower_bound_ns
    peaks = {
        f"{name} peak_bytes": None if result.replay is None else result.replay.peak_bytes
        for name, result in found.items()
    }
    return {
        "memory_bytes": problem.memory_bytes,
        "instance_sha256": problem.instance.sha256,
        **{name: result.time_ns for name, result in found.items()},
        "bound": bound_ns,
        **peaks,
        "versions": f"jettison {version('jettison')}, highspy {version('highspy')}",
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
