"""Processor time that the executor of chain schedules adds to a plain step, stage by stage.

    python -m benchmarks.host_time --model narrow --rounds 21

A GPU waits where a processor launches its kernels too slowly. The inputs are tiny, so that what is
measured is mostly the launching: of the plain step, of a schedule that computes nothing again, and
of schedules in less memory, by turns on one thread. A model of the zoo still computes for most of
the time; one that is `narrow` (36 stages of three convolutions of eight channels, with batch
normalization, as in ResNet-101) launches as many kernels and computes little. Calls are those that
`cProfile` counts in one step; times are medians of CPU seconds.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import time
from collections.abc import Callable
from statistics import median

import torch
from torch import nn

from jettison.instances.profilers.torch_chains.profiled_chain import profile_chain
from jettison.instances.zoo.catalogue import build
from jettison.instances.zoo.workload import OwnLoss, Workload
from jettison.torch import checkpoint_sequential_optimal


class Bottleneck(nn.Module):
    """Three convolutions with batch normalization, and a way around them."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for size in (1, 3, 1):
            layers += [nn.Conv2d(8, 8, size, padding=size // 2, bias=False), nn.BatchNorm2d(8)]
            layers.append(nn.ReLU(inplace=True))
        self.path = nn.Sequential(*layers[:-1])

    def forward(self, block_input: torch.Tensor) -> torch.Tensor:
        """Return the rectified sum."""
        result: torch.Tensor = (block_input + self.path(block_input)).relu_()
        return result


def squares(output: torch.Tensor) -> torch.Tensor:
    """Return a loss."""
    return output.square().mean()


def work_of(name: str, batch: int, input_size: int) -> Workload:
    """Return a model with an input and a loss."""
    if name != "narrow":
        return build(name, batch=batch, input_size=input_size)
    model = nn.Sequential(*[Bottleneck() for _ in range(36)])
    return Workload(
        model=model,
        sample_input=torch.randn(batch, 8, 4, 4),
        loss=OwnLoss(squares),
        model_name="narrow",
        model_arguments={},
    )


def calls_of(step: Callable[[], None], shown: int) -> int:
    """Return how many calls of functions a step makes; print where its time goes."""
    profile = cProfile.Profile()
    profile.runcall(step)
    statistics = pstats.Stats(profile)
    if shown:
        statistics.sort_stats("tottime").print_stats(shown)
    return int(statistics.total_calls)  # type: ignore[attr-defined]


def main() -> None:
    """Print one line for each plan."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="narrow")
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--input-size", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--shares", nargs="*", default=["100%", "70%"])
    parser.add_argument("--shown", type=int, default=0, help="lines of the profile to print")
    options = parser.parse_args()
    torch.set_num_threads(1)
    work = work_of(options.model, options.batch, options.input_size)
    chain = profile_chain(
        work.model,
        work.sample_input,
        name=options.model,
        model_name=work.model_name,
        model_arguments=work.model_arguments,
        loss=work.loss,
        warmup=1,
        repeats=3,
    )

    def stepping(run: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[], None]:
        def step() -> None:
            work.model.zero_grad(set_to_none=True)
            run(work.sample_input).backward()

        return step

    steps = {"plain": stepping(lambda batch: work.loss(work.model(batch)))}
    again = {"plain": 0}
    for bandwidth in (None, "10GB/s"):
        for share in options.shares:
            scheduled = checkpoint_sequential_optimal(
                work.model, chain=chain, memory=share, bandwidth=bandwidth, loss=work.loss
            )
            name = f"{share}, offloading" if bandwidth else share
            steps[name] = stepping(scheduled)
            forwards = [str(item) for item in scheduled.schedule.operations if str(item)[0] == "F"]
            again[name] = len(forwards) - len(chain)
    for step in steps.values():
        step()
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(options.rounds):
        for name, step in steps.items():
            begin = time.process_time()
            step()
            seconds[name].append(time.process_time() - begin)
    for name, step in steps.items():
        middle, least = median(seconds[name]) * 1e3, min(seconds[name]) * 1e3
        calls = calls_of(step, options.shown)
        print(
            f"{name:18} {middle:8.1f} ms, at least {least:8.1f} ms {calls:7} calls,"
            f" {again[name]:3} forwards again",
            flush=True,
        )


if __name__ == "__main__":
    main()
