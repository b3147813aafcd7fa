"""Peaks of plans under Inductor: predicted by the plan, by the code alone, with kernels; measured.

Five small models, in shares of their measured peak without recomputation. Writes
``compiled_peaks.csv`` and the table of ``docs/torch_compile.md``; takes about five minutes of one
core. Rows that are recorded stay, unless their models are named::

    .venv/bin/python -m benchmarks.compiled_peaks
    .venv/bin/python -m benchmarks.compiled_peaks blocks mlp
    .venv/bin/python -m benchmarks.compiled_peaks --page-only
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.compiled_peaks_page import PAGE, RECORD, read_record, write_table
from examples import compile_in_half_the_memory as example
from jettison.instances.core.errors import InputError
from jettison.torch import compiled

SHARES = ("80%", "60%", "40%")
MOST_MOVES = 500_000


@dataclass(frozen=True, slots=True)
class Row:
    """Plan that was compiled.

    Attributes
    ----------
    model, share
        What was compiled, and the limit.
    number
        Its place among the plans that were compiled for this limit; 0 without recomputation.
    is_chosen
        Whether it is the one that runs.
    limit_bytes, planned_for_bytes
        The limit on the measured peak, and that of the plan.
    plan_bytes, predicted_bytes, measured_bytes
        Peak by the plan, by the generated code, and measured.
    slowdown
        Time of the plan by that of a step, by the assumed rates.
    torch_version
        Version of PyTorch.
    """

    model: str
    share: str
    number: int
    is_chosen: bool
    limit_bytes: int
    planned_for_bytes: int
    plan_bytes: int
    predicted_bytes: int
    measured_bytes: int
    slowdown: float
    torch_version: str = torch.__version__


class Block(nn.Module):
    """Residual block."""

    def __init__(self, wide: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(wide, wide, 3, padding=1, bias=False),
            nn.BatchNorm2d(wide),
            nn.ReLU(inplace=True),
            nn.Conv2d(wide, wide, 3, padding=1, bias=False),
            nn.BatchNorm2d(wide),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return the input with what the block adds to it."""
        return functional.relu(x + self.body(x))


Built = tuple[nn.Module, tuple[Tensor, ...]]


def blocks() -> Built:
    """Build three residual blocks with batch norm."""
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10)]
    body = [Block(16) for _ in range(3)]
    model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), *body, *head)
    return model, (torch.randn(16, 3, 32, 32),)


def convnet() -> Built:
    """Build four convolutions with batch norm, two of them with strides."""
    layers: list[nn.Module] = []
    before = 3
    for wide, stride in ((16, 1), (32, 2), (32, 1), (64, 2)):
        layers += [
            nn.Conv2d(before, wide, 3, padding=1, stride=stride),
            nn.BatchNorm2d(wide),
            nn.ReLU(),
        ]
        before = wide
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(before, 10)]
    return nn.Sequential(*layers, *head), (torch.randn(16, 3, 32, 32),)


def mlp() -> Built:
    """Build six layers with GELU."""
    layers = [nn.Sequential(nn.Linear(64, 64), nn.GELU()) for _ in range(6)]
    return nn.Sequential(*layers), (torch.randn(4096, 64),)


def encoder() -> Built:
    """Build one layer of a transformer encoder of PyTorch."""
    layer = nn.TransformerEncoderLayer(64, 4, 256, dropout=0.0, batch_first=True, norm_first=True)
    return layer, (torch.randn(8, 64, 64),)


def llama() -> Built:
    """Build the model of ``examples/compile_in_half_the_memory.py``."""
    shape = (example.BATCH, example.TOKENS)
    return example.Llama(), (
        torch.randint(example.VOCABULARY, shape),
        torch.randint(example.VOCABULARY, shape),
    )


MODELS: dict[str, Callable[[], Built]] = {
    "blocks": blocks,
    "convnet": convnet,
    "mlp": mlp,
    "encoder": encoder,
    "llama": llama,
}


def measured_rows(name: str, share: str) -> list[Row]:
    """Compile a model, and return all plans that were tried."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    model, batch = MODELS[name]()
    run = compiled(model, memory=share, most_moves=MOST_MOVES)
    # Where no plan fits, those that were tried are reported all the same, and none is chosen.
    with suppress(InputError):
        run(*batch)
    report = run.reports[0]
    return [
        Row(
            name,
            share,
            number,
            attempt is report.chosen,
            report.limit_bytes,
            attempt.plan.limit_bytes,
            attempt.plan.predicted_peak_bytes,
            attempt.predicted_peak_bytes,
            attempt.measured_peak_bytes or 0,
            round(attempt.plan.time_ns / attempt.plan.base_time_ns, 4),
        )
        for number, attempt in enumerate(report.attempts)
    ]


def main() -> None:
    """Measure what is missing, and write the record and the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", help="measured anew; by default what is missing")
    parser.add_argument("--page-only", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if not options.page_only:
        for name in options.models or MODELS:
            for share in SHARES:
                lines = read_record(RECORD)
                is_known = any((line["model"], line["share"]) == (name, share) for line in lines)
                if is_known and not options.models:
                    continue
                _record(RECORD, name, share, measured_rows(name, share))
    write_table(PAGE, RECORD)


def _record(path: Path, name: str, share: str, rows: list[Row]) -> None:
    """Replace the rows of a model in a share; the file is replaced as a whole."""
    kept = [line for line in read_record(path) if (line["model"], line["share"]) != (name, share)]
    beside = path.with_suffix(".new")
    with beside.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Row)], lineterminator="\n")
        writer.writeheader()
        writer.writerows([*kept, *map(asdict, rows)])
    beside.replace(path)


if __name__ == "__main__":
    main()
