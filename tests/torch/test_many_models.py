"""Training of many models by schedules: equal to separate trainings, and within memory."""

from __future__ import annotations

import copy
import gc
import threading
import weakref
from collections import Counter
from contextlib import nullcontext
from importlib import util
from pathlib import Path
from typing import Any

import pytest

import jettison as jt
from jettison.schedules.multi_model.operation import MultiModelAction
from jettison.schedules.multi_model.schedule import MultiModelSchedule
from tests.many_models import case, drawn_schedule, least_memory, one_after_the_other, squares

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
executor: Any = pytest.importorskip("jettison.torch.multi_model", exc_type=ImportError)

pytestmark = pytest.mark.torch


@pytest.fixture(autouse=True)
def _one_thread_for_the_profile(_one_thread: None) -> None:
    """Profile on one thread as well, though the first test that needs it does it."""


@pytest.mark.parametrize(
    ("network", "optimizer"),
    [
        ("perceptron", "sgd"),
        ("perceptron", "adam"),
        ("attention", "adam"),
        ("convolution", "sgd"),
        ("convolution", "sgd with decay"),
        ("odd", "adam"),
    ],
)
def test_every_bit_is_that_of_separate_trainings(network: str, optimizer: str) -> None:
    made = case(network, optimizer, 4, (2,))
    done: Counter[MultiModelAction] = Counter()
    for seed in range(3):
        schedule = drawn_schedule(made.array.instance, 2, seed)
        memory = least_memory(made.problem(2**30), schedule)
        report = made.train(made.problem(memory), schedule)
        assert made.differences(report) == [], seed
        assert report.peak_bytes <= memory
        for operations in schedule.units[0].rounds:
            done.update(operation.action for operation in operations)
    assert min(done[action] for action in MultiModelAction) > 0


class LaunchedStream:
    """Stream of a GPU as its caller sees it: nothing is known to have ended until it is drained."""

    def __init__(self, device: Any = None) -> None:
        self.launched: list[LaunchedEvent] = []

    def wait_event(self, event: LaunchedEvent) -> None:
        # It was recorded before something waits for it, or it would mean nothing.
        assert event.is_recorded

    def wait_stream(self, other: LaunchedStream) -> None:
        pass

    def synchronize(self) -> None:
        for event in self.launched:
            event.has_ended = True
        self.launched.clear()


class LaunchedEvent:
    def __init__(self, *, enable_timing: bool) -> None:
        assert enable_timing
        self.is_recorded = self.has_ended = False

    def record(self, stream: LaunchedStream) -> None:
        self.is_recorded = True
        stream.launched.append(self)

    def query(self) -> bool:
        return self.has_ended

    def synchronize(self) -> None:
        self.has_ended = True

    def elapsed_time(self, end: LaunchedEvent) -> float:
        assert end.has_ended
        return 1.0


