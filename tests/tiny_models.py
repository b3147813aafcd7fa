"""Models that are small enough to follow by hand, and random ones with amounts of zero."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from jettison import MultiModel
from jettison.instances.generators.random_models import RandomModels
from jettison.multi_model import FeatureMap, FusedOperator


def operator(
    name: str,
    run_ns: int | tuple[int, ...],
    peak_bytes: int | tuple[int, ...],
    active_bytes: int | tuple[int, ...],
) -> FusedOperator:
    """Return an operator for one size, or for several."""
    columns = [
        column if isinstance(column, tuple) else (column,)
        for column in (run_ns, peak_bytes, active_bytes)
    ]
    return FusedOperator(
        name=name, run_ns=columns[0], peak_bytes=columns[1], active_bytes=columns[2]
    )


def mirrored_models(
    *,
    layers: int = 4,
    swap_ns: int = 6,
    recompute_ns: int = 1,
    peaks: Mapping[str, int] = MappingProxyType({}),
    chained: bool = False,
    models: int = 2,
) -> MultiModel:
    """Return layers of which the last is the first to run backward, with a profile of one model.

    Forward operators take 2 ns, backward operators 3 ns. Layer i makes a feature map z_i of 10
    bytes, which nothing else reads forward, and which backward operator b_(layers-1-i) reads. The
    passes carry 2 bytes from operator to operator; so operators need 12 bytes, or what `peaks`
    says. If `chained`, z_i is computed again from z_(i-1).
    """

    def layer(number: int) -> str:
        return f"b{layers - 1 - number}"

    def work(name: str, run_ns: int, active_bytes: int) -> FusedOperator:
        return operator(name, run_ns, peaks.get(name, 12), active_bytes)

    return MultiModel(
        name="mirrored",
        models=models,
        sizes=(1,),
        static_bytes=(0,),
        forward=tuple(work(f"f{number}", 2, 2) for number in range(layers)),
        backward=tuple(
            work(f"b{number}", 3, 2 if number < layers - 1 else 0) for number in range(layers)
        ),
        feature_maps=tuple(
            FeatureMap(
                name=f"z{number}",
                size_bytes=(10,),
                made_by=f"f{number}",
                last_forward=f"f{number}",
                first_backward=layer(number),
                last_backward=layer(number),
                recompute_ns=(recompute_ns,),
                recompute_bytes=(0,),
                sources=(f"z{number - 1}",) if chained and number else (),
                swap_ns=(swap_ns,),
            )
            for number in range(layers)
        ),
        bandwidth=10**9,
    )


def random_models(
    draw: random.Random,
    *,
    most_operators: int = 5,
    most_tensors: int = 4,
    sizes: tuple[int, ...] = (1, 2, 3),
    models: int | None = None,
) -> MultiModel:
    """Return models with a few operators and feature maps, whose sources form chains."""
    forwards = draw.randint(1, most_operators)
    backwards = draw.randint(1, most_operators)
    makers = sorted(draw.randrange(forwards) for _ in range(draw.randint(0, most_tensors)))
    tensors = []
    for place, maker in enumerate(makers):
        first = draw.randrange(backwards)
        sources = tuple(f"z{other}" for other in range(place) if draw.random() < 0.5)
        tensors.append(
            FeatureMap(
                name=f"z{place}",
                size_bytes=_column(draw, sizes, 0, 9),
                made_by=f"f{maker}",
                last_forward=f"f{draw.randrange(maker, forwards)}",
                first_backward=f"b{first}",
                last_backward=f"b{draw.randrange(first, backwards)}",
                recompute_ns=_column(draw, sizes, 0, 9),
                recompute_bytes=_column(draw, sizes, 0, 4),
                sources=sources,
                swap_ns=_column(draw, sizes, 0, 12) if draw.random() < 0.7 else (),
            )
        )
    carried = _column(draw, sizes, 0, 3)
    passes = {
        "forward": _pass("f", forwards, tensors, draw, len(sizes), (0,) * len(sizes), carried),
        "backward": _pass("b", backwards, tensors, draw, len(sizes), carried, (0,) * len(sizes)),
    }
    return MultiModel(
        name="random",
        models=draw.randint(1, 6) if models is None else models,
        sizes=sizes,
        static_bytes=_column(draw, sizes, 0, 3),
        forward=passes["forward"],
        backward=passes["backward"],
        feature_maps=tuple(tensors),
        bandwidth=draw.choice([5 * 10**8, 10**9, 3 * 10**9]),
    )


def _column(draw: random.Random, sizes: tuple[int, ...], least: int, most: int) -> tuple[int, ...]:
    once = draw.randint(least, most)
    return tuple(once * size - draw.randint(0, once * (size - 1) // 2) for size in sizes)


def _pass(
    letter: str,
    count: int,
    tensors: list[FeatureMap],
    draw: random.Random,
    columns: int,
    before: tuple[int, ...],
    after: tuple[int, ...],
) -> tuple[FusedOperator, ...]:
    """Return the operators of a pass, whose memory holds what is in use and something beside."""
    found = []
    previous = list(before)
    for position in range(count):
        peaks, actives, runs = [], [], []
        for column in range(columns):
            used = arriving = leaving = 0
            for tensor in tensors:
                size = tensor.size_bytes[column]
                ends = (tensor.made_by, tensor.last_forward)
                if letter == "b":
                    ends = (tensor.first_backward, tensor.last_backward)
                first, last = (int(name[1:]) for name in ends)
                used += size if first <= position < last else 0
                arriving += size if letter == "b" and position == first else 0
                leaving += size if letter == "f" and position == last else 0
            active = after[column] if position == count - 1 else used + draw.randint(0, 3)
            peak = max(previous[column] + arriving, active + leaving) + draw.randint(0, 4)
            previous[column] = active
            actives.append(active)
            peaks.append(peak)
            runs.append(draw.randint(0, 9))
        found.append(operator(f"{letter}{position}", tuple(runs), tuple(peaks), tuple(actives)))
    return tuple(found)


# Those on which every method of multi-model is tried.
MULTI_MODELS = (
    replace(mirrored_models(layers=2, chained=True), name="mirrored-2"),
    replace(
        RandomModels(operators=5, tensors=3, models=2, most_ns=20, most_bytes=20).draw(4),
        name="drawn-4",
    ),
    replace(
        RandomModels(operators=4, tensors=2, models=3, most_ns=20, most_bytes=20).draw(7),
        name="drawn-7",
    ),
)
