"""Iterations of many models that are trained by a schedule, beside what the replay predicts.

As in Section 5 of the paper of µ-TWO: iterations to warm up, then some of which the median counts
(100 and 10 there, fewer here unless ``--warmup`` and ``--iterations`` say so). The baseline are
separate trainings, one after the other, in the kernels of stacked models. CPU seconds of all
threads hold on a machine that does other work; the wall clock, with the time in which nothing was
computed, needs a quiet one. Before a line is printed, its losses, parameters and gradients are
compared with those of the separate trainings.

    .venv/bin/python benchmarks/many_models.py
"""

from __future__ import annotations

import argparse
import copy
import time

import torch
from torch import nn

from jettison.instances.core.errors import InputError
from jettison.instances.core.units import format_bytes
from jettison.torch.multi_model import SGD, ModelArray, optimal_trainer, profile_models
from jettison.torch.multi_model.separate_training import train_separately

MODELS = 4
SHARES = (100, 80, 60)
METHODS = ("hfta", "hfta-capuchin", "mu-two", "mu-two-both-ways")


def network(width: int) -> nn.Module:
    """Build a perceptron with normalisation."""
    layers: list[nn.Module] = []
    for _ in range(3):
        layers += [nn.LayerNorm(width), nn.Linear(width, width), nn.GELU()]
    return nn.Sequential(*layers, nn.Linear(width, 10))


def main() -> None:
    """Print a line for each share and method."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--warmup", type=int, default=2)
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    device = torch.device(options.device)
    models = [network(options.width).to(device) for _ in range(MODELS)]
    batches = [
        [
            (
                torch.randn(options.batch, options.width, device=device),
                torch.randint(10, (options.batch,), device=device),
            )
            for _ in models
        ]
        for _ in range(options.warmup + options.iterations)
    ]
    optimizers = [SGD(lr=0.01 * (1 + place), momentum=0.9) for place in range(MODELS)]
    loss = nn.functional.cross_entropy
    array = profile_models(
        models,
        batches[0][0][0],
        loss=loss,
        sample_loss_arguments=batches[0][0][1:],
        optimizers=optimizers,
    )
    before = copy.deepcopy(models)
    start = time.process_time()
    alone = [
        train_separately(before[place], loss, [step[place] for step in batches], optimizers[place])
        for place in range(MODELS)
    ]
    separate_ms = (time.process_time() - start) / len(batches) * 1e3
    print(f"separate trainings: {separate_ms:.1f} ms of the processor for each iteration")
    print(
        f"{'memory':>6} {'method':18} {'units':12} {'predicted':>9} {'processor':>9} {'wall':>9} "
        f"{'stall':>9} {'peak':>10} {'predicted':>10}  (ms)"
    )
    for share in SHARES:
        for method in METHODS:
            for model, old in zip(models, before, strict=True):
                model.load_state_dict(old.state_dict())
            line = measured(array, share, method, batches, options.warmup, alone)
            print(f"{share:>5}% {method:18} {line}")


def measured(
    array: ModelArray, share: int, method: str, batches: list, warmup: int, alone: list
) -> str:
    """Train by one schedule, and return its line."""
    try:
        trainer = optimal_trainer(array, memory=f"{share}%", method=method)
    except InputError as error:
        return str(error).split(";", maxsplit=1)[0]
    first = trainer.train(batches[:warmup]).losses
    start = time.process_time()
    report = trainer.train(batches[warmup:])
    processor_ms = (time.process_time() - start) / (len(batches) - warmup) * 1e3
    losses = torch.cat([first, report.losses])
    for place, (model, other) in enumerate(zip(array.models, alone, strict=True)):
        assert not other.differences(model, losses[:, place].tolist()), (share, method, place)
    units = " ".join("+".join(map(str, unit.sizes)) for unit in trainer.schedule.units)
    return (
        f"{units:12} {report.predicted_time_ns / 1e6:9.1f} {processor_ms:9.1f} "
        f"{report.time_ns / 1e6:9.1f} {report.stall_ns / 1e6:9.1f} "
        f"{format_bytes(report.peak_bytes):>10} {format_bytes(report.predicted_peak_bytes):>10}"
    )


if __name__ == "__main__":
    main()
