"""Small models of one architecture to train together, and schedules for them."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

import jettison as jt
from jettison.instances.multi_model.sub_array import SubArray
from jettison.schedules.multi_model.operation import MultiModelAction, MultiModelOperation
from jettison.schedules.multi_model.schedule import MultiModelSchedule, TrainingUnit

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
executor: Any = pytest.importorskip("jettison.torch.multi_model", exc_type=ImportError)
nn, functional = torch.nn, torch.nn.functional
SGD, Adam = executor.SGD, executor.Adam

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


def one_after_the_other(array: SubArray) -> TrainingUnit:
    """Return the unit of a sub-array alone that keeps everything."""
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