def test_streams_that_only_launch_compute_the_same_in_the_same_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The streams of a GPU on a CPU: work is done when it is launched, and known to be later."""
    from jettison.torch.multi_model import trainer
    from jettison.torch.multi_model.streams import CudaStreams

    computing = LaunchedStream()
    monkeypatch.setattr(torch.cuda, "Stream", LaunchedStream)
    monkeypatch.setattr(torch.cuda, "Event", LaunchedEvent)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: computing)
    monkeypatch.setattr(torch.cuda, "stream", nullcontext)
    # Tensors of a CPU cannot be recorded on a stream.
    monkeypatch.setattr(CudaStreams, "uses", lambda streams, lane, tensors: None)
    monkeypatch.setattr(trainer, "streams_of", CudaStreams)
    made = case("convolution", "sgd", 4, (2,))
    for seed in range(3):
        schedule = drawn_schedule(made.array.instance, 2, seed)
        memory = least_memory(made.problem(2**30), schedule)
        report = made.train(made.problem(memory), schedule)
        assert made.differences(report) == [], seed
        assert report.peak_bytes <= memory


def test_where_the_kernels_are_those_of_one_model_so_is_every_bit_of_plain_training() -> None:
    made = case("product", "sgd", 4, (2,))
    report = made.train(made.problem(2**30), drawn_schedule(made.array.instance, 2, 1))
    for place, (model, old) in enumerate(zip(made.models, made.before, strict=True)):
        plain = copy.deepcopy(old)
        kind = made.optimizers[place]
        optimizer = torch.optim.SGD(plain.parameters(), lr=kind.lr, momentum=kind.momentum)
        for step, batches in enumerate(made.batches):
            batch, wanted = batches[place]
            optimizer.zero_grad()
            loss = squares(plain(batch), wanted)
            loss.backward()
            optimizer.step()
            assert float(loss.detach()) == float(report.losses[step, place])
        for mine, its in zip(model.parameters(), plain.parameters(), strict=True):
            assert torch.equal(mine, its)
            assert torch.equal(mine.grad, its.grad)


def test_mu_two_holds_the_limit_where_fusing_all_models_cannot() -> None:
    made = case("convolution", "sgd", 4, (2, 4))
    everything = made.problem()
    problem = made.problem("60%")
    result = jt.solve(problem, "mu-two")
    assert isinstance(result.schedule, MultiModelSchedule)
    report = made.train(problem, result.schedule)
    assert made.differences(report) == []
    assert report.limit_bytes == problem.memory_bytes < everything.memory_bytes
    assert report.predicted_peak_bytes == result.peak_bytes
    assert report.peak_bytes <= report.limit_bytes
    assert report.predicted_time_ns == result.time_ns
    assert 0 <= report.stall_ns <= report.time_ns


@pytest.mark.parametrize("method", ["hfta", "recompute-only"])
def test_without_copies_the_peak_is_that_of_the_replay(method: str) -> None:
    made = case("convolution", "sgd", 4, (2, 4))
    problem = made.problem("100%" if method == "hfta" else "90%")
    result = jt.solve(problem, method)
    report = made.train(problem, result.schedule)
    assert made.differences(report) == []
    # Memory that copies hold depends on the time they take; without any it does not.
    assert report.peak_bytes == report.predicted_peak_bytes == result.peak_bytes
    assert report.host_bytes == 0


def test_models_of_two_units_are_trained_one_unit_after_the_other() -> None:
    made = case("perceptron", "sgd", 3, (1, 2))
    problem = made.problem(2**30)
    single = one_after_the_other(made.array.instance.sub_array(1))
    pair = one_after_the_other(made.array.instance.sub_array(2))
    for units in ((single, pair), (pair, single), (single, single, single)):
        report = made.train(problem, MultiModelSchedule(units))
        assert made.differences(report) == []
        assert report.peak_bytes == report.predicted_peak_bytes


def test_a_unit_is_gone_when_the_next_one_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    from jettison.instances.profilers.torch_graphs.fused.fused_program import FusedProgram

    tensors, loaded = FusedProgram.tensors, []

    def noted(*arguments: Any) -> Any:
        assert not any(tensor() is not None for tensor in loaded)
        found = tensors(*arguments)
        loaded.extend(map(weakref.ref, found.registers.values()))
        return found

    made = case("perceptron", "sgd", 3, (1, 2))
    single = one_after_the_other(made.array.instance.sub_array(1))
    monkeypatch.setattr(FusedProgram, "tensors", noted)
    gc.disable()
    try:
        made.train(made.problem(2**30), MultiModelSchedule((single,) * 3))
    finally:
        gc.enable()
    assert loaded


def test_training_goes_on_where_it_stopped() -> None:
    made = case("perceptron", "adam", 4, (2,))
    problem, schedule = made.problem(2**30), drawn_schedule(made.array.instance, 2, 5)
    at_once = made.train(problem, schedule).losses
    for model, old in zip(made.models, made.before, strict=True):
        model.load_state_dict(old.state_dict())
    trainer = executor.MultiModelTrainer(made.array, problem, schedule)
    parts = [trainer.train(made.batches[:1]).losses, trainer.train(made.batches[1:]).losses]
    assert torch.equal(at_once, torch.cat(parts))


def test_a_merged_graph_says_before_what_it_swaps_in() -> None:
    made = case("perceptron", "sgd", 4, (2,))
    array = made.array.instance.sub_array(2)
    unit = drawn_schedule(made.array.instance, 2, 3).units[0]
    merged = executor.rewrite(unit, [array, array], [made.array.programs[2]] * 2)
    assert [len(operations) for operations in merged.rounds] == [
        len(operations) for operations in unit.rounds
    ]
    assert {node.array for node in merged.opening} == {0}
    assert {node.array for node in merged.closing} == {1}
    assert len(merged.opening) + len(merged.closing) == len(merged.rounds[1])
    for nodes in merged.rounds:
        for place, node in enumerate(nodes):
            if node.action is MultiModelAction.PREFETCH:
                after = next(item for item in nodes[place:] if item.action.is_computation)
                assert node.prompt == f"{after.action}{after.array + 1} {after.name}"
                assert str(node).endswith(f"before {node.prompt}")
            else:
                assert not node.prompt


def test_the_example_says_that_all_is_equal(capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(__file__).parents[2] / "examples/train_many_models.py"
    spec = util.spec_from_file_location("train_many_models", path)
    assert spec is not None
    assert spec.loader is not None
    example = util.module_from_spec(spec)
    spec.loader.exec_module(example)
    example.main()
    assert "equal to four separate trainings: True" in capsys.readouterr().out


def test_the_demonstration_says_that_all_is_equal(capsys: pytest.CaptureFixture[str]) -> None:
    from jettison.torch.multi_model.__main__ import main

    small = ["--models", "2", "--depth", "1", "--batch", "2"]
    assert main([*small, "--steps", "2", "--memory", "90%"]) == 0
    assert "yes, to the bit" in capsys.readouterr().out
    assert main([*small, "--dropout", "0.1"]) == 2
    assert "draws random numbers" in capsys.readouterr().err
    assert main([*small, "--dropout", "2"]) == 2
    assert "dropout: 2.0; write a number from 0 to 1" in capsys.readouterr().err
    assert main(["--steps", "0"]) == 2
    assert "--steps: 0" in capsys.readouterr().err


def test_the_demonstration_ends_in_one_line_after_ctrl_c(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from jettison.torch.multi_model import __main__ as demonstration

    def interrupted(*arguments: Any, **options: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(demonstration, "optimal_trainer", interrupted)
    assert demonstration.main(["--models", "2", "--depth", "1", "--batch", "2"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_training_that_is_interrupted_leaves_unfinished_units_as_they_were(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from jettison.torch.multi_model import trainer as room

    made = case("perceptron", "adam", 3, (1, 2))
    array = made.array.instance.sub_array
    schedule = MultiModelSchedule((one_after_the_other(array(1)), one_after_the_other(array(2))))
    whole = made.train(made.problem(2**30), schedule).losses
    for model, old in zip(made.models, made.before, strict=True):
        model.load_state_dict(old.state_dict())
    trainer = executor.MultiModelTrainer(made.array, made.problem(2**30), schedule)
    run, started = room.ScheduleInterpreter.run, []

    def interrupted(interpreter: Any, nodes: Any) -> Any:
        started.append(nodes)
        if len(started) == len(made.batches) + 2:
            raise KeyboardInterrupt
        return run(interpreter, nodes)

    with monkeypatch.context() as patched:
        patched.setattr(room.ScheduleInterpreter, "run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            trainer.train(made.batches)
    for model, old in zip(made.models[1:], made.before[1:], strict=True):
        for mine, its in zip(model.parameters(), old.parameters(), strict=True):
            assert torch.equal(mine, its)
    # The other unit begins with its first step, and the first one goes on.
    assert torch.equal(trainer.train(made.batches).losses[:, 1:], whole[:, 1:])


class BrokenError(Exception):
    pass


def test_what_fails_in_a_stream_is_raised_and_holds_no_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from jettison.instances.profilers.torch_graphs.held_storages import HeldStorages
    from jettison.torch.multi_model.streams import ThreadStreams

    submit, hold = ThreadStreams.submit, HeldStorages.hold
    submitted: list[Any] = []
    held: list[weakref.ref[Any]] = []

    def failing(streams: Any, lane: Any, work: Any, after: Any, begin: Any = None) -> Any:
        submitted.append(lane)

        def broken() -> None:
            raise BrokenError

        return submit(streams, lane, broken if len(submitted) == 20 else work, after, begin)

    def noted(account: Any, tensors: Any) -> None:
        found = list(tensors)
        held.extend(map(weakref.ref, found))
        hold(account, found)

    made = case("perceptron", "sgd", 4, (2,))
    problem, schedule = made.problem(2**30), drawn_schedule(made.array.instance, 2, 3)
    with monkeypatch.context() as patched:
        patched.setattr(ThreadStreams, "submit", failing)
        patched.setattr(HeldStorages, "hold", noted)
        gc.collect()
        gc.disable()
        try:
            with pytest.raises(BrokenError) as caught:
                made.train(problem, schedule)
            assert {thread.name for thread in threading.enumerate()}.isdisjoint(
                lane.value for lane in submitted
            )
            del caught
            assert held
            assert not any(tensor() is not None for tensor in held)
        finally:
            gc.enable()


def test_a_training_that_diverges_is_the_same_as_by_itself() -> None:
    torch.manual_seed(0)
    models = [torch.nn.Linear(3, 1).double() for _ in range(2)]
    before = copy.deepcopy(models)
    batches = [[torch.randn(4, 3, dtype=torch.float64) for _ in models] for _ in range(4)]
    optimizer = executor.SGD(10**200)

    def loss(output: Any) -> Any:
        return (output**2).sum()

    array = executor.profile_models(
        models, batches[0][0], loss=loss, optimizers=optimizer, warmup=0, repeats=1
    )
    report = executor.optimal_trainer(array, memory=2**30).train(batches)
    assert report.losses[-1].isnan().all()
    for place, old in enumerate(before):
        alone = executor.train_separately(old, loss, [step[place] for step in batches], optimizer)
        assert not alone.differences(models[place], report.losses[:, place].tolist())
        assert alone.differences(old, report.losses[:, place].tolist())
