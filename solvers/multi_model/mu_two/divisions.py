"""Divisions of models into pairs of sub-arrays that µ-TWO considers."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import product

from jettison.instances.multi_model.problem import MultiModelTraining
from jettison.instances.multi_model.sub_array_key import key_of, parts_of
from jettison.solvers.multi_model.least_division import Sizes


def divisions_of(problem: MultiModelTraining) -> Iterator[tuple[Sizes, ...]]:
    """Yield the divisions that µ-TWO considers, of one architecture or of several."""
    if problem.instance.others:
        yield from mixed_divisions(problem)
    else:
        yield from paired_divisions(problem.count, problem.instance.sizes)


def mixed_divisions(problem: MultiModelTraining) -> Iterator[tuple[Sizes, ...]]:
    r"""Yield divisions of models of several architectures into pairs of closest iteration times.

    The paper leaves them to future work (Appendix E): only models of one architecture can be fused,
    and pairs may join two. Here each architecture is divided into sub-arrays in every way; all of
    these together, in the order of their iteration times, are paired two by two, as its rule for
    one architecture says. Of an odd number the fastest is alone.

    Notes
    -----
    As many as the product of the numbers of partitions: 484 for two times eight models.
    """
    ways = []
    for place, count in enumerate(problem.counts):
        sizes = sorted(problem.instance.architectures[place].sizes, reverse=True)
        ways.append([[key_of(place, size) for size in way] for way in _partitions(count, sizes)])
    for chosen in product(*ways):
        arrays = sorted(
            (key for way in chosen for key in way),
            key=lambda key: (problem.sub_array(key).compute_ns, parts_of(key)),
        )
        units: list[Sizes] = [(arrays.pop(0),)] if len(arrays) % 2 else []
        yield (*units, *zip(arrays[::2], arrays[1::2], strict=True))


def paired_divisions(models: int, sizes: Collection[int]) -> Iterator[tuple[Sizes, ...]]:
    r"""Yield every division of the models into pairs of sub-arrays of closest sizes.

    The number of sub-arrays is even, and each is paired with the one whose iteration takes the
    closest time (Section 3.2, steps 1 and 5). For an even number n these are the partitions of n/2,
    doubled: 8 models have five, of which the paper's list leaves out 2, 2, 1, 1, 1, 1. For an odd
    number one pair differs by one. A single model has no partner, and is alone.

    Parameters
    ----------
    models
        Number of models, at least 1.
    sizes
        Sizes for which there is a profile; divisions that need another are left out.

    Notes
    -----
    As many as there are partitions of :math:`\lfloor n/2 \rfloor`, times at most n for odd n; the
    largest sub-arrays come first.
    """
    if models == 1:
        if 1 in sizes:
            yield ((1,),)
        return
    equal = sorted((size for size in sizes if 2 * size <= models), reverse=True)
    if models % 2 == 0:
        for parts in _partitions(models // 2, equal):
            yield tuple((size, size) for size in parts)
        return
    for larger in sorted(sizes, reverse=True):
        smaller = larger - 1
        if smaller in sizes and larger + smaller <= models:
            for parts in _partitions((models - larger - smaller) // 2, equal):
                pairs = [(size, size) for size in parts]
                yield tuple(sorted([(larger, smaller), *pairs], reverse=True))


def _partitions(total: int, parts: list[int]) -> Iterator[tuple[int, ...]]:
    """Yield the ways to write `total` as a sum of some of `parts`, which descend."""
    if total == 0:
        yield ()
        return
    for place, part in enumerate(parts):
        if part <= total:
            for rest in _partitions(total - part, parts[place:]):
                yield (part, *rest)
