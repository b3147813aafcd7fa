"""Steps of any model that run by a schedule: memory, what is refused, and how they are called."""

from __future__ import annotations

from typing import Any

import pytest

from jettison import InputError, RematGraph, solve
from jettison.remat_graph import GraphOperation, GraphOperationKind, GraphSchedule
from tests.executor_steps import same, twin
from tests.step_models import build_step

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
executor: Any = pytest.importorskip("jettison.torch", exc_type=ImportError)
nn = torch.nn

from jettison.instances.profilers.device.memory_cpu import CpuMemoryMeter  # noqa: E402
from jettison.instances.profilers.torch_graphs.operator_cost import Roofline  # noqa: E402

pytestmark = pytest.mark.torch

needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


def layers(*, wide: int = 4, count: int = 3) -> Any:
    torch.manual_seed(0)
    return nn.Sequential(
        *[nn.Sequential(nn.Linear(wide, wide), nn.Tanh()) for _ in range(count)]
    ).double()


def batch(rows: int = 2, wide: int = 4) -> Any:
    return torch.linspace(-1, 1, rows * wide, dtype=torch.float64).reshape(rows, wide)


def squares(output: Any, *others: Any) -> Any:
    return (output * output).sum() + sum(other.sum() for other in others)


def program_of(model: Any, x: Any, *others: Any, loss: Any = squares) -> Any:
    return executor.trace_step_program(
        model, x, loss=loss, sample_loss_arguments=others, cost=Roofline()
    )


def scheduled(program: Any, memory: str = "100%", method: str = "exact") -> Any:
    problem = RematGraph(program.graph, memory)
    schedule = solve(problem, method, time_limit=5).schedule
    return executor.CheckpointedStep(program, problem, schedule)


def plain_step() -> Any:
    return scheduled(program_of(layers(), batch()), method="store-all")


@pytest.mark.parametrize("memory", ["100%", "80%", "60%"])
def test_the_measured_peak_is_the_predicted_one(memory: str) -> None:
    model = nn.Sequential(
        *[nn.Sequential(nn.Linear(64, 64), nn.LayerNorm(64), nn.SiLU()) for _ in range(8)],
        nn.Linear(64, 8),
    )
    x, labels = torch.randn(512, 64), torch.randint(8, (512,))
    step = scheduled(program_of(model, x, labels, loss=nn.CrossEntropyLoss()), memory)
    repeated = len(step.schedule.computations) - len(step.graph)
    assert (repeated > 0) == (memory != "100%")
    with CpuMemoryMeter() as meter, meter.window() as window:
        step(x, labels).backward()
    # Scalars: the copy of the loss, and its gradient.
    assert window.rise_bytes == pytest.approx(step.predicted.peak_bytes, abs=64)
    assert step.predicted.peak_bytes <= step.problem.memory_bytes


def test_adding_to_gradients_needs_less_than_predicted() -> None:
    model, x = layers(wide=64), batch(8, 64)
    step = scheduled(program_of(model, x))
    for _ in range(2):
        with CpuMemoryMeter() as meter, meter.window() as window:
            step(x).backward()
    # Three gradients of 64*64 + 64 numbers of 8 bytes are there already; a new one lives briefly.
    assert window.rise_bytes < step.predicted.peak_bytes - 64 * 65 * 8


def test_a_model_trains_in_half_of_its_memory_with_equal_losses() -> None:
    model, x, labels = build_step("transformer")
    plain = twin(model)
    loss = nn.CrossEntropyLoss()
    step = executor.checkpoint_step_optimal(
        model,
        loss=loss,
        memory="55%",
        sample_input=x,
        sample_loss_arguments=(labels,),
        time_limit=2,
        warmup=0,
        repeats=1,
    )
    assert step.predicted.peak_bytes <= 0.55 * step.graph.store_all_peak_bytes
    assert all(node.duration_ns for node in step.graph.given_nodes)
    losses: list[list[float]] = []
    for run, parts in ((step, model), (lambda a, b: loss(plain(a), b), plain)):
        optimizer = torch.optim.SGD(parts.parameters(), lr=0.1)
        torch.manual_seed(5)
        losses.append([])
        for _ in range(3):
            optimizer.zero_grad()
            value = run(x, labels)
            value.backward()
            optimizer.step()
            losses[-1].append(float(value.detach()))
    assert losses[0] == losses[1]
    assert losses[0][-1] < losses[0][0]


