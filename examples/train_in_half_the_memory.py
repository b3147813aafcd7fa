"""Train a GPT-2 in half of its memory: the same losses, bit for bit, in a little more time.

Needs PyTorch (``pip install 'jettison[torch]'``); a few seconds on a CPU.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch
from torch import Tensor, nn

from jettison.instances.core.parameter_gradients import ParameterGradients
from jettison.instances.profilers.torch_chains.stage_memory import memory_meter
from jettison.instances.zoo.catalogue import build
from jettison.torch import checkpoint_sequential_optimal

STEPS = 4


def train(model: nn.Module, loss_of_batch: Callable[[], Tensor]) -> tuple[list[float], int]:
    """Return the loss of each step, and the largest rise of memory during the last one."""
    torch.manual_seed(0)  # the model has dropout
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad(set_to_none=False)
        with memory_meter(torch.device("cpu")) as meter, meter.window() as window:
            loss = loss_of_batch()
            loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses, window.rise_bytes


def main() -> None:
    """Train twice, and print what came of it."""
    work = build("gpt2", batch=4, input_size=64, depth=8, hidden=96, heads=4, vocabulary=500)
    batch, loss = work.sample_input, work.loss
    plain = copy.deepcopy(work.model)
    # The gradients stay allocated between steps, so that the peaks below are without them.
    scheduled = checkpoint_sequential_optimal(
        work.model,
        memory="50%",
        sample_input=batch,
        loss=loss,
        gradients=ParameterGradients.ACCUMULATED,
    )
    plain_losses, plain_bytes = train(plain, lambda: loss(plain(batch)))
    losses, peak_bytes = train(work.model, lambda: scheduled(batch))
    slowdown = scheduled.predicted.time_ns / scheduled.chain.base_time_ns
    print(f"plain:     losses {plain_losses}, peak {plain_bytes / 2**20:.1f} MiB")
    print(f"scheduled: losses {losses}, peak {peak_bytes / 2**20:.1f} MiB")
    print(
        f"predicted: peak {scheduled.predicted.peak_bytes / 2**20:.1f} MiB, "
        f"{slowdown:.2f} times the plain step"
    )
    print(f"equal losses: {losses == plain_losses}")


if __name__ == "__main__":
    main()
