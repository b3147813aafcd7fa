"""Training of many models by schedules: equal to separate trainings, within memory, or refused."""

from __future__ import annotations

import copy
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from importlib import util
from pathlib import Path
from typing import Any

import pytest

import jettison as jt
from jettison.instances.core.errors import InputError
from jettison.instances.multi_model.sub_array import SubArray
from jettison.schedules.multi_model.operation import MultiModelAction, MultiModelOperation
from jettison.schedules.multi_model.schedule import MultiModelSchedule, TrainingUnit

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
executor: Any = pytest.importorskip("jettison.torch.multi_model", exc_type=ImportError)
nn, functional = torch.nn, torch.nn.functional
SGD, Adam = executor.SGD, executor.Adam

pytestmark = pytest.mark.torch

STEPS = 3
Network = tuple[Callable[[], Any], Callable[[], tuple[Any, ...]]]


class Residual(nn.Module):
    def __init__(self, wide: int) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(wide, 2 * wide), nn.Linear(2 * wide, wide)
        self.norm = nn.LayerNorm(wide)

    def forward(self, x: Any) -> Any:
        return x + self.second(functional.gelu(self.first(self.norm(x))))


class Attention(nn.Module):
    """A word for each position; the head has the weights of the embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(11, 8)
        self.parts = nn.Linear(8, 24)
        self.feed = Residual(8)
        self.head = nn.Linear(8, 11, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, words: Any) -> Any:
        x = self.embedding(words)
        query, key, value = (
            part.unflatten(-1, (2, -1)).transpose(1, 2) for part in self.parts(x).chunk(3, dim=-1)
        )
        found = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.head(self.feed(x + found.transpose(1, 2).flatten(2))).flatten(0, 1)


class Product(nn.Module):
    """A layer of a product of matrices and a sum, whose kernels are those of stacked models."""

    def __init__(self, inner: int, outer: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(inner, outer, dtype=torch.float64) / inner**0.5)
        self.bias = nn.Parameter(torch.randn(outer, dtype=torch.float64))

    def forward(self, x: Any) -> Any:
        return x @ self.weight + self.bias


class Odd(nn.Module):
    """A single number, a frozen, an unused and a single-precision parameter, and a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.randn(()))
        self.frozen = nn.Parameter(torch.randn(8, 8), requires_grad=False)
        self.unused = nn.Parameter(torch.randn(3))
        self.inner, self.last = nn.Linear(8, 8), nn.Linear(8, 4)
        self.register_buffer("place", torch.randn(8))

    def double(self) -> Odd:
        super().double()
        self.last.float()
        return self

    def forward(self, x: Any) -> Any:
        return self.last(torch.tanh(self.inner(x @ self.frozen + self.place) * self.scale).float())


def labelled(*shape: int, classes: int = 4) -> tuple[Any, Any]:
    return torch.randn(*shape, dtype=torch.float64), torch.randint(classes, shape[:1])


def perceptron() -> Any:
    return nn.Sequential(nn.Linear(8, 16), Residual(16), nn.Tanh(), nn.Linear(16, 4))


NETWORKS: dict[str, Network] = {
    "perceptron": (perceptron, lambda: labelled(16, 8)),
    "attention": (
        Attention,
        lambda: (torch.randint(11, (3, 6)), torch.randint(11, (18,))),
    ),
    "convolution": (
        lambda: nn.Sequential(
            nn.Conv2d(3, 4, 3, padding=1),
            nn.GroupNorm(2, 4),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
            nn.Conv2d(4, 4, 3, bias=False),
            nn.Flatten(),
            nn.Linear(16, 4),
        ),
        lambda: labelled(4, 3, 8, 8),
    ),
    "odd": (Odd, lambda: labelled(6, 8)),
    "product": (
        lambda: nn.Sequential(Product(8, 32), nn.Tanh(), Product(32, 4)),
        lambda: (torch.randn(16, 8).double(), torch.randn(16, 4).double()),
    ),
}


def squares(output: Any, wanted: Any) -> Any:
    return ((output - wanted) ** 2).sum()


LOSSES = {"product": squares}
OPTIMIZERS: dict[str, Callable[[int], Any]] = {
    "sgd": lambda place: SGD(0.05 * (1 + place), momentum=0.4 * (place % 3)),
    "sgd with decay": lambda place: SGD(0.03, weight_decay=0.1 * place),
    "adam": lambda place: Adam(
        0.01 * (1 + place), beta1=0.8 + 0.05 * place, weight_decay=0.02 * place
    ),
}