def test_a_program_serves_several_memories() -> None:
    model, x = layers(), batch(64)
    program = program_of(model, x)
    options = {"loss": squares, "program": program, "time_limit": 5}
    peaks = [
        executor.checkpoint_step_optimal(model, memory=memory, **options).predicted.peak_bytes
        for memory in ("100%", "90%")
    ]
    assert peaks[1] < peaks[0]
    with pytest.raises(InputError, match="another model or loss"):
        executor.checkpoint_step_optimal(twin(model), memory="90%", **options)
    with pytest.raises(InputError, match=r"memory: .* no schedule .* give at least \d+ bytes"):
        executor.checkpoint_step_optimal(model, memory=8, **options)
    with pytest.raises(InputError, match="give one batch, or what trace_step_program returned"):
        executor.checkpoint_step_optimal(model, memory="90%", loss=squares)


def test_a_model_may_return_the_loss_itself_and_a_loss_may_train() -> None:
    class Own(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4).double()

        def forward(self, x: Any, y: Any) -> Any:
            return ((self.layer(x) - y) ** 2).mean()

    for model, loss in ((Own(), None), (layers(), Own())):
        plain, plain_loss = twin(model), twin(loss)
        step = scheduled(program_of(model, batch(), -batch(), loss=loss))
        step(batch(), -batch()).backward()
        given = (batch(), -batch())
        expected = plain(*given) if loss is None else plain_loss(plain(given[0]), given[1])
        expected.backward()
        owner, other = (model, plain) if loss is None else (loss, plain_loss)
        assert same(owner.layer.weight.grad, other.layer.weight.grad)


def test_two_steps_may_be_under_way_at_once_and_hooks_of_parameters_run() -> None:
    model = layers()
    plain = twin(model)
    step = scheduled(program_of(model, batch()))
    seen: list[str] = []
    model[0][0].weight.register_hook(lambda gradient: seen.append("hook") or 2 * gradient)
    model[1][0].weight.register_post_accumulate_grad_hook(lambda _: seen.append("after"))
    plain[0][0].weight.register_hook(lambda gradient: 2 * gradient)
    for run in (step, lambda x: squares(plain(x))):
        first, second = run(batch()), run(-2 * batch())
        second.backward()
        first.backward()
    for mine, other in zip(model.parameters(), plain.parameters(), strict=True):
        assert same(mine.grad, other.grad)
    assert sorted(seen) == ["after", "after", "hook", "hook"]


def test_without_gradients_the_model_runs_as_it_is() -> None:
    step = plain_step()
    with torch.no_grad():
        # Another size is no matter then.
        value = step(batch(5))
    assert not value.requires_grad
    assert same(value, squares(step.step.model(batch(5))).detach())


def test_a_schedule_that_breaks_a_rule_is_refused_before_it_runs() -> None:
    program = program_of(layers(), batch())
    good = GraphSchedule.from_computations(program.graph, range(len(program.graph)))
    late = GraphSchedule(good.operations[1:])
    freed = (GraphOperation(GraphOperationKind.FREE, 0), *good.operations)
    without_last = [item for item in good.operations if item.node < len(program.graph) - 1]
    for schedule, message in (
        (late, "input missing"),
        (GraphSchedule(freed), "not in memory"),
        (GraphSchedule(tuple(without_last)), "never computed"),
    ):
        with pytest.raises(InputError, match=message):
            executor.CheckpointedStep(program, RematGraph(program.graph, 10**6), schedule)
    with pytest.raises(InputError, match="out of memory"):
        executor.CheckpointedStep(program, RematGraph(program.graph, 100), good)
    other = program_of(layers(), batch(3)).graph
    with pytest.raises(InputError, match="is not that of this step"):
        executor.CheckpointedStep(program, RematGraph(other, 10**6), good)


