"""Least arena of a few blocks, by trying every address of every block.

Blocks are (first moment, last moment, size), both moments included. The arena grows from 0 until
all blocks find a place. Memory is a grid of moments and bytes, each cell of which is taken once.
"""

from __future__ import annotations

from itertools import count, product

Block = tuple[int, int, int]


def least_arena_bytes(blocks: list[Block]) -> int:
    """Least number of bytes in which all blocks find a place."""
    return next(size for size in count() if _fits(blocks, size, frozenset()))


def _fits(blocks: list[Block], arena_bytes: int, taken: frozenset[tuple[int, int]]) -> bool:
    if not blocks:
        return True
    (first, last, size), *others = blocks
    for offset in range(arena_bytes - size + 1):
        cells = set(product(range(first, last + 1), range(offset, offset + size)))
        if not cells & taken and _fits(others, arena_bytes, taken | cells):
            return True
    return False
