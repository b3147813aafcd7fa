"""Training steps on a GPU beside what their plans predict: time, peak and what is copied.

    python -m benchmarks.gpu_steps --output steps.csv --instances DIR

Each row is one plan of one step: a chain that computes again (`remat-chain`), a chain that also
sends activations to pinned memory of the host on streams of its own (`remat-offload-chain`, at the
measured bandwidth of the link), a graph operator by operator and as CUDA graphs (`remat-graph`),
and the same step under ``torch.compile`` (`jettison.torch.compiled`).
Steps by the plan and plain steps take turns; a time is the median of the device's own clock. The
peak is that of PyTorch's allocator above what is there before the step.

The chains and graphs that were measured for this are written to the folder of ``--instances``.
Rows are written as they come, so that a run that is cut short keeps what it has.
"""

from __future__ import annotations

import argparse
import copy
import csv
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from statistics import median_low
from typing import Any

import torch
from torch import nn

from jettison.instances.catalog import save
from jettison.instances.core.errors import JettisonError
from jettison.instances.profilers.device.device_name import device_name
from jettison.instances.profilers.device.processor_name import short_device_name
from jettison.instances.profilers.device.timing import duration_ns
from jettison.instances.profilers.torch_chains.profiled_chain import profile_chain
from jettison.instances.profilers.torch_chains.stage_memory import memory_meter
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_graph.problem import RematGraph
from jettison.instances.zoo.catalogue import build
from jettison.instances.zoo.workload import Workload
from jettison.solvers.core.solve import solve
from jettison.torch import (
    CheckpointedStep,
    checkpoint_sequential_optimal,
    compiled,
    trace_step_program,
    train_in_one_budget,
)
from jettison.torch.captured.step import CapturedStep

# Without a GPU the same rows are made on the CPU, for a look at what is measured.
DEVICE = torch.device("cuda", 0) if torch.cuda.is_available() else torch.device("cpu")
CHAINS: dict[str, dict[str, Any]] = {
    "resnet50": {"batch": 64, "input_size": 224},
    "resnet101": {"batch": 16, "input_size": 500},
    "densenet121": {"batch": 32, "input_size": 224},
    "vit-b16": {"batch": 32, "input_size": 224},
    "gpt2-small": {"batch": 8, "input_size": 1024},
    "bert-base": {"batch": 16, "input_size": 512},
}
GRAPHS: dict[str, dict[str, Any]] = {
    "unet": {"batch": 16, "input_size": 256},
    "resnet50": {"batch": 32, "input_size": 224},
    "gpt2-small": {"batch": 4, "input_size": 512},
}
SHARES = ("70%", "50%")
GRAPH_SHARES = ("60%",)
BUDGETS: dict[str, dict[str, Any]] = {
    "gpt2-medium": {"batch": 4, "input_size": 1024, "dropout": 0.0},
}
BUDGET_SHARES = ("60%", "35%")
COMPILED: dict[str, dict[str, Any]] = {
    "gpt2-small": {"batch": 4, "input_size": 512},
    "vit-b16": {"batch": 16, "input_size": 224},
    "resnet50": {"batch": 32, "input_size": 224},
}
BACKENDS = ("aot_eager", "inductor")
LINK_BYTES = 2**28
SOLVE_S = 6.0


@dataclass(frozen=True, slots=True)
class Row:
    """Plan of a step, predicted and measured; sizes in bytes, times in ns."""

    device: str
    model: str
    stages: int
    plan: str
    share: str
    base_ns: int
    plain_ns: int
    predicted_ns: int | None = None
    measured_ns: int | None = None
    limit_bytes: int | None = None
    plain_bytes: int | None = None
    predicted_bytes: int | None = None
    measured_bytes: int | None = None
    reserved_bytes: int | None = None
    gradients: str = ""
    error: str = ""


def link_bytes_per_s(device: torch.device = DEVICE) -> dict[str, int]:
    """Return the bandwidths of pinned copies: each way alone, and each way while both run."""
    if device.type != "cuda":
        return {"down": 10**10, "up": 10**10}
    host = [torch.empty(LINK_BYTES, dtype=torch.uint8, pin_memory=True) for _ in range(2)]
    card = [torch.empty(LINK_BYTES, dtype=torch.uint8, device=device) for _ in range(2)]
    streams = [torch.cuda.Stream(device) for _ in range(2)]

    def down() -> None:
        with torch.cuda.stream(streams[0]):
            host[0].copy_(card[0], non_blocking=True)

    def up() -> None:
        with torch.cuda.stream(streams[1]):
            card[1].copy_(host[1], non_blocking=True)

    def both() -> None:
        down()
        up()

    found = {}
    for name, begin_copy in (("down", down), ("up", up), ("both", both)):
        seconds = []
        for _ in range(6):
            torch.cuda.synchronize(device)
            begin = time.perf_counter()
            begin_copy()
            torch.cuda.synchronize(device)
            seconds.append(time.perf_counter() - begin)
        found[name] = int(LINK_BYTES / median_low(seconds[1:]))
    return found


