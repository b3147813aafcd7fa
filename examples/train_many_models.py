"""Train four networks together in 60 % of their memory, each to the bit as if it were alone.

Needs PyTorch (``pip install 'jettison[torch]'``); some ten seconds on a CPU.
"""

from __future__ import annotations

import copy
from collections import Counter

import torch
from torch import Tensor, nn

from jettison.instances.core.units import format_bytes, format_ns
from jettison.torch.multi_model import SGD, optimal_trainer, profile_models, train_separately

MODELS, STEPS = 4, 5
WIDTH, CLASSES, BATCH = 64, 10, 512


class Block(nn.Module):
    """A residual block."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Add what the body computes."""
        return x + self.body(x)


def main() -> None:
    """Train by a schedule and one by one, and print what came of it."""
    torch.manual_seed(0)
    models = [
        nn.Sequential(Block(), Block(), nn.Linear(WIDTH, CLASSES)).double() for _ in range(MODELS)
    ]
    batches = [
        [
            (torch.randn(BATCH, WIDTH, dtype=torch.float64), torch.randint(CLASSES, (BATCH,)))
            for _ in range(MODELS)
        ]
        for _ in range(STEPS)
    ]
    before = [copy.deepcopy(model) for model in models]
    # A search for the best rate of learning, say.
    optimizers = [SGD(lr=0.02 * (1 + number), momentum=0.9) for number in range(MODELS)]
    loss = nn.functional.cross_entropy

    batch, labels = batches[0][0]
    array = profile_models(
        models,
        batch,
        loss=loss,
        sample_loss_arguments=(labels,),
        optimizers=optimizers,
        # Pairs of two models; four are measured so that there is something to take 60 % of.
        sizes=(2, 4),
    )
    trainer = optimal_trainer(array, memory="60%", method="mu-two")
    report = trainer.train(batches)
    units = trainer.schedule.units

    operations = Counter(
        operation.action.name.lower()
        for unit in units
        for operations in unit.rounds
        for operation in operations
    )
    equal = all(
        not train_separately(
            before[place], loss, [step[place] for step in batches], optimizers[place]
        ).differences(models[place], report.losses[:, place].tolist())
        for place in range(MODELS)
    )
    print(f"sub-arrays {[unit.sizes for unit in units]}, operations {dict(operations)}")
    print(f"losses of the last step: {[round(loss, 4) for loss in report.losses[-1].tolist()]}")
    print(
        f"peak: {format_bytes(report.peak_bytes)} of {format_bytes(report.limit_bytes)}, "
        f"predicted {format_bytes(report.predicted_peak_bytes)}; "
        f"{format_bytes(report.host_bytes)} on the host"
    )
    print(
        f"an iteration: {format_ns(report.time_ns)}, of which {format_ns(report.stall_ns)} nothing "
        f"was computed; predicted {format_ns(report.predicted_time_ns)} and "
        f"{format_ns(report.predicted_stall_ns)}"
    )
    print(f"losses, parameters and gradients equal to four separate trainings: {equal}")


if __name__ == "__main__":
    main()
