"""Rows of one model, measured in this process: each is printed as a line of JSON.

.venv/bin/python -m benchmarks.real_models.one_model llama 60% blocks budget-0.5
"""

from __future__ import annotations

import argparse
import json
import logging
import re
import resource
import warnings
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from importlib import metadata
from typing import Any, Literal

import torch

from benchmarks.cpu_clock import cpu_seconds
from benchmarks.own_backend import own_backend
from benchmarks.real_models.catalogue.entries import ENTRIES
from benchmarks.real_models.subject import Contender, Subject, compared
from benchmarks.real_models.table_row import TableRow
from jettison.instances.core.errors import JettisonError
from jettison.instances.profilers.torch_graphs.operator_cost import Measured
from jettison.instances.remat_graph.problem import RematGraph
from jettison.instances.zoo.call_arguments import called_with
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.result import Result
from jettison.solvers.core.solve import solve
from jettison.torch import CheckpointedStep, StepProgram, compiled, trace_step_program
from jettison.torch.compilation.compiled_module import CompiledModule

SOLVE_S = 15.0
# Where that finds neither a schedule nor a proof that there is none.
LONGER_S = 120.0


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
        self._plain_bytes = subject.peak_bytes(subject.plain)
        self._expected = subject.gradients(subject.plain)
        self._program: StepProgram = trace_step_program(
            subject.model, subject.sample, loss=subject.loss, warmup=1, repeats=3
        )
        self._everything_kept: Contender | None = None

    def row(self, plan: str) -> TableRow:
        """Return the row of a plan."""
        if plan.endswith("%"):
            return self._ours(plan, plan, None)
        other = (
            self._subject.checkpointed(self._subject.model)
            if plan == "blocks"
            else self._budget(plan)
        )
        return self._ours(plan, self._subject.peak_bytes(other), other)

    def _budget(self, plan: str) -> Contender:
        """Return the step as torch compiles it without a code generator, within its own budget."""
        import torch._functorch.config as settings
        from functorch.compile import min_cut_rematerialization_partition
        from torch._dynamo.backends.common import aot_autograd
        from torch._functorch.compilers import nop

        settings.activation_memory_budget = float(plan.partition("-")[2])
        backend = aot_autograd(
            fw_compiler=nop,
            bw_compiler=nop,
            partition_fn=min_cut_rematerialization_partition,
            # As torch's own backends have it: what the forward pass writes to buffers stands in its
            # graph, which its plan may read again before.
            keep_inference_input_mutations=True,
        )
        return Contender(
            torch.compile(
                self._subject.plain.forward, backend=backend, fullgraph=True, dynamic=False
            )
        )

    def _step(self, problem: RematGraph, result: Result[Any, Any]) -> CheckpointedStep | None:
        if not isinstance(result.schedule, GraphSchedule):
            return None
        return CheckpointedStep(self._program, problem, result.schedule)

    def _contender(self, step: CheckpointedStep) -> Contender:
        positional, keywords = called_with(self._subject.sample)
        return Contender(partial(step, *positional, **keywords))

    def _dispatched(self) -> list[Contender]:
        """Return the step by our dispatch with nothing computed again, where one is found."""
        if self._everything_kept is None:
            problem = RematGraph(self._program.graph, "100%")
            step = self._step(problem, solve(problem, time_limit=SOLVE_S))
            self._everything_kept = None if step is None else self._contender(step)
        return [] if self._everything_kept is None else [self._everything_kept]

    def _ours(self, plan: str, limit: str | int, other: Contender | None) -> TableRow:
        subject, program = self._subject, self._program
        problem = RematGraph(program.graph, limit)
        base_ns = program.graph.base_time_ns
        begin = cpu_seconds()
        result = solve(problem, time_limit=SOLVE_S)
        if result.schedule is None and result.infeasibility is None:
            result = solve(problem, time_limit=LONGER_S)
        solve_s = cpu_seconds() - begin
        row = TableRow(
            subject.name,
            plan,
            "eager",
            nodes=len(program.graph),
            front=program.traced.front,
            plain_bytes=self._plain_bytes,
            other_bytes=limit if isinstance(limit, int) else None,
            limit_bytes=problem.memory_bytes,
            solve_s=solve_s,
            versions=versions(),
        )
        step = self._step(problem, result)
        if step is None:
            return replace(row, error=_unsolved(result, solve_s))
        ours = self._contender(step)
        gradients = compared(subject.gradients(ours), self._expected)
        measured = subject.peak_bytes(ours)
        others = [] if other is None else [other]
        kept = self._dispatched()
        ratios, plain_s = subject.slowdowns([ours, *others, *kept])
        bound_ns = result.lower_bound_ns
        return replace(
            row,
            plain_ms=plain_s * 1000,
            other_slowdown=ratios[1] if others else None,
            predicted_bytes=step.predicted.peak_bytes,
            measured_bytes=measured,
            predicted_slowdown=step.predicted.time_ns / base_ns,
            measured_slowdown=ratios[0],
            dispatch_slowdown=ratios[-1] if kept else None,
            bound_slowdown=None if bound_ns is None else bound_ns / base_ns,
            gradients=gradients,
        )