def gradients_of(work: Workload) -> list[torch.Tensor]:
    """Return copies of the gradients of a step, for a comparison."""
    return [p.grad.detach().clone() for p in work.model.parameters() if p.grad is not None]


def apart(found: list[torch.Tensor], expected: list[torch.Tensor]) -> str:
    """Return ``equal``, or the largest difference by the largest gradient."""
    if len(found) != len(expected):
        return "other parameters"
    largest = max(float(item.abs().max()) for item in expected)
    most = max(float((a - b).abs().max()) for a, b in zip(found, expected, strict=True))
    return "equal" if not most else f"{most / largest:.1e}"


def step_of(work: Workload, run: Callable[..., torch.Tensor]) -> Callable[[], None]:
    """Return a step with new gradients."""

    def step() -> None:
        work.model.zero_grad(set_to_none=True)
        torch.manual_seed(0)
        run(work.sample_input).backward()

    return step


def plain_of(work: Workload) -> Callable[[], None]:
    """Return the plain step."""
    return step_of(work, lambda x: work.loss(work.model(x)))


def peak_of(step: Callable[[], None]) -> tuple[int, int | None]:
    """Return the peak of a step above what is there before, and all that is reserved then."""
    if DEVICE.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(DEVICE)
    with memory_meter(DEVICE) as meter, meter.window() as window:
        step()
    return window.rise_bytes, window.reserved_bytes


def turns_of(step: Callable[[], None], plain: Callable[[], None], count: int) -> tuple[int, int]:
    """Return the medians of a step's time and of the plain one's, run by turns."""
    for _ in range(2):
        step()
        plain()
    turns = [(duration_ns(step, DEVICE), duration_ns(plain, DEVICE)) for _ in range(count)]
    mine, others = zip(*turns, strict=True)
    return median_low(mine), median_low(others)


def chain_rows(
    name: str, sizes: dict[str, Any], short: str, link: int, repeats: int, folder: Path
) -> Iterator[Row]:
    """Yield the rows of a chain: computed again, and with copies to the host."""
    work = build(name, **sizes).to(DEVICE)
    label = f"{name}-b{sizes['batch']}-{sizes['input_size']}-{short}"
    chain = profile_chain(
        work.model,
        work.sample_input,
        name=label,
        model_name=work.model_name,
        model_arguments=work.model_arguments,
        loss=work.loss,
        warmup=2,
        repeats=repeats,
    )
    save(chain, folder / f"{label}.json")
    plain = plain_of(work)
    for plan in ("remat-chain", "remat-offload-chain"):
        for share in SHARES:
            row = Row(short, name, len(chain), plan, share, chain.base_time_ns, 0)
            try:
                yield chain_row(row, work, chain, plain, link, repeats)
            except (JettisonError, RuntimeError) as error:
                yield failed(row, error)


def failed(row: Row, error: Exception) -> Row:
    """Return the row with the reason."""
    reason = f"{type(error).__name__}: {error}".splitlines()[0]
    return Row(**{**asdict(row), "error": reason})


def chain_row(
    row: Row, work: Workload, chain: Chain, plain: Callable[[], None], link: int, repeats: int
) -> Row:
    """Return the row of one plan of a chain."""
    scheduled = checkpoint_sequential_optimal(
        work.model,
        chain=chain,
        memory=row.share,
        bandwidth=link if row.plan == "remat-offload-chain" else None,
        loss=work.loss,
        time_limit=SOLVE_S,
    )
    step = step_of(work, scheduled)
    plain()
    expected = gradients_of(work)
    step()
    found = apart(gradients_of(work), expected)
    del expected
    work.model.zero_grad(set_to_none=True)
    plain_bytes, _ = peak_of(plain)
    predicted = scheduled.predicted.rise_bytes
    if predicted is None:
        # With copies a prediction counts the input, and no gradients of parameters: these are there
        # before the step that is measured.
        predicted = scheduled.predicted.peak_bytes - chain.input_bytes
        measured_bytes, reserved_bytes = peak_of(lambda: scheduled(work.sample_input).backward())
    else:
        work.model.zero_grad(set_to_none=True)
        measured_bytes, reserved_bytes = peak_of(step)
    measured_ns, plain_ns = turns_of(step, plain, repeats)
    return Row(
        **{
            **asdict(row),
            "plain_ns": plain_ns,
            "predicted_ns": scheduled.predicted.time_ns,
            "measured_ns": measured_ns,
            "limit_bytes": scheduled.problem.memory_bytes,
            "plain_bytes": plain_bytes,
            "predicted_bytes": predicted,
            "measured_bytes": measured_bytes,
            "reserved_bytes": reserved_bytes,
            "gradients": found,
        }
    )


