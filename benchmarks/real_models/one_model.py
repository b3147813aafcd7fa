"""Rows of one model, measured in this process: each is printed as a line of JSON.

.venv/bin/python -m benchmarks.real_models.one_model llama 60% blocks budget-0.5
"""

from __future__ import annotations

import argparse
import json
import resource
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib import metadata
from statistics import median
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from benchmarks.cpu_clock import cpu_seconds
from benchmarks.real_models.catalogue.entries import ENTRIES
from benchmarks.real_models.table_row import TableRow
from jettison.instances.core.errors import JettisonError
from jettison.instances.profilers.device.memory_cpu import CpuMemoryMeter
from jettison.instances.profilers.device.model_state import left_as_found
from jettison.instances.profilers.torch_graphs.operator_cost import Measured
from jettison.instances.remat_graph.problem import RematGraph
from jettison.instances.zoo.call_arguments import called_with
from jettison.instances.zoo.model_loss import own_loss
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.solve import solve
from jettison.torch import CheckpointedStep, StepProgram, compiled, trace_step_program

TURNS = 3
SOLVE_S = 15.0
_SEED = 1

Step = Callable[[], Tensor]


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

    def plain(self) -> Tensor:
        """Return the loss of the plain step."""
        positional, keywords = called_with(self.sample)
        output = self.model(*positional, **keywords)
        return own_loss(output) if self.loss is None else self.loss(output)

    def step(self, forward: Step) -> None:
        """Run a step whose gradients are new."""
        self.model.zero_grad(set_to_none=True)
        forward().backward()

    def gradients(self, forward: Step) -> dict[str, Tensor]:
        """Return the gradients of a step with fixed random numbers; the model stays as it is."""
        with left_as_found([self.model], torch.device("cpu")):
            torch.manual_seed(_SEED)
            forward().backward()
            return {
                name: item.grad.clone()
                for name, item in self.model.named_parameters()
                if item.grad is not None
            }


def peak_bytes(subject: Subject, forward: Step) -> int:
    """Return the measured peak of a step above what is there before."""
    subject.step(forward)
    subject.model.zero_grad(set_to_none=True)
    with CpuMemoryMeter() as meter, meter.window() as window:
        forward().backward()
    return window.peak_bytes - window.start_bytes


def slowdown(subject: Subject, forward: Step) -> tuple[float, float]:
    """Return the CPU time of a step by that of the plain one, by turns, and the latter in s."""
    turns = []
    for _ in range(TURNS):
        pair = []
        for item in (forward, subject.plain):
            begin = time.process_time()
            subject.step(item)
            pair.append(time.process_time() - begin)
        turns.append(pair)
    return (
        median(one / plain for one, plain in turns),
        median(plain for _, plain in turns),
    )


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


def versions() -> str:
    """Return the versions of the libraries that the models come from."""
    return " ".join(
        f"{package} {metadata.version(package)}"
        for package in ("torch", "transformers", "timm", "torchvision", "diffusers")
    )