def test_random_numbers_in_another_order_are_refused() -> None:
    class Noise(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4).double()

        def forward(self, x: Any) -> Any:
            return self.layer(x) * torch.rand(4) * torch.randn(4)

    graph = (program := program_of(Noise(), batch())).graph
    second = graph.position_of["randn"]
    order = [second, *(node for node in range(len(graph)) if node != second)]
    schedule = GraphSchedule.from_computations(graph, order)
    with pytest.raises(InputError, match="randn draws random numbers before rand; keep"):
        executor.CheckpointedStep(program, RematGraph(graph, 10**6), schedule)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ((batch(3),), r"inputs\[0\]: .*drop_last=True"),
        ((batch().float(),), r"torch.float32 of size"),
        ((batch(4, 2).t(),), "stride"),
        ((batch(), batch()), "2 inputs, and 1 in the trace"),
        (([1.0],), "a list is not a dense tensor"),
        ((batch().requires_grad_(),), "an input requires a gradient"),
    ],
)
def test_inputs_unlike_the_sample_are_errors(inputs: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        plain_step()(*inputs)


def test_a_step_in_another_mode_or_under_another_autocast_is_refused() -> None:
    step = plain_step()
    step.step.model[1].eval()
    with pytest.raises(executor.ExecutionError, match="training and evaluation mode"):
        step(batch())
    step.step.model[1].train()
    step.step.model[0][0].weight.requires_grad_(requires_grad=False)
    with pytest.raises(executor.ExecutionError, match="requires_grad"):
        step(batch())
    step.step.model[0][0].weight.requires_grad_()
    with (
        torch.autocast("cpu", dtype=torch.bfloat16),
        pytest.raises(executor.ExecutionError, match="under the same autocast"),
    ):
        step(batch())
    step(batch()).backward()


def test_what_a_schedule_cannot_do_is_refused() -> None:
    step = plain_step()
    loss = step(batch())
    loss.backward(retain_graph=True)
    with pytest.raises(executor.ExecutionError, match="run the step again"):
        loss.backward()
    with pytest.raises(executor.ExecutionError, match="create_graph=True"):
        step(batch()).backward(create_graph=True)
    weight = step.step.model[0][0].weight
    # Parameters are not in the graph, and PyTorch says so.
    with pytest.raises(RuntimeError, match="not have been used in the graph"):
        torch.autograd.grad(step(batch()), [weight])
    loss = step(batch())
    with torch.no_grad():
        weight.add_(1)
    with pytest.raises(executor.ExecutionError, match="modified in place"):
        loss.backward()


class Smuggler(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4).double()
        self.hidden = [torch.ones(4, dtype=torch.float64)]

    def forward(self, x: Any) -> Any:
        return self.layer(x) * self.hidden[0]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (nn.Sequential(nn.ReLU(inplace=True), layers()), "modifies its input in place"),
        (Smuggler(), "neither parameters, buffers nor inputs"),
        (layers().eval(), "evaluation mode"),
        (layers().requires_grad_(requires_grad=False), "trained parameters"),
    ],
)
def test_a_model_that_no_graph_can_describe_is_an_error(model: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        program_of(model, batch())


@needs_cuda
def test_gradients_are_scaled_and_the_peak_is_near_the_predicted_one_on_a_gpu() -> None:
    model, x, labels = (item.cuda() for item in build_step("transformer"))
    model = model.float()
    plain = twin(model)
    loss = nn.CrossEntropyLoss()
    with torch.autocast("cuda", dtype=torch.float16):
        program = program_of(model, x, labels, loss=loss)
    step = scheduled(program, "80%")
    found = []
    for run, parts in ((step, model), (lambda a, b: loss(plain(a), b), plain)):
        scaler = torch.amp.GradScaler("cuda")
        optimizer = torch.optim.SGD(parts.parameters(), lr=0.1)
        torch.manual_seed(5)
        for _ in range(3):
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                value = run(x, labels)
            scaler.scale(value).backward()
            scaler.step(optimizer)
            scaler.update()
        found.append([value.detach(), *parts.parameters()])
    for mine, other in zip(*found, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-3, atol=1e-4)


@needs_cuda
def test_the_peak_of_a_graph_step_is_near_the_predicted_one_on_a_gpu() -> None:
    from jettison.instances.profilers.device.memory_cuda import CudaMemoryMeter

    model = nn.Sequential(
        *[nn.Sequential(nn.Linear(512, 512), nn.LayerNorm(512), nn.SiLU()) for _ in range(8)]
    ).cuda()
    x = torch.randn(4096, 512, device="cuda")
    step = scheduled(program_of(model, x), "60%")
    step(x).backward()
    model.zero_grad()
    with CudaMemoryMeter(x.device) as meter, meter.window() as window:
        step(x).backward()
    # The allocator rounds to 512 bytes, and cuBLAS has a workspace.
    assert window.rise_bytes == pytest.approx(step.predicted.peak_bytes, rel=0.05, abs=2**24)
