from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from typing import Any

import pytest

from jettison import InputError, Link, RematChain, RematOffloadChain, solve
from jettison.core import MissingExtraError
from jettison.remat_chain import ChainOperation, ChainOperationKind, ChainSchedule
from jettison.remat_offload import OffloadSchedule
from tests.executor_steps import Residual, Step, build, same, squares, twin, unit_chain

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
executor: Any = pytest.importorskip("jettison.torch", exc_type=ImportError)
nn = torch.nn

pytestmark = pytest.mark.torch


def least(model: Any, *, loss: Any = None) -> Any:
    """Run a model in the least memory of its unit chain: every stage but the last runs again."""
    chain = unit_chain(model)
    problem = RematChain(chain, chain.recompute_all_peak_bytes)
    schedule = solve(problem, "recompute-all").schedule
    return executor.CheckpointedSequential(model, problem, schedule, loss=loss)


def tanh_layers(count: int = 3) -> Any:
    torch.manual_seed(0)
    return nn.Sequential(
        *[nn.Sequential(nn.Linear(4, 4), nn.Tanh()) for _ in range(count)]
    ).double()


def batch(**options: Any) -> Any:
    return torch.linspace(-1, 1, 8, dtype=torch.float64, **options).reshape(2, 4)


def test_running_statistics_are_updated_once_though_stages_run_again() -> None:
    model, x = build("convolutions")
    squares(least(model)(x)).backward()
    assert [int(stage[1].num_batches_tracked) for stage in model[:2]] == [1, 1]


def test_a_stage_whose_output_depends_on_a_buffer_that_it_changes_repeats_itself() -> None:
    class Louder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)
            self.register_buffer("volume", torch.ones(()))

        def forward(self, x: Any) -> Any:
            # A new tensor in place of the old one, not only new content.
            self.volume = self.volume * 2
            return self.linear(x) * self.volume

    model = nn.Sequential(Louder(), Louder(), Louder()).double()
    plain = twin(model)
    done = Step(least(model), model, batch())
    done.assert_equal(Step(plain, plain, batch()))
    assert float(model[0].volume) == 2


def test_gradients_accumulate_over_several_steps() -> None:
    model = tanh_layers()
    plain = twin(model)
    scheduled = least(model)
    for _ in range(3):
        squares(scheduled(batch())).backward()
        squares(plain(batch())).backward()
    for mine, other in zip(model.parameters(), plain.parameters(), strict=True):
        assert same(mine.grad, other.grad)


def test_two_steps_may_be_under_way_at_once() -> None:
    model = tanh_layers()
    plain = twin(model)
    scheduled = least(model)
    for run in (scheduled, plain):
        first, second = squares(run(batch())), squares(run(-2 * batch()))
        second.backward()
        first.backward()
    for mine, other in zip(model.parameters(), plain.parameters(), strict=True):
        assert same(mine.grad, other.grad)


@pytest.mark.parametrize("frozen", [(0,), (1,), (2,), (0, 1), (1, 2)])
def test_frozen_stages_get_no_gradient_and_pass_it_on(frozen: tuple[int, ...]) -> None:
    model = tanh_layers()
    for number in frozen:
        model[number].requires_grad_(requires_grad=False)
    plain = twin(model)
    for requires_grad in (False, True):
        model.zero_grad()
        plain.zero_grad()
        x = batch(requires_grad=requires_grad).detach().requires_grad_(requires_grad)
        Step(least(model), model, x).assert_equal(Step(plain, plain, x))


def test_an_input_that_is_a_view_gets_its_gradient() -> None:
    model = tanh_layers()
    plain = twin(model)
    gradients = []
    for run in (least(model), plain):
        whole = torch.linspace(0, 1, 16, dtype=torch.float64).reshape(4, 4).requires_grad_()
        squares(run(whole.t()[:2])).backward()
        gradients.append(whole.grad)
    assert same(*gradients)


def test_evaluation_mode_works_as_in_the_plain_model() -> None:
    model, x = build("convolutions")
    model.eval()
    plain = twin(model)
    Step(least(model), model, x).assert_equal(Step(plain, plain, x))
    with torch.no_grad():
        assert same(least(model)(x), plain(x))