def graph_rows(
    name: str, sizes: dict[str, Any], short: str, repeats: int, folder: Path
) -> Iterator[Row]:
    """Yield the rows of a graph: operator by operator, and as CUDA graphs."""
    work = build(name, **sizes).to(DEVICE)
    label = f"{name}-graph-b{sizes['batch']}-{sizes['input_size']}-{short}"
    program = trace_step_program(
        work.model, work.sample_input, loss=work.loss, warmup=2, repeats=repeats
    )
    save(program.graph, folder / f"{label}.json")
    plain = plain_of(work)
    plain()
    expected = gradients_of(work)
    work.model.zero_grad(set_to_none=True)
    plain_bytes, _ = peak_of(plain)
    base_ns, count = program.graph.base_time_ns, len(program.graph)
    for share in GRAPH_SHARES:
        problem = RematGraph(program.graph, share)
        result = solve(problem, time_limit=SOLVE_S)
        for plan, executor in (
            ("remat-graph", CheckpointedStep),
            ("remat-graph, CUDA graphs", CapturedStep),
        ):
            row = Row(short, name, count, plan, share, base_ns, 0)
            try:
                if result.schedule is None:
                    yield failed(row, RuntimeError("no schedule found"))
                    continue
                scheduled = executor(program, problem, result.schedule)
                step = step_of(work, scheduled)
                if executor is CapturedStep:
                    # Recorded segments write to the same gradients in each step.
                    def step(run: Any = scheduled) -> None:
                        torch.manual_seed(0)
                        run(work.sample_input).backward()

                    work.model.zero_grad()
                    for _ in range(3):
                        step()
                    work.model.zero_grad(set_to_none=False)
                step()
                found = apart(gradients_of(work), expected)
                measured_bytes = reserved_bytes = None
                if executor is CheckpointedStep:
                    work.model.zero_grad(set_to_none=True)
                    measured_bytes, reserved_bytes = peak_of(step)
                measured_ns, plain_ns = turns_of(step, plain, repeats)
                yield Row(
                    **{
                        **asdict(row),
                        "plain_ns": plain_ns,
                        "predicted_ns": scheduled.predicted.time_ns,
                        "measured_ns": measured_ns,
                        "limit_bytes": problem.memory_bytes,
                        "plain_bytes": plain_bytes,
                        "predicted_bytes": scheduled.predicted.peak_bytes,
                        "measured_bytes": measured_bytes,
                        "reserved_bytes": reserved_bytes,
                        "gradients": found,
                    }
                )
                del scheduled, step
            except (JettisonError, RuntimeError) as error:
                yield failed(row, error)


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
            bound = trainer.predicted.bound_ns
            yield replace(
                row,
                base_ns=chain.base_time_ns if bound is None else bound,
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


def main() -> None:
    """Measure, print and write the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chains", nargs="*", choices=CHAINS, default=list(CHAINS))
    parser.add_argument("--graphs", nargs="*", choices=GRAPHS, default=list(GRAPHS))
    parser.add_argument("--budgets", nargs="*", choices=BUDGETS, default=list(BUDGETS))
    parser.add_argument("--compiled", nargs="*", choices=COMPILED, default=list(COMPILED))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--batch", type=int, help="of all models, in place of their own")
    parser.add_argument("--input-size", type=int, help="of all models, in place of their own")
    parser.add_argument("--output", type=Path, default=Path("gpu_steps.csv"))
    parser.add_argument("--instances", type=Path, default=Path("gpu_instances"))
    options = parser.parse_args()
    for sizes in (*CHAINS.values(), *GRAPHS.values(), *COMPILED.values(), *BUDGETS.values()):
        for key in ("batch", "input_size"):
            if (given := getattr(options, key)) is not None:
                sizes[key] = given
    folder, repeats = options.instances, options.repeats
    options.instances.mkdir(parents=True, exist_ok=True)
    short = short_device_name(device_name(DEVICE), DEVICE.type)
    link = link_bytes_per_s()
    print(f"{short}: link {link}", flush=True)
    slower = min(link["down"], link["up"])
    with options.output.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, [field.name for field in fields(Row)])
        writer.writeheader()

        def write(rows: Iterator[Row]) -> None:
            for row in rows:
                writer.writerow(asdict(row))
                stream.flush()
                print(row, flush=True)

        def measure(kind: str, name: str) -> Iterator[Row]:
            if kind == "chain":
                return chain_rows(name, CHAINS[name], short, slower, repeats, folder)
            if kind == "graph":
                return graph_rows(name, GRAPHS[name], short, repeats, folder)
            if kind == "budget":
                return budget_rows(name, BUDGETS[name], short, slower, repeats, folder)
            return compiled_rows(name, COMPILED[name], short, repeats)

        for kind, names in (
            ("budget", options.budgets),
            ("compiled", options.compiled),
            ("chain", options.chains),
            ("graph", options.graphs),
        ):
            for name in names:
                begin = time.monotonic()
                try:
                    write(measure(kind, name))
                except (JettisonError, RuntimeError) as error:
                    print(f"{name}, {kind}: {type(error).__name__}: {error}", flush=True)
                print(f"{name}, {kind}: {time.monotonic() - begin:.1f} s", flush=True)


if __name__ == "__main__":
    main()
