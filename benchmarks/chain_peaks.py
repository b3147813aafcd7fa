"""Measured peaks of random chain schedules beside their limits and predictions.

Small models of many kinds (convolutions in both layouts, normalisations, dropout, attention,
pooling, views, composite functions) are profiled, and stepped by two kinds of schedules: solved
ones (`checkpoint_sequential_optimal`), of the measured sizes with durations drawn at random, in 35
to 100 % of the memory; and random sequences that the replay accepts, whose limit is the peak of
the replay.

A line of the table for each step: the limit, the peak of the replay, the predicted rise
(`Prediction.rise_bytes`), and the measured one, which counts what PyTorch's allocator hands out
beyond what was there before. Two figures follow from them:

* over: measured, without the gradients of parameters that are new, above the limit;
* off: predicted rise above the measured one;
* reserved: the peak of the replay and the gradients of parameters that are new, above the measured
  peak.

The file is appended to, and what stands in it is not measured again.
"""

from __future__ import annotations

import argparse
import csv
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import torch
from torch import Tensor, nn
from torch.nn import functional

from jettison.instances.core.parameter_gradients import ParameterGradients
from jettison.instances.profilers.cost_check import CostCheck
from jettison.instances.profilers.torch_chains.profiled_chain import profile_chain
from jettison.instances.profilers.torch_chains.stage_memory import memory_meter
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_chain.problem import RematChain
from jettison.schedules.remat_chain.schedule import ChainSchedule
from jettison.torch import CheckpointedSequential, checkpoint_sequential_optimal
from jettison.torch.chain_steps.step_chain import step_chain
from tests.remat_chain.random_sequences import random_sequence

COLUMNS = (
    "model",
    "gradients",
    "seed",
    "kind",
    "limit_bytes",
    "replay_bytes",
    "predicted_bytes",
    "measured_bytes",
    "new_gradients_bytes",
    "input_bytes",
)
Subject = tuple[nn.Sequential, Tensor]