def test_autocast_of_the_forward_pass_holds_for_what_runs_again_in_the_backward_pass() -> None:
    def step(run: Any) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            output = run(batch().float())
        squares(output.float()).backward()
        return output

    model = tanh_layers().float()
    plain = twin(model)
    assert same(step(least(model)), step(plain))
    for mine, other in zip(model.parameters(), plain.parameters(), strict=True):
        assert same(mine.grad, other.grad)


def test_a_scheduled_model_can_be_a_stage_of_another() -> None:
    inner = tanh_layers(2)
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(4, 4), Residual(inner), nn.Linear(4, 4)).double()
    plain = twin(model)
    nested = nn.Sequential(model[0], Residual(least(inner)), model[2])
    Step(least(nested), model, batch()).assert_equal(Step(plain, plain, batch()))


def test_hooks_of_parameters_and_stages_are_called() -> None:
    model = tanh_layers()
    seen = []
    model[0][0].weight.register_hook(lambda gradient: seen.append("gradient"))
    model[2].register_forward_hook(lambda *_: seen.append("forward"))
    model[1].register_full_backward_hook(lambda *_: seen.append("backward"))
    squares(least(model)(batch())).backward()
    # The third stage runs once on the way to the loss, and may run again before its backward.
    assert seen.count("gradient") == 1
    assert seen.count("backward") == 1
    assert seen.count("forward") >= 1


def test_a_loss_takes_arguments_and_trains_its_own_parameters() -> None:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.tensor(2.0, dtype=torch.float64))

        def forward(self, output: Any, target: Any) -> Any:
            return self.scale * ((output - target) ** 2).mean()

    model, loss = tanh_layers(), Scaled()
    plain, plain_loss = twin(model), twin(loss)
    value = least(model, loss=loss)(batch(), -batch())
    value.backward()
    expected = plain_loss(plain(batch()), -batch())
    expected.backward()
    assert same(value, expected)
    assert same(loss.scale.grad, plain_loss.scale.grad)
    assert same(model[0][0].weight.grad, plain[0][0].weight.grad)


@pytest.mark.parametrize("transfers", [False, True])
def test_a_step_without_a_backward_pass_leaves_nothing_in_memory(transfers: bool) -> None:
    model = tanh_layers()
    problem = RematOffloadChain(unit_chain(model), 100, Link(10**9))
    method = "offload-all" if transfers else "store-all"
    schedule = solve(problem, method).schedule
    scheduled = executor.CheckpointedSequential(model, problem, schedule)
    gc.disable()
    try:
        output = scheduled(batch())
        run = weakref.ref(output.grad_fn.run)
        del output
        # By reference counts alone: a cycle through the graph would never be collected.
        assert run() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("transfers", [False, True])
def test_a_caller_who_overwrites_the_output_is_told(transfers: bool) -> None:
    # The flattened output shares its storage with what the stage before has saved: overwriting it
    # would change a gradient without a word.
    model = nn.Sequential(*tanh_layers(), nn.Flatten())
    problem = RematOffloadChain(unit_chain(model), 100, Link(10**9))
    schedule = solve(problem, "offload-all" if transfers else "store-all").schedule
    output = executor.CheckpointedSequential(model, problem, schedule)(batch())
    output.mul_(2)
    with pytest.raises(executor.ExecutionError, match="modified in place"):
        squares(output).backward()


def test_a_second_backward_pass_is_refused() -> None:
    loss = squares(least(tanh_layers())(batch()))
    loss.backward(retain_graph=True)
    with pytest.raises(executor.ExecutionError, match="run the model forward again"):
        loss.backward()


def test_gradients_of_some_tensors_only_are_refused() -> None:
    model = tanh_layers()
    x = batch().requires_grad_()
    with pytest.raises(executor.ExecutionError, match="without inputs"):
        torch.autograd.grad(squares(least(model)(x)), x)
    with pytest.raises(executor.ExecutionError, match="without inputs"):
        squares(least(model)(x)).backward(inputs=[x])
    # Parameters are not in the graph, and PyTorch says so.
    with pytest.raises(RuntimeError, match="not have been used in the graph"):
        torch.autograd.grad(squares(least(model)(x)), list(model.parameters()))


