"""Real training steps of small networks on top of rotor's predicted curves, on a CPU.

As the plots of Section 5.4 of RR-9302, which are measured: steps that save everything, sequential
ones and optimal ones in several memories, beside what the replay predicts. They run on one thread
of a CPU, in CPU seconds, so that other work on the machine does not count; so the stages are timed
as well, whose sizes are measured by the profiler. Every step takes turns with the plain one.

``notebooks/_recorded/rotor_steps.csv`` is written, which the notebook on rotor draws. Rows of the
method ``curve`` are predictions alone: the persistent optimum in many memories.
"""

from __future__ import annotations

import argparse
import csv
import math
import platform
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from statistics import median_low

import torch
from torch import Tensor, nn
from torch_prediction import rise_bytes, step_ns

from jettison.instances.core.parameter_gradients import ParameterGradients
from jettison.instances.core.provenance import Scalar
from jettison.instances.profilers.device.processor_name import processor_name
from jettison.instances.profilers.torch_chains.profiled_chain import profile_chain
from jettison.instances.profilers.torch_chains.stage import ChainStage, chain_stages, with_inputs
from jettison.instances.profilers.torch_chains.stage_gradients import StageGradients
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_chain.problem import RematChain
from jettison.instances.zoo.densenet import densenet
from jettison.instances.zoo.preactivation_resnet import preactivation_resnet
from jettison.instances.zoo.resnet import resnet
from jettison.instances.zoo.tasks import classify_images
from jettison.instances.zoo.workload import Workload
from jettison.schedules.core.replay import Replay
from jettison.schedules.remat_chain.schedule import ChainSchedule
from jettison.solvers.core.solve import solve
from jettison.solvers.remat_chain.baselines import periodic_schedule, store_all_schedule
from jettison.torch import CheckpointedSequential

RECORD = Path(__file__).parents[1] / "notebooks" / "_recorded" / "rotor_steps.csv"
NETWORKS: dict[str, tuple[Callable[..., nn.Sequential], dict[str, Scalar], int, int]] = {
    "resnet18": (resnet, {"depth": 18, "stem": "3x3", "classes": 10}, 8, 32),
    "resnet164": (preactivation_resnet, {"depth": 164, "classes": 10}, 8, 32),
    "densenet121": (densenet, {"depth": 121, "classes": 10}, 4, 64),
}
_CPU = torch.device("cpu")
_NEW = ParameterGradients.NEW
# Shares of the way from the least memory to that of saving everything.
_MEASURED = (0.1, 0.3, 0.5, 0.7, 0.9)
_CURVE = 40


def workload_of(name: str) -> Workload:
    """Return a network with its images and loss."""
    builder, arguments, batch, side = NETWORKS[name]
    return classify_images(
        builder, arguments, model_name=name, batch=batch, input_size=side, seed=0
    )


def profiled(name: str, work: Workload, repeats: int) -> Chain:
    """Return the chain of a workload, with durations in CPU time."""
    chain = profile_chain(
        work.model,
        work.sample_input,
        name=name,
        model_name=name,
        loss=work.loss,
        warmup=1,
        repeats=1,
    )
    stages = []
    run = with_inputs(chain_stages(work.model, work.loss, _NEW), work.sample_input)
    for known, (stage, stage_input) in zip(chain, run, strict=True):
        with StageGradients(stage) as gradients:
            times = []
            for _ in range(repeats + 1):
                times.append(step_times(stage, stage_input))
                stage_input.grad = None
                gradients.drop_new()
        forward_ns, backward_ns = (median_low(column) for column in zip(*times[1:], strict=True))
        stages.append(replace(known, forward_ns=forward_ns, backward_ns=backward_ns))
    return replace(chain, stages=tuple(stages))


def step_times(stage: ChainStage, stage_input: Tensor) -> tuple[int, int]:
    """Return the CPU times of one forward and one backward operation of a stage."""
    outputs: list[Tensor] = []
    forward_ns = step_ns(lambda: outputs.append(stage.forward(stage_input)), _CPU)
    seed = torch.randn_like(outputs[0])
    return forward_ns, step_ns(lambda: torch.autograd.backward(outputs, [seed]), _CPU)


