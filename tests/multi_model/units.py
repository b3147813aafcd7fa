"""Units of random models on small devices, and models made by hand."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from jettison import Link, MultiModel, MultiModelTraining
from jettison.instances.generators.random_models import RandomModels
from jettison.multi_model import FeatureMap, FusedOperator
from jettison.solvers.multi_model.least_division import Sizes, unit_need_bytes


def drawn_units(
    operators: int, tensors: int, count: int, units: tuple[Sizes, ...], share: float
) -> Iterator[tuple[MultiModelTraining, Sizes]]:
    """Yield problems with one unit each, with up to `share` of what keeping everything takes."""
    for seed in range(count):
        chance = random.Random(seed)
        sizes = units[seed % len(units)]
        models = RandomModels(
            operators=operators,
            tensors=tensors,
            models=max(*sizes, sum(sizes)),
            reach=1,
            most_ns=12,
            most_bytes=12,
            timed_percent=chance.choice((0, 30)),
            bandwidth=Link(10**9 // chance.choice((1, 2, 4))),
        ).draw(seed)
        problem = MultiModelTraining(models, 10**15, models=sum(sizes))
        arrays = [problem.sub_array(size) for size in sizes]
        least_bytes = unit_need_bytes(problem, sizes)
        spare_bytes = sum(array.idle_bytes for array in arrays)
        memory = least_bytes + int(spare_bytes * chance.uniform(0, share))
        yield MultiModelTraining(models, memory, models=sum(sizes)), sizes


def hand_made(
    forward: Sequence[tuple[int, int]],
    backward: Sequence[tuple[int, int]],
    feature_maps: Sequence[tuple[int, int, int]],
    *,
    swap_ns: int,
    recompute_ns: int,
    models: int = 1,
) -> MultiModel:
    """Return models of which one alone can be fused, with nothing resident and nothing carried.

    Parameters
    ----------
    forward, backward
        Duration and peak of each operator; nothing is active between them.
    feature_maps
        Bytes, forward and backward operator of each.
    swap_ns, recompute_ns
        Of every feature map, which is recomputed from nothing.
    models
        How many.
    """

    def operators(mark: str, works: Sequence[tuple[int, int]]) -> tuple[FusedOperator, ...]:
        return tuple(
            FusedOperator(
                name=f"{mark}{place}", run_ns=(run_ns,), peak_bytes=(peak,), active_bytes=(0,)
            )
            for place, (run_ns, peak) in enumerate(works)
        )

    return MultiModel(
        name="hand-made",
        models=models,
        sizes=(1,),
        static_bytes=(0,),
        forward=operators("f", forward),
        backward=operators("b", backward),
        feature_maps=tuple(
            FeatureMap(
                name=f"t{number}",
                size_bytes=(size_bytes,),
                made_by=f"f{made}",
                last_forward=f"f{made}",
                first_backward=f"b{used}",
                last_backward=f"b{used}",
                recompute_ns=(recompute_ns,),
                recompute_bytes=(0,),
                swap_ns=(swap_ns,),
            )
            for number, (size_bytes, made, used) in enumerate(feature_maps)
        ),
        bandwidth=10**9,
    )


def two_layers(swap_ns: int, recompute_ns: int) -> MultiModel:
    """Return a model of two operators a pass, 10 ns each, and two feature maps of 4 bytes.

    Each operator has one feature map in memory: the second is used right after it is made, the
    first one by the last operator.
    """
    works = [(10, 4), (10, 4)]
    return hand_made(
        works, works, [(4, 0, 1), (4, 1, 0)], swap_ns=swap_ns, recompute_ns=recompute_ns
    )


def offloaded_late() -> MultiModel:
    """Return two models that leave a feature map to be offloaded in the next round.

    Backward operators b0, b1 and b2 take 20, 20 and 10 ns, forward operators f0 and f1 10 ns each;
    f1 makes the feature map of 4 bytes, b2 uses it, and b1 and f1 need all of 8 bytes. A copy
    takes 10 ns.
    """
    return hand_made(
        [(10, 4), (10, 8)],
        [(20, 0), (20, 8), (10, 4)],
        [(4, 1, 2)],
        swap_ns=10,
        recompute_ns=100,
        models=2,
    )
