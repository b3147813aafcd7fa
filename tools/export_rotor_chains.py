"""Write the chains of Section 5 of RR-9302 for the notebook on rotor: a record of modelled chains.

Run ``python -m tools.export_rotor_chains`` from a checkout with PyTorch; it takes minutes. Networks
of the paper, at its image sizes, are modelled at the rates of its GPU (`model_chain`): sizes are
exact, durations those of a roofline. The file has a line of JSON for what all chains share, and one
for each. Stages with the same numbers are written once, since most of a ResNet are equal.
So the record is small enough for a checkout; it is in no wheel, and to read it needs no PyTorch.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path

import torch
from torch import Tensor

from jettison.instances.profilers.device.rates import V100
from jettison.instances.profilers.torch_chains.modelled_chain import model_chain
from jettison.instances.remat_chain.chain import Chain, Stage
from jettison.instances.zoo.catalogue import build
from jettison.instances.zoo.workload import CrossEntropy

RECORD = Path(__file__).parents[1] / "notebooks" / "_recorded" / "rotor_chains.jsonl.gz"

# Of a stage; gradients are as large as outputs here, and weights are not trained.
_OTHER_NUMBERS = {
    "output_gradient_bytes",
    "weight_gradient_bytes",
    "optimizer_state_bytes",
    "update_ns",
    "host_update_ns",
}
NUMBERS = [item.name for item in fields(Stage)[1:] if item.name not in _OTHER_NUMBERS]
# Batches of each image size. The paper's are powers of two that it gives only for Figures 3 and 4.
_BATCHES: dict[int, tuple[int, ...]] = {
    224: (1, 2, 4, 8, 16, 32),
    500: (1, 2, 4, 8, 16),
    1000: (1, 2, 4, 8),
}
_OTHERS: dict[str, dict[int, tuple[int, ...]]] = {
    "resnet1001": {224: (1, 2, 4, 8), 500: (1, 2), 1000: (1,)},
    "resnet1001-narrow": {224: (8,)},
}
_NETWORKS: dict[str, dict[str, int]] = {
    **{f"resnet{depth}": {} for depth in (18, 34, 50, 101, 152, 200)},
    # As wide as in the collection of networks that the paper cites, which its numbers fit.
    "resnet1001": {"width": 64},
    # As wide as in the paper that has it first, for comparison.
    "resnet1001-narrow": {},
    **{f"densenet{depth}": {} for depth in (121, 161, 169, 201)},
    "inception-v3": {},
    "vgg16": {},
}


def modelled_chains(networks: Sequence[str]) -> Iterator[Chain]:
    """Yield the chains of networks, with all image sizes and batches."""
    for network in networks:
        model = network.removesuffix("-narrow")
        work = build(model, batch=1, input_size=224, **_NETWORKS[network])
        for side, batches in _OTHERS.get(network, _BATCHES).items():
            for batch in batches:
                yield model_chain(
                    work.model,
                    _images(batch, side),
                    name=f"{network}-b{batch}-3x{side}x{side}-v100-roofline",
                    model_name=network,
                    model_arguments=work.model_arguments,
                    loss=CrossEntropy(torch.zeros(batch, dtype=torch.long)),
                    rates=V100,
                )


def _images(batch: int, side: int) -> Tensor:
    return torch.empty(batch, 3, side, side)


def line_of(chain: Chain) -> dict[str, object]:
    """Return a chain as an object of JSON, in which each set of numbers is written once."""
    numbers = [tuple(getattr(stage, name) for name in NUMBERS) for stage in chain]
    distinct = list(dict.fromkeys(numbers))
    place = {entry: number for number, entry in enumerate(distinct)}
    known = chain.provenance
    return {
        "name": chain.name,
        "network": known.model,
        "arguments": dict(known.model_arguments),
        "side": known.input_shape[-1],
        "batch": known.batch,
        "input_bytes": chain.input_bytes,
        "distinct": distinct,
        "stages": [place[entry] for entry in numbers],
    }


def main() -> None:
    """Write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", nargs="*", choices=_NETWORKS, default=list(_NETWORKS))
    parser.add_argument("--output", type=Path, default=RECORD)
    options = parser.parse_args()
    lines: list[dict[str, object]] = []
    for chain in modelled_chains(options.networks):
        known = chain.provenance
        if not lines:
            lines.append(
                {
                    "fields": NUMBERS,
                    "source": known.source,
                    "device": known.device,
                    "note": known.note,
                    "exporter": known.exporter,
                    "libraries": dict(known.libraries),
                    "date": known.date,
                }
            )
        lines.append(line_of(chain))
        sys.stdout.write(f"{chain.name}: {len(chain)} stages\n")
        sys.stdout.flush()
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    options.output.write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main()
