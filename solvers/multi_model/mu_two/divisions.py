"""Divisions of models into pairs of sub-arrays that µ-TWO considers."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from jettison.solvers.multi_model.least_division import Sizes


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
