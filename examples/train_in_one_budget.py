"""Train a GPT-2 in half of all that it needs, weights and optimizer included: the same losses.

Needs PyTorch (``pip install 'jettison[torch]'``); some seconds on a CPU, where device and host are
two parts of the same memory.
"""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from jettison.instances.zoo.catalogue import build
from jettison.torch import train_in_one_budget

STEPS = 4


def adam(parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
    """Return the optimizer of some parameters; one that is fused takes no memory besides."""
    return torch.optim.AdamW(parameters, lr=1e-3, fused=True)


def main() -> None:
    """Train twice, and print what came of it."""
    work = build("gpt2", batch=4, input_size=64, depth=8, hidden=96, heads=4, vocabulary=500)
    batch, loss = work.sample_input, work.loss
    assert isinstance(work.model, nn.Sequential)
    assert isinstance(batch, Tensor)
    # The head shares the weights of the embedding; here it has its own, since a stage's weights
    # have one place and one update.
    head = work.model[-1][1]
    head.weight = nn.Parameter(head.weight.detach().clone())
    plain = copy.deepcopy(work.model)
    trainer = train_in_one_budget(
        work.model,
        optimizer=adam,
        loss=loss,
        memory="50%",
        bandwidth="2GB/s",
        sample_input=batch,
        time_limit=2,
    )
    torch.manual_seed(0)  # the model has dropout
    losses = [float(trainer.step(batch)) for _ in range(STEPS - 1)]
    last = trainer.measure_peak(batch)
    losses.append(float(last.loss))
    trainer.close()

    torch.manual_seed(0)
    optimizer = adam(list(plain.parameters()))
    plain_losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        value = loss(plain(batch))
        value.backward()
        optimizer.step()
        plain_losses.append(float(value.detach()))

    mib = 2**20
    equal = all(
        torch.equal(mine, other)
        for mine, other in zip(work.model.parameters(), plain.parameters(), strict=True)
    )
    print(f"losses            {losses}")
    print(f"equal losses      {losses == plain_losses}, equal weights {equal}")
    print(f"all on the device {trainer.problem.keep_all_peak_bytes / mib:.1f} MiB")
    print(f"predicted peak    {trainer.predicted.peak_bytes / mib:.1f} MiB")
    print(f"measured peak     {last.measured / mib:.1f} MiB")
    print(f"predicted step    {trainer.predicted.time_ns / 1e6:.1f} ms")
    print(f"no schedule below {trainer.predicted.bound_ns / 1e6:.1f} ms")


if __name__ == "__main__":
    main()