class Attention(nn.Module):
    """Self-attention with a way around it."""

    def __init__(self, width: int, heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.inner = nn.MultiheadAttention(width, heads, dropout=dropout, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        """Return the input with what attention adds."""
        h = self.norm(x)
        return x + self.inner(h, h, h, need_weights=False)[0]


class Composite(nn.Module):
    """Functions of several operators, some of which autograd saves for nothing."""

    def forward(self, x: Tensor) -> Tensor:
        """Return the composite of the input."""
        return functional.normalize(torch.logsumexp(torch.stack([x, x * x, -x]), 0), dim=-1) + x


class Residual(nn.Module):
    """Two convolutions with batch normalisation, and a way around them."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, padding=1),
            nn.BatchNorm2d(width),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return the block of the input."""
        return functional.relu(x + self.inner(x))


def _layers(*modules: nn.Module) -> nn.Sequential:
    return nn.Sequential(*modules)


def linear() -> Subject:
    layers = [nn.Sequential(nn.Linear(128, 128), nn.GELU()) for _ in range(5)]
    return _layers(*layers), torch.randn(512, 128)


def dropouts() -> Subject:
    layers = [nn.Sequential(nn.Linear(128, 128), nn.Dropout(0.3), nn.ReLU()) for _ in range(6)]
    return _layers(*layers), torch.randn(512, 128)


def layer_norms() -> Subject:
    layers = [nn.Sequential(nn.Linear(96, 96), nn.LayerNorm(96), nn.SiLU()) for _ in range(5)]
    return _layers(*layers), torch.randn(600, 96)


def attention() -> Subject:
    return _layers(*(Attention(64, 4) for _ in range(4))), torch.randn(4, 64, 64)


def attention_with_dropout() -> Subject:
    layers: list[nn.Module] = []
    for _ in range(3):
        layers += [Attention(64, 4, 0.1), nn.Sequential(nn.Linear(64, 64), nn.Dropout(0.1))]
    return _layers(*layers), torch.randn(4, 64, 64)


def composite() -> Subject:
    layers = [nn.Sequential(nn.Linear(64, 64), Composite()) for _ in range(4)]
    return _layers(*layers), torch.randn(1024, 64)


def residual() -> Subject:
    return _layers(nn.Conv2d(3, 16, 3, padding=1), *(Residual(16) for _ in range(4))), torch.randn(
        4, 3, 32, 32
    )


def channels_last() -> Subject:
    model, batch = residual()
    return model.to(memory_format=torch.channels_last), batch.to(memory_format=torch.channels_last)


def group_norms() -> Subject:
    layers = [
        nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.ReLU())
        for _ in range(4)
    ]
    return _layers(nn.Conv2d(3, 16, 1), *layers), torch.randn(4, 3, 32, 32)


def pools() -> Subject:
    return _layers(
        nn.Conv2d(3, 16, 3, padding=1),
        nn.Sequential(nn.ReLU(), nn.MaxPool2d(2)),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.Sequential(nn.ReLU(), nn.AvgPool2d(2)),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Linear(256, 10),
    ), torch.randn(8, 3, 48, 48)


def embedding() -> Subject:
    layers = [nn.Sequential(nn.Linear(64, 64), nn.Tanh()) for _ in range(4)]
    return _layers(nn.Embedding(50, 64), *layers, nn.Linear(64, 50)), torch.randint(50, (16, 64))


def views() -> Subject:
    return _layers(
        nn.Linear(64, 128),
        nn.Unflatten(1, (8, 16)),
        nn.Softmax(-1),
        nn.Flatten(),
        nn.Linear(128, 64),
        nn.Sigmoid(),
        nn.Linear(64, 64),
    ), torch.randn(1024, 64)


MODELS: dict[str, Callable[[], Subject]] = {
    function.__name__: function
    for function in (
        linear,
        dropouts,
        layer_norms,
        attention,
        attention_with_dropout,
        composite,
        residual,
        channels_last,
        group_norms,
        pools,
        embedding,
        views,
    )
}


def loss_of(output: Tensor) -> Tensor:
    """Return the sum of the squares."""
    return output.pow(2).sum()


def drawn_steps(
    model: nn.Sequential, chain: Chain, seeds: range, done: set[tuple[int, str]]
) -> Iterator[tuple[int, str, int, CheckpointedSequential]]:
    """Yield steps that have not been measured: seed, kind, limit in bytes, the model by it."""
    for seed in seeds:
        draw = random.Random(seed)
        stages = tuple(
            replace(stage, forward_ns=draw.randint(1, 100), backward_ns=draw.randint(1, 100))
            for stage in chain
        )
        drawn = replace(chain, stages=stages)
        share = draw.randint(35, 100)
        step = step_chain(drawn)
        assert step is not None
        operations = random_sequence(len(step.chain), draw, transfers=False)
        if (seed, "solved") not in done:
            memory = drawn.store_all_peak_bytes * share // 100
            memory = max(memory, drawn.recompute_all_peak_bytes)
            planned = checkpoint_sequential_optimal(model, memory=memory, chain=drawn, loss=loss_of)
            yield seed, "solved", memory, planned
        if (seed, "random") not in done:
            sequence = ChainSchedule(tuple(operations))
            peak_bytes = sequence.replay(step.chain).peak_bytes - step.gradient_bytes
            problem = RematChain(drawn, peak_bytes)
            by_chance = CheckpointedSequential(model, problem, sequence, loss=loss_of, step=step)
            yield seed, "random", peak_bytes, by_chance


def rows(
    name: str, gradients: ParameterGradients, seeds: range, done: set[tuple[int, str]]
) -> list[dict[str, object]]:
    """Measure a step of each schedule."""
    torch.manual_seed(0)
    model, batch = MODELS[name]()
    chain = profile_chain(
        model,
        batch,
        name=name,
        model_name=name,
        loss=loss_of,
        warmup=0,
        repeats=1,
        gradients=gradients,
        check=CostCheck.TRUST,
    )
    found: list[dict[str, object]] = []
    for seed, kind, limit_bytes, scheduled in drawn_steps(model, chain, seeds, done):
        begin(model, gradients)
        scheduled(batch).backward()
        begin(model, gradients)
        with memory_meter(batch.device) as meter, meter.window() as window:
            scheduled(batch).backward()
        predicted = scheduled.predicted
        values = (
            name,
            str(gradients),
            seed,
            kind,
            limit_bytes,
            predicted.peak_bytes,
            predicted.rise_bytes,
            window.rise_bytes,
            window.kept_bytes,
            chain.input_bytes,
        )
        found.append(dict(zip(COLUMNS, values, strict=True)))
    return found


def begin(model: nn.Module, gradients: ParameterGradients) -> None:
    """Prepare the gradients as they are when a step begins."""
    for parameter in model.parameters():
        parameter.grad = (
            None if gradients is ParameterGradients.NEW else torch.zeros_like(parameter)
        )


def report(path: Path) -> None:
    """Print the worst and mean figures of each model."""
    with path.open(newline="") as file:
        lines = list(csv.DictReader(file))
    print(f"{len(lines)} steps; over: measured above the limit; off: predicted above measured, %")
    groups: dict[tuple[str, str], list[dict[str, str]]] = {}
    for line in lines:
        groups.setdefault((line["model"], line["gradients"]), []).append(line)
    for line in lines:
        limit, _, _, measured, new, given = (int(line[column]) for column in COLUMNS[4:])
        if line["kind"] == "solved" and measured + given > 1.01 * (limit + max(0, new)):
            print(f"above its limit: {line}")
    for (name, gradients), group in sorted(groups.items()):
        over, off, replayed = [], [], []
        for line in group:
            limit, replay, predicted, measured, new, given = (int(line[c]) for c in COLUMNS[4:])
            # All gradients are a part of the memory that a chain leaves free.
            over.append((measured + given) / (limit + max(0, new)) - 1)
            off.append(predicted / measured - 1)
            replayed.append((replay + max(0, new)) / (measured + given) - 1)
        print(
            f"{name:24s} {gradients:12s} {len(group):3d}  over at most {max(over):+7.2%}   "
            f"off {min(off):+7.2%} to {max(off):+7.2%}, mean {fmean(map(abs, off)):6.2%}   "
            f"reserved above measured {fmean(replayed):6.1%}, at most {max(replayed):6.1%}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, help="table to append to")
    parser.add_argument("--models", nargs="*", choices=MODELS, default=list(MODELS))
    parser.add_argument("--gradients", nargs="*", default=list(ParameterGradients))
    parser.add_argument("--seeds", type=int, default=7, help="a solved and a random step each")
    options = parser.parse_args()
    torch.set_num_threads(1)
    done: dict[tuple[str, str], set[tuple[int, str]]] = {}
    if options.file.exists():
        with options.file.open(newline="") as file:
            for line in csv.DictReader(file):
                key = line["model"], line["gradients"]
                done.setdefault(key, set()).add((int(line["seed"]), line["kind"]))
    for name in options.models:
        for gradients in map(ParameterGradients, options.gradients):
            known = done.get((name, str(gradients)), set())
            if len(known) < 2 * options.seeds:
                found = rows(name, gradients, range(options.seeds), known)
                is_new = not options.file.exists()
                with options.file.open("a", newline="") as file:
                    writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
                    if is_new:
                        writer.writeheader()
                    writer.writerows(found)
    report(options.file)


if __name__ == "__main__":
    main()
