"""Rows of steps under ``torch.compile``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch

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
from jettison.instances.zoo.catalogue import build
from jettison.torch import (
    compiled,
)

COMPILED: dict[str, dict[str, Any]] = {
    "gpt2-small": {"batch": 4, "input_size": 512},
    "vit-b16": {"batch": 16, "input_size": 224},
    "resnet50": {"batch": 32, "input_size": 224},
}
BACKENDS = ("aot_eager", "inductor")


def compiled_rows(name: str, sizes: dict[str, Any], short: str, repeats: int) -> Iterator[Row]:
    """Yield the rows of a step under ``torch.compile``, beside the compiled step without a plan."""
    work = build(name, **sizes).to(DEVICE)
    plain = plain_of(work)
    plain()
    expected = gradients_of(work)
    for backend in BACKENDS:
        row = Row(short, name, 0, f"compiled, {backend}", "60%", 0, 0)
        try:
            torch.compiler.reset()
            without = torch.compile(work.model, backend=backend, fullgraph=True, dynamic=False)
            usual = step_of(work, lambda x, run=without: work.loss(run(x)))
            usual()
            work.model.zero_grad(set_to_none=True)
            plain_bytes, _ = peak_of(usual)
            _, usual_ns = turns_of(plain, usual, repeats)
            torch.compiler.reset()
            planned = compiled(work.model, memory=row.share, backend=backend, time_limit=SOLVE_S)
            step = step_of(work, lambda x, run=planned: work.loss(run(x)))
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
