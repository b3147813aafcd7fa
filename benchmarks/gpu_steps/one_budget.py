"""Rows of steps with their optimizer, everything planned in one memory."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median_low
from typing import Any

import torch
from torch import nn

from benchmarks.gpu_steps.measured_step import (
    DEVICE,
    SOLVE_S,
    Row,
    failed,
    peak_of,
)
from jettison.instances.catalog import save
from jettison.instances.core.errors import JettisonError
from jettison.instances.profilers.device.timing import duration_ns
from jettison.instances.zoo.catalogue import build
from jettison.instances.zoo.workload import Workload
from jettison.torch import (
    train_in_one_budget,
)

BUDGETS: dict[str, dict[str, Any]] = {
    "gpt2-medium": {"batch": 4, "input_size": 1024, "dropout": 0.0},
}
BUDGET_SHARES = ("60%", "35%")


def adam(parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
    """Return the optimizer of some parameters."""
    return torch.optim.AdamW(parameters, lr=1e-4, fused=True)


def usual_training(work: Workload, repeats: int) -> tuple[int, int, list[float]]:
    """Return time, peak and first losses of plain steps with their optimizer, on a copy."""
    model = copy.deepcopy(work.model)
    optimizer = adam(list(model.parameters()))
    losses: list[float] = []

    def step() -> None:
        optimizer.zero_grad()
        value = work.loss(model(work.sample_input))
        value.backward()
        optimizer.step()
        losses.append(float(value.detach()))

    for _ in range(2):
        step()
    rise_bytes, _ = peak_of(step)
    # What is there before a step: weights, gradients and two states of Adam.
    held_bytes = 4 * sum(item.nbytes for item in model.parameters())
    time_ns = median_low(duration_ns(step, DEVICE) for _ in range(repeats))
    return time_ns, rise_bytes + held_bytes, losses


def budget_rows(
    name: str, sizes: dict[str, Any], short: str, link: int, repeats: int, folder: Path
) -> Iterator[Row]:
    """Yield the rows of steps with their optimizer, everything planned in one memory."""
    label = f"{name}-training-b{sizes['batch']}-{sizes['input_size']}-{short}"
    plain_ns = plain_bytes = None
    for share in BUDGET_SHARES:
        work = build(name, **sizes).to(DEVICE)
        # A stage's weights have one place: the head has its own.
        head = work.model[-1][1]
        head.weight = nn.Parameter(head.weight.detach().clone())
        batch = work.sample_input
        expected: list[float] = []
        if plain_ns is None:
            plain_ns, plain_bytes, expected = usual_training(work, repeats)
        row = Row(short, name, len(work.model) + 1, "training-chain", share, 0, plain_ns)
        try:
            trainer = train_in_one_budget(
                work.model,
                optimizer=adam,
                loss=work.loss,
                memory=share,
                bandwidth=link,
                sample_input=batch,
                time_limit=4 * SOLVE_S,
            )
            chain = trainer.problem.instance
            save(chain, folder / f"{label}.json")
            found = [float(trainer.step(batch)) for _ in range(3)]
            measured_ns = trainer.measure_time(batch, steps=repeats).measured
            last = trainer.measure_peak(batch)
            yield replace(
                row,
                base_ns=chain.base_time_ns,
                bound_ns=trainer.predicted.bound_ns,
                predicted_ns=trainer.predicted.time_ns,
                measured_ns=measured_ns,
                limit_bytes=trainer.problem.memory_bytes,
                plain_bytes=plain_bytes,
                predicted_bytes=trainer.predicted.peak_bytes,
                measured_bytes=int(last.measured),
                reserved_bytes=(
                    torch.cuda.max_memory_reserved(DEVICE) if DEVICE.type == "cuda" else None
                ),
                gradients=f"losses {found} beside {expected[:3]}",
            )
            trainer.close()
        except (JettisonError, RuntimeError) as error:
            yield failed(row, error)