def test_gradients_of_gradients_are_refused() -> None:
    loss = squares(least(tanh_layers())(batch()))
    with pytest.raises(executor.ExecutionError, match="create_graph=True"):
        loss.backward(create_graph=True)


class Doubled(nn.Module):
    def forward(self, x: Any) -> Any:
        return x, x


class Smuggler(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.hidden = [torch.ones(4, dtype=torch.float64, requires_grad=True)]

    def forward(self, x: Any) -> Any:
        return x * self.hidden[0]


@pytest.mark.parametrize(
    ("stage", "message"),
    [
        (nn.ReLU(inplace=True), "modifies its input in place"),
        (Doubled(), "returns a tuple"),
    ],
)
def test_a_stage_that_no_chain_can_describe_is_an_error(stage: Any, message: str) -> None:
    model = tanh_layers()
    for place in range(4):
        changed = nn.Sequential(*model[:place], stage, *model[place:])
        with pytest.raises(InputError, match=message):
            squares(least(changed)(batch())).backward()


def test_a_stage_that_trains_tensors_of_nobody_is_an_error() -> None:
    model = nn.Sequential(Smuggler(), *tanh_layers())
    with pytest.raises(InputError, match="not its parameters"):
        squares(least(model)(batch())).backward()


@pytest.mark.parametrize("calls", [1, 2, 3])
def test_a_stage_that_fails_leaves_generator_and_buffers_and_the_next_step_is_right(
    calls: int,
) -> None:
    class Fails(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.BatchNorm1d(4)
            self.left = calls

        def forward(self, x: Any) -> Any:
            self.left -= 1
            torch.rand(3)
            if self.left == 0:
                raise OSError("no power")
            return self.norm(x)

    model = nn.Sequential(Fails(), *tanh_layers(2)).double()
    scheduled = least(model)
    buffers = dict(model.named_buffers())
    with pytest.raises(OSError, match="no power"):
        squares(scheduled(batch())).backward()
    for name, buffer in model.named_buffers():
        assert buffer is buffers[name]
    model.zero_grad()
    plain = twin(model)
    Step(scheduled, model, batch()).assert_equal(Step(plain, plain, batch()))


def test_a_schedule_must_be_one_of_the_model_and_valid() -> None:
    model = tanh_layers()
    problem = RematChain(unit_chain(model), 100)
    schedule = solve(problem).schedule
    with pytest.raises(InputError, match="2 stages, and 4 in the chain"):
        executor.CheckpointedSequential(model[:2], problem, schedule)
    first = ChainSchedule((ChainOperation(ChainOperationKind.BACKWARD, 4),))
    with pytest.raises(InputError, match="input missing"):
        executor.CheckpointedSequential(model, problem, first)
    with pytest.raises(InputError, match=r"not an nn\.Sequential"):
        executor.CheckpointedSequential(model[0][0], problem, schedule)
    fluid = RematOffloadChain(unit_chain(model), 100, Link(1), transfers="fluid")
    with pytest.raises(InputError, match="fluid transfers"):
        executor.CheckpointedSequential(model, fluid, OffloadSchedule(schedule.operations))


def test_wrong_arguments_of_a_call_are_errors() -> None:
    scheduled = least(tanh_layers())
    with pytest.raises(InputError, match="a list is not a tensor"):
        scheduled([1.0])
    with pytest.raises(InputError, match="1 more arguments, and no loss"):
        scheduled(batch(), batch())
    with_loss = least(tanh_layers(), loss=nn.MSELoss())
    with pytest.raises(InputError, match="requires a gradient"):
        with_loss(batch(), batch().requires_grad_())


def test_importing_jettison_leaves_pytorch_alone_and_the_executor_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    code = "import sys, jettison, jettison.cli.main; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
    monkeypatch.delitem(sys.modules, "jettison.torch")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'jettison\[torch\]'"):
        __import__("jettison.torch")