class Rows:
    """Rows of one model that runs operator by operator; what they share is measured once."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._plain_bytes = peak_bytes(subject, subject.plain)
        self._expected = subject.gradients(subject.plain)
        self._program: StepProgram = trace_step_program(
            subject.model, subject.sample, loss=subject.loss, warmup=1, repeats=3
        )

    def row(self, plan: str) -> TableRow:
        """Return the row of a plan."""
        if plan.endswith("%"):
            return self._ours(plan, plan, {})
        forward = checkpointed_blocks(self._subject) if plan == "blocks" else self._budget(plan)
        other = {
            "other_bytes": peak_bytes(self._subject, forward),
            "other_slowdown": slowdown(self._subject, forward)[0],
        }
        if plan == "blocks":
            for module in self._subject.model.modules():
                module.__dict__.pop("forward", None)
        return self._ours(plan, other["other_bytes"], other)

    def _budget(self, plan: str) -> Step:
        """Return the step as torch compiles it without a code generator, within its own budget."""
        import torch._functorch.config as settings
        from functorch.compile import min_cut_rematerialization_partition
        from torch._dynamo.backends.common import aot_autograd
        from torch._functorch.compilers import nop

        settings.activation_memory_budget = float(plan.partition("-")[2])
        backend = aot_autograd(
            fw_compiler=nop, bw_compiler=nop, partition_fn=min_cut_rematerialization_partition
        )
        compiled: Step = torch.compile(
            self._subject.plain, backend=backend, fullgraph=True, dynamic=False
        )
        return compiled

    def _ours(self, plan: str, limit: str | int, other: Mapping[str, Any]) -> TableRow:
        subject, program = self._subject, self._program
        problem = RematGraph(program.graph, limit)
        base_ns = program.graph.base_time_ns
        begin = cpu_seconds()
        result = solve(problem, time_limit=SOLVE_S)
        solve_s = cpu_seconds() - begin
        common = {
            "model": subject.name,
            "plan": plan,
            "executor": "eager",
            "nodes": len(program.graph),
            "front": program.traced.front,
            "plain_bytes": self._plain_bytes,
            "limit_bytes": problem.memory_bytes,
            "solve_s": solve_s,
            "versions": versions(),
            **other,
        }
        if not isinstance(result.schedule, GraphSchedule):
            return TableRow(**common, error=f"no schedule: {result.status}")
        step = CheckpointedStep(program, problem, result.schedule)
        positional, keywords = called_with(subject.sample)
        forward = partial(step, *positional, **keywords)
        gradients = compared(subject.gradients(forward), self._expected)
        measured = peak_bytes(subject, forward)
        ratio, plain_s = slowdown(subject, forward)
        bound_ns = result.lower_bound_ns
        return TableRow(
            **common,
            plain_ms=plain_s * 1000,
            predicted_bytes=step.predicted.peak_bytes,
            measured_bytes=measured,
            predicted_slowdown=step.predicted.time_ns / base_ns,
            measured_slowdown=ratio,
            bound_slowdown=None if bound_ns is None else bound_ns / base_ns,
            gradients=gradients,
        )


def checkpointed_blocks(subject: Subject) -> Step:
    """Return the plain step whose blocks are checkpointed; modules are changed until put back."""
    for module in subject.model.modules():
        if type(module).__name__ in subject.blocks:
            module.__dict__["forward"] = partial(checkpoint, module.forward, use_reentrant=False)
    return subject.plain


def compiled_row(subject: Subject, plan: str, executor: str) -> TableRow:
    """Return the row of a model under ``torch.compile`` with this backend."""
    plain_bytes = peak_bytes(subject, subject.plain)
    expected = subject.gradients(subject.plain)
    model = compiled(
        subject.model,
        memory=plan,
        backend="aot_eager" if executor == "aot_eager" else "inductor",
        time_limit=SOLVE_S,
        cost=Measured(torch.device("cpu"), warmup=1, repeats=3),
    )
    positional, keywords = called_with(subject.sample)

    def forward() -> Tensor:
        output = model(*positional, **keywords)
        return own_loss(output) if subject.loss is None else subject.loss(output)

    gradients = compared(subject.gradients(forward), expected)
    ratio, plain_s = slowdown(subject, forward)
    found = model.report.plan
    bound_ns = found.bound_ns
    return TableRow(
        subject.name,
        plan,
        executor,
        front="dynamo",
        plain_ms=plain_s * 1000,
        plain_bytes=plain_bytes,
        limit_bytes=model.report.limit_bytes,
        predicted_bytes=found.predicted_peak_bytes,
        measured_bytes=model.report.measured_peak_bytes,
        predicted_slowdown=found.time_ns / found.base_time_ns,
        measured_slowdown=ratio,
        bound_slowdown=None if bound_ns is None else bound_ns / found.base_time_ns,
        gradients=gradients,
        versions=versions(),
    )


def rows_of(subject: Subject, executor: str) -> Callable[[str], TableRow]:
    """Return the function from a plan to its row."""
    if executor == "eager":
        return Rows(subject).row
    return partial(compiled_row, subject, executor=executor)


def main() -> None:
    """Print a line for each row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=ENTRIES)
    parser.add_argument("plans", nargs="+")
    parser.add_argument("--executor", choices=("eager", "aot_eager", "inductor"), default="eager")
    parser.add_argument("--memory-gib", type=int, default=8)
    options = parser.parse_args()
    limit = options.memory_gib * 2**30
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    reason, row_of = "", None
    try:
        row_of = rows_of(Subject.of(options.model), options.executor)
    except (JettisonError, RuntimeError) as error:
        reason = _reason(error)
    for plan in options.plans:
        row = TableRow(options.model, plan, options.executor, error=reason)
        if row_of is not None:
            try:
                row = row_of(plan)
            except (JettisonError, RuntimeError) as error:
                row = replace(row, error=_reason(error))
        print(json.dumps(asdict(row)), flush=True)


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]


if __name__ == "__main__":
    main()