def schedules(chain: Chain) -> Iterator[tuple[str, int, RematChain, ChainSchedule]]:
    """Yield method, segments or memory, the problem and the schedule of each step to measure."""
    whole = RematChain(chain, chain.store_all_peak_bytes)
    yield "store-all", 1, whole, store_all_schedule(chain)
    for segments in range(2, math.isqrt(4 * (len(chain) - 1)) + 1, 2):
        schedule = periodic_schedule(chain, segments)
        peak_bytes = schedule.replay(chain).peak_bytes
        yield "sequential", segments, RematChain(chain, peak_bytes), schedule
    for share in _MEASURED:
        problem, schedule = optimal(chain, share)
        yield "optimal", problem.memory_bytes, problem, schedule


def optimal(chain: Chain, share: float) -> tuple[RematChain, ChainSchedule]:
    """Return the persistent optimum in a memory, as a share of the way to saving everything."""
    problem = RematChain(chain, f"alpha={share}")
    schedule = solve(problem, "rotor-exact", gap=0).schedule
    assert isinstance(schedule, ChainSchedule)
    return problem, schedule


def predicted_bytes(work: Workload, replay: Replay) -> int:
    """Return the predicted peak of a step, with the gradients that it has made so far."""
    new_bytes: list[int] = []
    seen: set[int] = set()
    for module in (work.loss, *reversed(work.model)):
        # A shared parameter has its gradient from the last of its stages.
        found = {id(p): p for p in module.parameters() if id(p) not in seen}
        seen.update(found)
        new_bytes.append(sum(p.numel() * p.element_size() for p in found.values()))
    count = len(new_bytes)
    there_bytes = peak_bytes = 0
    for step in replay.steps:
        if step.operation.startswith("B"):
            there_bytes += new_bytes[count - int(step.operation[1:])]
        peak_bytes = max(peak_bytes, step.during_bytes + there_bytes)
    return peak_bytes


def rows_of(name: str, work: Workload, repeats: int) -> Iterator[dict[str, object]]:
    """Yield the rows of one network."""
    chain = profiled(name, work, repeats)
    shape = work.sample_input.shape
    input_bytes = work.sample_input.numel() * work.sample_input.element_size()
    common = {
        "network": name,
        "batch": shape[0],
        "side": shape[-1],
        "stages": len(chain),
        "base_ns": chain.base_time_ns,
        "repeats": repeats,
        "device": f"{processor_name()}, one thread",
        "versions": f"jettison {metadata.version('jettison')}, torch {torch.__version__}, "
        f"Python {platform.python_version()}",
        "recorded": datetime.now(UTC).date().isoformat(),
    }

    def row(method: str, setting: int, schedule: ChainSchedule) -> dict[str, object]:
        replay = schedule.replay(chain)
        assert isinstance(replay, Replay)
        return {
            **common,
            "method": method,
            "setting": setting,
            "predicted_ns": replay.time_ns,
            "predicted_bytes": predicted_bytes(work, replay),
        }

    def plain() -> None:
        work.model.zero_grad()
        work.loss(work.model(work.sample_input)).backward()

    for part in range(1, _CURVE + 1):
        problem, schedule = optimal(chain, part / _CURVE)
        yield row("curve", problem.memory_bytes, schedule)
    for method, setting, problem, schedule in schedules(chain):
        scheduled = CheckpointedSequential(work.model, problem, schedule, loss=work.loss)

        def step(run: nn.Module = scheduled) -> None:
            work.model.zero_grad()
            run(work.sample_input).backward()

        step()
        plain()
        turns = [(step_ns(step, _CPU), step_ns(plain, _CPU)) for _ in range(repeats)]
        measured_ns, plain_ns = (median_low(column) for column in zip(*turns, strict=True))
        work.model.zero_grad()
        measured_bytes = rise_bytes(step, _CPU) + input_bytes
        found = {
            **row(method, setting, schedule),
            "measured_ns": measured_ns,
            "plain_ns": plain_ns,
            "measured_bytes": measured_bytes,
        }
        print(
            f"{name} {method} {setting}: {found['predicted_ns'] / 1e6:.1f} ms predicted, "
            f"{measured_ns / 1e6:.1f} measured; {found['predicted_bytes'] / 2**20:.2f} MiB, "
            f"{measured_bytes / 2**20:.2f}",
            flush=True,
        )
        yield found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", nargs="*", choices=NETWORKS, default=list(NETWORKS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--output", type=Path, default=RECORD)
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows: list[dict[str, object]] = []
    for name in options.networks:
        rows.extend(rows_of(name, workload_of(name), options.repeats))
        write(rows, options.output)


def write(rows: list[dict[str, object]], output: Path) -> None:
    """Write the rows so far."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    with output.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