class Case:
    """Models with their batches, profiled; they can be set back to where they began."""

    def __init__(self, network: str, optimizer: str, models: int, sizes: Sequence[int]) -> None:
        torch.manual_seed(0)
        build, draw = NETWORKS[network]
        self.models = [build().double() for _ in range(models)]
        self.batches = [[draw() for _ in self.models] for _ in range(STEPS)]
        self.loss = LOSSES.get(network, functional.cross_entropy)
        self.optimizers = [OPTIMIZERS[optimizer](place) for place in range(models)]
        self.before = copy.deepcopy(self.models)
        batch, *more = self.batches[0][0]
        self.array = executor.profile_models(
            self.models,
            batch,
            loss=self.loss,
            sample_loss_arguments=more,
            optimizers=self.optimizers,
            sizes=sizes,
            warmup=0,
            repeats=1,
        )

    def problem(self, memory: str | int = "100%") -> Any:
        return jt.MultiModelTraining(self.array.instance, memory)

    def train(self, problem: Any, schedule: Any) -> Any:
        for model, old in zip(self.models, self.before, strict=True):
            model.load_state_dict(old.state_dict())
        return executor.MultiModelTrainer(self.array, problem, schedule).train(self.batches)

    def differences(self, report: Any) -> list[str]:
        """Return what differs from trainings of the models by themselves."""
        return [
            f"model {place}: {name}"
            for place, model in enumerate(self.models)
            for name in executor.train_separately(
                self.before[place],
                self.loss,
                [step[place] for step in self.batches],
                self.optimizers[place],
            ).differences(model, report.losses[:, place].tolist())
        ]


# One profile serves several tests, which set its models back.
case = cache(Case)


@pytest.fixture(autouse=True)
def _one_thread_for_the_profile(_one_thread: None) -> None:
    """Profile on one thread as well, though the first test that needs it does it."""


def drawn_schedule(instance: Any, size: int, seed: int) -> MultiModelSchedule:
    """Draw a schedule of two sub-arrays: each feature map is kept, swapped or computed again.

    The passes of a round run one after the other, or operator by operator in turn.
    """
    draw = random.Random(seed)
    array = instance.sub_array(size)
    passes = [_drawn_passes(array, place, draw) for place in (0, 1)]
    rounds = []
    for backward, forward in ((0, 1), (1, 0)):
        late, early = passes[backward][1], passes[forward][0]
        if draw.random() < 0.5:
            rounds.append((*late, *early))
            continue
        merged: list[MultiModelOperation] = []
        queues = [list(late), list(early)]
        while any(queues):
            queue = draw.choice([queue for queue in queues if queue])
            merged.append(queue.pop(0))
        rounds.append(tuple(merged))
    return MultiModelSchedule((TrainingUnit((size, size), tuple(rounds)),))


def _drawn_passes(
    array: SubArray, number: int, draw: random.Random
) -> tuple[list[MultiModelOperation], list[MultiModelOperation]]:
    Action = MultiModelAction  # noqa: N806

    def do(action: MultiModelAction, position: int) -> MultiModelOperation:
        return MultiModelOperation(action, number, position)

    maps = array.tensors
    ways = [draw.choice(["keep", "swap", "again"]) for _ in maps]
    for place, tensor in enumerate(maps):
        # A source that is gone by then would have to come back first.
        if any(maps[source].last_backward < tensor.first_backward for source in tensor.sources):
            ways[place] = "swap"
    forward, backward = [], []
    for position in range(len(array.forward)):
        forward.append(do(Action.FORWARD, position))
        for place, tensor in enumerate(maps):
            if tensor.last_forward == position and ways[place] != "keep":
                away = Action.OFFLOAD if ways[place] == "swap" else Action.DISCARD
                forward.append(do(away, place))
    there = {place for place, way in enumerate(ways) if way == "keep"}

    def bring(place: int) -> None:
        if place in there:
            return
        there.add(place)
        if ways[place] == "again":
            for source in maps[place].sources:
                bring(source)
        back = Action.RECOMPUTE if ways[place] == "again" else Action.PREFETCH
        backward.append(do(back, place))

    for position in range(len(array.backward)):
        for place, tensor in enumerate(maps):
            if tensor.first_backward == position:
                bring(place)
        backward.append(do(Action.BACKWARD, position))
    return forward, backward


def least_memory(problem: Any, schedule: MultiModelSchedule) -> int:
    """Return the least memory in which the replay accepts a schedule."""
    least, enough = 0, schedule.replay(problem).peak_bytes
    while least < enough:
        tried = (least + enough) // 2
        if schedule.replay(replace(problem, memory=tried)).valid:
            enough = tried
        else:
            least = tried + 1
    return enough


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
    single = _alone(made.array.instance.sub_array(1))
    pair = _alone(made.array.instance.sub_array(2))
    for units in ((single, pair), (pair, single), (single, single, single)):
        report = made.train(problem, MultiModelSchedule(units))
        assert made.differences(report) == []
        assert report.peak_bytes == report.predicted_peak_bytes


def _alone(array: SubArray) -> TrainingUnit:
    passes = (
        (MultiModelAction.FORWARD, len(array.forward)),
        (MultiModelAction.BACKWARD, len(array.backward)),
    )
    operations = tuple(
        MultiModelOperation(action, 0, position)
        for action, count in passes
        for position in range(count)
    )
    return TrainingUnit((array.models,), (operations,))


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


