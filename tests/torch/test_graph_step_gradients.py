"""Graph steps leave behind what plain autograd does, to the bit."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import pytest

from jettison import Graph, RematGraph, solve
from jettison.remat_graph import GraphSchedule
from tests.each import each
from tests.executor_steps import same, twin
from tests.step_models import STEP_MODELS, build_step

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
executor: Any = pytest.importorskip("jettison.torch", exc_type=ImportError)

from jettison.instances.profilers.torch_graphs.operator_cost import Roofline  # noqa: E402
from jettison.instances.profilers.torch_graphs.operator_memory import TracedMemory  # noqa: E402

pytestmark = pytest.mark.torch

EACH_MODEL = pytest.mark.parametrize("name", STEP_MODELS)
cross_entropy = torch.nn.functional.cross_entropy


def trace(name: str, **autocast: Any) -> Any:
    model, x, labels = build_step(name)
    if autocast:
        model, x = model.float(), x.float() if x.is_floating_point() else x
    with torch.autocast("cpu", enabled=bool(autocast), **autocast):
        return executor.trace_step_program(
            model,
            x,
            loss=cross_entropy,
            sample_loss_arguments=(labels,),
            cost=Roofline(),
            # Schedules of many memories are wanted: workspaces would leave some out.
            memory=TracedMemory(),
        )


traced = cache(trace)


class Left:
    """All that two steps leave behind: losses, gradients, buffers, generator."""

    def __init__(self, run: Any, model: Any, x: Any, labels: Any, **autocast: Any) -> None:
        torch.manual_seed(3)
        self.losses = []
        for _ in range(2):
            with torch.autocast(x.device.type, enabled=bool(autocast), **autocast):
                loss = run(x, labels)
            # A weighted loss, as a scaler of gradients makes it.
            (loss * 0.7).backward()
            self.losses.append(loss.detach())
        self.gradients = {name: item.grad for name, item in model.named_parameters()}
        self.buffers = dict(model.named_buffers())
        self.generator = torch.get_rng_state()

    def assert_equal(self, other: Left) -> None:
        assert all(map(same, self.losses, other.losses))
        for name, gradient in self.gradients.items():
            assert same(gradient, other.gradients[name]), name
            assert gradient is None or gradient.stride() == other.gradients[name].stride()
        assert self.buffers.keys() == other.buffers.keys()
        for name, buffer in self.buffers.items():
            assert same(buffer, other.buffers[name]), name
        assert same(self.generator, other.generator)


def compare(name: str, problem: Any, schedule: Any, program: Any, **autocast: Any) -> None:
    model, x, labels = build_step(name)
    if autocast:
        model, x = model.float(), x.float() if x.is_floating_point() else x
    # One trace serves many tests: its model starts again.
    program.step.model.load_state_dict(model.state_dict())
    program.step.model.zero_grad()
    step = executor.CheckpointedStep(program, problem, schedule)
    mine = Left(step, program.step.model, x, labels, **autocast)

    def plain(batch: Any, targets: Any) -> Any:
        return cross_entropy(model(batch), targets)

    mine.assert_equal(Left(plain, model, x, labels, **autocast))


def random_computations(graph: Graph, chance: random.Random) -> list[int]:
    """Walk through the graph in order, dropping values at random and computing them again."""
    computations: list[int] = []
    resident: set[int] = set()

    def compute(node: int) -> None:
        # Results are made with their operator, and some of a second run may be left out.
        operator = graph.operators[node]
        results = graph.results_after.get(operator, range(0))
        first = operator if results else node
        for source in graph.inputs[first]:
            if source not in resident:
                compute(source)
        again = first in computations
        made = [i for i in results if not again or i == node or chance.random() < 0.5]
        computations.extend((first, *made))
        resident.update(made if results else (first,))

    for node in range(len(graph)):
        for other in sorted(resident):
            if chance.random() < 0.03:
                resident.discard(other)
        if not graph.comes_in_a_run(node):
            compute(node)
    return computations


@EACH_MODEL
@pytest.mark.parametrize("method", ["exact", "anneal", "dtr", "recompute-all"])
def test_schedules_of_every_method_and_memory_give_the_plain_step(name: str, method: str) -> None:
    program = traced(name)
    lengths = set()
    for share in ("100%", "85%", "75%", "65%"):
        problem = RematGraph(program.graph, share)
        schedule = solve(problem, method, time_limit=0.5).schedule
        if schedule is not None and len(schedule.computations) not in lengths:
            lengths.add(len(schedule.computations))
            compare(name, problem, schedule, program)
    if method == "exact":
        # Without recomputation and with it.
        assert len(lengths) > 1


@EACH_MODEL
@each(seed=range(4))
def test_random_valid_schedules_give_the_plain_step(name: str, seed: int) -> None:
    program = traced(name)
    computations = random_computations(program.graph, random.Random(seed))
    assert len(computations) > 1.1 * len(program.graph)
    schedule = GraphSchedule.from_computations(program.graph, computations)
    compare(name, RematGraph(program.graph, 10**9), schedule, program)


@pytest.mark.parametrize("name", ["resnet", "transformer"])
@pytest.mark.parametrize("seed", [None, 0, 1])
def test_steps_under_autocast_give_the_plain_step_under_the_same_autocast(
    name: str, seed: int | None
) -> None:
    autocast = {"dtype": torch.bfloat16}
    program = traced(name, **autocast)
    graph = program.graph
    assert any("_to_copy" in node.name for node in graph.nodes)
    computations = (
        range(len(graph)) if seed is None else random_computations(graph, random.Random(seed))
    )
    schedule = GraphSchedule.from_computations(graph, list(computations))
    compare(name, RematGraph(graph, 10**9), schedule, program, **autocast)


def test_the_model_of_a_trace_stays_as_it_was() -> None:
    for name in STEP_MODELS:
        model, _, _ = build_step(name)
        program = trace(name)
        for mine, other in zip(
            program.step.model.state_dict().values(), model.state_dict().values(), strict=True
        ):
            assert same(mine, other)
        assert all(item.grad is None for item in program.step.model.parameters())
        assert all(item.requires_grad for item in program.step.model.parameters())


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.filterwarnings("ignore:.* does not have a deterministic implementation")
@EACH_MODEL
@each(seed=range(2))
def test_random_valid_schedules_give_the_plain_step_on_a_gpu(name: str, seed: int) -> None:
    model, x, labels = (item.cuda() for item in build_step(name))
    plain_model = twin(model)
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(mode=True, warn_only=True)
    try:
        program = executor.trace_step_program(
            model, x, loss=cross_entropy, sample_loss_arguments=(labels,), cost=Roofline()
        )
        computations = random_computations(program.graph, random.Random(seed))
        schedule = GraphSchedule.from_computations(program.graph, computations)
        problem = RematGraph(program.graph, 10**9)
        mine = Left(executor.CheckpointedStep(program, problem, schedule), model, x, labels)
        plain = Left(
            lambda *given: cross_entropy(plain_model(given[0]), given[1]), plain_model, x, labels
        )
    finally:
        torch.use_deterministic_algorithms(before)
    for mine_loss, plain_loss in zip(mine.losses, plain.losses, strict=True):
        torch.testing.assert_close(mine_loss, plain_loss)
    for key, gradient in mine.gradients.items():
        torch.testing.assert_close(gradient, plain.gradients[key])
