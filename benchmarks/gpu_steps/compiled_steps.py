"""Rows of steps under ``torch.compile``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.gpu_steps.measured_step import (
    DEVICE,
    SOLVE_S,
    Row,
    apart,
    failed,
    gradients_of,
    peak_of,
    plain_of,
    step_of,
    turns_of,
)
from jettison.instances.core.errors import JettisonError
from jettison.instances.profilers.torch_graphs.operator_cost import Measured
from jettison.instances.zoo.catalogue import build
from jettison.instances.zoo.workload import Workload
from jettison.torch import compiled

COMPILED: dict[str, dict[str, Any]] = {
    "gpt2-small": {"batch": 4, "input_size": 512},
    "vit-b16": {"batch": 16, "input_size": 224},
    "resnet50": {"batch": 32, "input_size": 224},
}
BACKENDS = ("aot_eager", "inductor")


class LossOf(nn.Module):
    """Loss of a model: one compiled graph has all that a step allocates, large outputs too."""

    def __init__(self, work: Workload) -> None:
        super().__init__()
        self.model = work.model
        self._loss = work.loss

    def forward(self, x: Tensor) -> Tensor:
        """Return the loss."""
        return self._loss(self.model(x))


def compiled_rows(name: str, sizes: dict[str, Any], short: str, repeats: int) -> Iterator[Row]:
    """Yield the rows of a step under ``torch.compile``, beside the compiled step without a plan."""
    work = build(name, **sizes).to(DEVICE)
    plain = plain_of(work)
    model = LossOf(work)
    plain()
    eager = gradients_of(work)
    cost = Measured(DEVICE, warmup=2, repeats=repeats)
    for backend in BACKENDS:
        row = Row(short, name, 0, f"compiled, {backend}", "60%", 0, 0)
        try:
            torch.compiler.reset()
            without = torch.compile(model, backend=backend, fullgraph=True, dynamic=False)
            usual = step_of(work, without)
            usual()
            # A compiler changes how numbers are rounded, with and without a plan.
            expected = gradients_of(work)
            print(f"{name}, {backend}: {apart(expected, eager)} from eager without a plan")
            work.model.zero_grad(set_to_none=True)
            plain_bytes, _ = peak_of(usual)
            _, usual_ns = turns_of(plain, usual, repeats)
            torch.compiler.reset()
            planned = compiled(
                model, memory=row.share, backend=backend, time_limit=SOLVE_S, cost=cost
            )
            step = step_of(work, planned)
            step()
            found = apart(gradients_of(work), expected)
            work.model.zero_grad(set_to_none=True)
            measured_bytes, reserved_bytes = peak_of(step)
            measured_ns, _ = turns_of(step, plain, repeats)
            report, plan = planned.report, planned.report.plan
            row = replace(
                row,
                base_ns=plan.base_time_ns,
                plain_ns=usual_ns,
                predicted_ns=plan.time_ns,
                measured_ns=measured_ns,
                limit_bytes=report.limit_bytes,
                plain_bytes=plain_bytes,
                predicted_bytes=plan.predicted_peak_bytes,
                measured_bytes=measured_bytes,
                reserved_bytes=reserved_bytes,
                gradients=found,
            )
            print(report, flush=True)
            yield row
        except (JettisonError, RuntimeError) as error:
            yield failed(row, error)
