"""Model of the table with its plain step, and what is measured of a step beside that."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from benchmarks.real_models.catalogue.entries import ENTRIES
from jettison.instances.profilers.device.memory_cpu import CpuMemoryMeter
from jettison.instances.profilers.device.model_state import left_as_found
from jettison.instances.zoo.call_arguments import called_with
from jettison.instances.zoo.model_loss import own_loss

TURNS = 5
_SEED = 1

Step = Callable[[], Tensor]


@dataclass(frozen=True, slots=True)
class Contender:
    """Way to run a step: its forward pass, and what surrounds both passes."""

    forward: Step
    around: Callable[[], AbstractContextManager[Any]] = nullcontext


@dataclass(frozen=True, slots=True)
class Subject:
    """Model with its plain step, and what that step takes and makes."""

    name: str
    blocks: tuple[str, ...]
    model: nn.Module
    sample: Any
    loss: Callable[..., Tensor] | None

    @classmethod
    def of(cls, name: str) -> Subject:
        """Build the model of an entry, with fixed weights."""
        torch.manual_seed(0)
        entry = ENTRIES[name]
        model, sample, *others = entry.build()
        return cls(name, entry.blocks, model, sample, others[0] if others else None)

    def loss_of(self, model: Callable[..., Any]) -> Tensor:
        """Return the loss of the output of a model."""
        positional, keywords = called_with(self.sample)
        output = model(*positional, **keywords)
        return own_loss(output) if self.loss is None else self.loss(output)

    @property
    def plain(self) -> Contender:
        """The step in plain PyTorch."""
        return Contender(partial(self.loss_of, self.model))

    def checkpointed(self, model: Callable[..., Any]) -> Contender:
        """Return the step of the model, or of what it compiles into, with checkpointed blocks."""
        # One function for each block, ever: a compiler that finds another compiles again.
        functions = [
            (item, partial(checkpoint, item.forward, use_reentrant=False))
            for item in self.model.modules()
            if type(item).__name__ in self.blocks
        ]

        @contextmanager
        def blocks_checkpointed() -> Iterator[None]:
            for module, function in functions:
                module.__dict__["forward"] = function
            try:
                yield
            finally:
                for module, _ in functions:
                    del module.__dict__["forward"]

        return Contender(partial(self.loss_of, model), blocks_checkpointed)

    def run(self, contender: Contender) -> None:
        """Run a step whose gradients are new."""
        self.model.zero_grad(set_to_none=True)
        with contender.around():
            contender.forward().backward()

    def gradients(self, contender: Contender) -> dict[str, Tensor]:
        """Return the gradients of a step with fixed random numbers; the model stays as it is."""
        with left_as_found([self.model], torch.device("cpu")), contender.around():
            torch.manual_seed(_SEED)
            contender.forward().backward()
            return {
                name: item.grad.clone()
                for name, item in self.model.named_parameters()
                if item.grad is not None
            }

    def peak_bytes(self, contender: Contender) -> int:
        """Return the measured peak of a step above what is there before."""
        self.run(contender)
        self.model.zero_grad(set_to_none=True)
        with contender.around(), CpuMemoryMeter() as meter, meter.window() as window:
            contender.forward().backward()
        return window.peak_bytes - window.start_bytes

    def slowdowns(self, contenders: Sequence[Contender]) -> tuple[list[float], float]:
        """Return CPU times of steps by that of the plain one, by turns, and the latter in s."""
        turns = []
        everyone = [*contenders, self.plain]
        for turn in range(TURNS + 1):
            spent = []
            for contender in everyone:
                # The backward pass of a step on the CPU runs in the thread that asks for it.
                begin = time.thread_time()
                self.run(contender)
                spent.append(time.thread_time() - begin)
            if turn:
                turns.append(spent)
        ratios = [median(spent[k] / spent[-1] for spent in turns) for k in range(len(contenders))]
        return ratios, median(spent[-1] for spent in turns)


def compared(found: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> str:
    """Return ``equal``, or the largest difference relative to the largest gradient."""
    if found.keys() != expected.keys():
        missing = sorted(found.keys() ^ expected.keys())
        return f"other parameters: {missing[0]}"
    if all(torch.equal(found[name], expected[name]) for name in expected):
        return "equal"
    largest = max(float(item.abs().max()) for item in expected.values())
    apart = max(float((found[name] - expected[name]).abs().max()) for name in expected)
    return f"{apart / largest:.1e}"