def _unsolved(result: Result[Any, Any], solve_s: float) -> str:
    """Return what is known where there is no schedule."""
    if result.infeasibility is not None:
        return f"no schedule fits, as proved ({result.status})"
    return (
        f"no schedule found in {LONGER_S:.0f} s ({solve_s:.0f} CPU s), and no proof that there is "
        "none"
    )


class CompiledRows:
    """Rows of one model under ``torch.compile``, in which nothing is dispatched from a plan."""

    def __init__(self, subject: Subject, backend: Literal["inductor", "aot_eager"]) -> None:
        self._subject, self._backend = subject, backend
        self._plain_bytes = subject.peak_bytes(subject.plain)
        self._expected = subject.gradients(subject.plain)

    def _compiled(self, memory: str | int) -> CompiledModule:
        return compiled(
            self._subject.model,
            memory=memory,
            backend=self._backend,
            time_limit=SOLVE_S,
            cost=Measured(torch.device("cpu"), warmup=1, repeats=3),
        )

    def _without_plan(self) -> Callable[..., Any]:
        """Return the model as the backend compiles it, with code that no other shares."""
        return torch.compile(
            self._subject.model,
            backend=own_backend(self._backend),
            fullgraph=True,
            dynamic=False,
        )

    def row(self, plan: str) -> TableRow:
        """Return the row of a plan."""
        subject, others = self._subject, []
        memory: str | int = plan
        if not plan.endswith("%"):
            import torch._functorch.config as settings

            model = self._without_plan()
            loss = partial(subject.loss_of, model)
            other = subject.checkpointed(model) if plan == "blocks" else Contender(loss)
            budget = 1.0 if plan == "blocks" else float(plan.partition("-")[2])
            # It is compiled here, within its budget; what follows is compiled without one.
            with settings.patch(activation_memory_budget=budget):
                memory = subject.peak_bytes(other)
            others = [other]
        # What compiles without a plan is the measure of what the compiler itself costs and saves.
        kept = Contender(partial(subject.loss_of, self._without_plan()))
        model = self._compiled(memory)
        ours = Contender(partial(subject.loss_of, model))
        gradients = compared(subject.gradients(ours), self._expected)
        measured = subject.peak_bytes(ours) if others else model.report.measured_peak_bytes
        ratios, plain_s = subject.slowdowns([ours, *others, kept])
        found = model.report.plan
        bound_ns = found.bound_ns
        return TableRow(
            subject.name,
            plan,
            self._backend,
            front="dynamo",
            plain_ms=plain_s * 1000,
            plain_bytes=self._plain_bytes,
            other_bytes=memory if isinstance(memory, int) else None,
            other_slowdown=ratios[1] if others else None,
            limit_bytes=model.report.limit_bytes,
            predicted_bytes=model.predicted_peak_bytes,
            measured_bytes=measured,
            predicted_slowdown=found.time_ns / found.base_time_ns,
            measured_slowdown=ratios[0],
            dispatch_slowdown=ratios[-1],
            bound_slowdown=None if bound_ns is None else bound_ns / found.base_time_ns,
            gradients=gradients,
            versions=versions(),
        )


def _set_dynamo() -> None:
    """Let Dynamo take RNNs as `compiled` does, and skip calls of loggers, as it advises."""
    torch._dynamo.config.allow_rnn = True
    ignored = torch._dynamo.config.ignore_logging_functions
    for name in ("debug", "info", "warning", "info_once", "warning_once"):
        # The last two are those of transformers.
        function = getattr(logging.Logger, name, None)
        if function is not None:
            ignored.add(function)


def rows_of(subject: Subject, executor: str) -> Callable[[str], TableRow]:
    """Return the function from a plan to its row."""
    if executor == "eager":
        return Rows(subject).row
    return CompiledRows(subject, "aot_eager" if executor == "aot_eager" else "inductor").row


def main() -> None:
    """Print a line for each row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=ENTRIES)
    parser.add_argument("plans", nargs="+")
    parser.add_argument("--executor", choices=("eager", "aot_eager", "inductor"), default="eager")
    parser.add_argument("--memory-gib", type=int, default=8)
    parser.add_argument("--cpu-s", type=int, help="end after so many CPU seconds")
    options = parser.parse_args()
    if options.cpu_s is not None:
        resource.setrlimit(resource.RLIMIT_CPU, (options.cpu_s, options.cpu_s + 5))
    limit = options.memory_gib * 2**30
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    reason, row_of = "", None
    try:
        subject = Subject.of(options.model)
        _set_dynamo()
        row_of = rows_of(subject, options.executor)
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
    text = f"{type(error).__name__}: {error}".splitlines()[0]
    # Where packages are installed is no part of the reason.
    return re.sub(r"\S*/site-packages/", "", text)


if __name__ == "__main__":
    main()