def profile(models: Sequence[Any], batch: Any, **changes: Any) -> Any:
    options = {"optimizers": SGD(0.1), "loss": torch.mean, "warmup": 0, "repeats": 1, **changes}
    return executor.profile_models(models, batch, **options)


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (lambda: nn.Linear(4, 3), r"models\[1\]: the module at the top is Linear\(in_features=4"),
        (lambda: nn.Linear(4, 2).double(), r"models\[1\]: the parameter or buffer weight is"),
        (lambda: nn.Linear(4, 2).requires_grad_(False), "not trained"),
        (lambda: nn.Linear(4, 2).eval(), r"models\[1\]: a module is in evaluation mode"),
    ],
)
def test_models_that_are_not_alike_are_refused(second: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        profile([nn.Linear(4, 2), second()], torch.zeros(3, 4))


def test_one_model_twice_is_refused() -> None:
    model = nn.Linear(4, 2)
    with pytest.raises(InputError, match=r"models\[2\]: model 0 again"):
        profile([model, nn.Linear(4, 2), model], torch.zeros(3, 4))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: nn.Sequential(nn.Linear(4, 2), nn.Dropout(0.5)),
            r"models: \w+ draws random numbers \(aten\.\w+",
        ),
        (
            lambda: nn.Sequential(nn.Linear(4, 2), nn.BatchNorm1d(2)),
            r"models: the step writes to the buffer model\.1\.running_mean",
        ),
        (
            lambda: nn.Sequential(nn.ReLU(inplace=True), nn.Linear(4, 2)),
            "models: the step modifies its input in place",
        ),
    ],
)
def test_steps_that_cannot_be_repeated_are_refused_by_name(build: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        profile([build(), build()], torch.randn(3, 4))


def test_wrong_numbers_of_things_are_refused() -> None:
    models = [nn.Linear(4, 2) for _ in range(2)]
    batch = torch.zeros(3, 4)
    with pytest.raises(InputError, match="models: 0 models; give 1 to 64"):
        profile([], batch)
    with pytest.raises(InputError, match="optimizers: 3 optimizers for 2 models"):
        profile(models, batch, optimizers=[SGD()] * 3)
    with pytest.raises(InputError, match=r"optimizers\[1\]: Adam, and SGD for the first model"):
        profile(models, batch, optimizers=[SGD(), Adam()])
    with pytest.raises(InputError, match=r"optimizers\[1\].lr: -1"):
        profile(models, batch, optimizers=[SGD(), SGD(lr=-1)])
    with pytest.raises(InputError, match=r"loss: the loss of a model has the shape \(3, 2\)"):
        profile(models, batch, loss=torch.square)
    with pytest.raises(InputError, match=r"sizes: \[3\]; write numbers from 1 to 2"):
        profile(models, batch, sizes=[3])
    made = case("perceptron", "sgd", 3, (1, 2))
    trainer = executor.MultiModelTrainer(
        made.array,
        made.problem(2**30),
        MultiModelSchedule((_alone(made.array.instance.sub_array(1)),) * 3),
    )
    with pytest.raises(InputError, match="batches: no step is given"):
        trainer.train([])
    with pytest.raises(InputError, match=r"batches\[0\]: 2 batches for 3 models"):
        trainer.train([made.batches[0][:2]])
    odd = (torch.zeros(5, 8, dtype=torch.float64), torch.zeros(5, dtype=torch.int64))
    with pytest.raises(InputError, match=r"batches\[1\]\[2\]: float64 of size \(5, 8\)"):
        trainer.train([made.batches[0], [*made.batches[1][:2], odd]])


def test_a_schedule_of_other_models_or_of_more_memory_is_refused() -> None:
    made = case("perceptron", "sgd", 3, (1, 2))
    schedule = MultiModelSchedule((_alone(made.array.instance.sub_array(1)),) * 3)
    other = jt.MultiModelTraining(case("perceptron", "sgd", 4, (2,)).array.instance, 2**30)
    with pytest.raises(InputError, match=r"problem: the instance .* is not that of these models"):
        executor.MultiModelTrainer(made.array, other, schedule)
    with pytest.raises(InputError, match="problem: 2 of 3 models"):
        executor.MultiModelTrainer(made.array, replace(made.problem(2**30), models=2), schedule)
    with pytest.raises(InputError, match=r"schedule: .*memory"):
        executor.MultiModelTrainer(made.array, made.problem(1024), schedule)


def test_memory_that_is_too_little_is_refused_with_the_least_that_would_do() -> None:
    made = case("perceptron", "sgd", 3, (1, 2))
    with pytest.raises(
        InputError, match=r"memory: mu-two found no schedule .* at least (\d+)"
    ) as no:
        executor.optimal_trainer(made.array, memory=20_000, method="mu-two")
    least = int(str(no.value).split("at least ")[1].split()[0])
    trainer = executor.optimal_trainer(made.array, memory=least, method="exact")
    assert trainer.train(made.batches[:1]).peak_bytes <= least


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
    assert main(["--steps", "0"]) == 2
    assert "--steps: 0" in capsys.readouterr().err
