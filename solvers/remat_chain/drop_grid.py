"""Dynamic program for persistent schedules with drops on memory slots: a floor and a ceiling.

The recurrence of `drop_search` with memory counted in slots as `rotor` counts it. Every table is
read at :math:`m` less a sum of sizes, and never above :math:`m`: so the argument of `rotor` holds
word for word. Sizes rounded down give a lower bound for persistent schedules with drops, sizes
rounded up a schedule that fits; a sum of two sizes is rounded by parts. One table answers every
smaller memory.

The *two-table form* keeps no table of :math:`E`: every :math:`E` then begins with :math:`F_{all}`,
so that a checkpoint is not used once more before its value is dropped. The schedule that it finds
fits and is in the class, but need not be the best of the class: its value is no lower bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from jettison.instances.remat_chain.chain import Chain
from jettison.solvers import _kernels
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.params import Params
from jettison.solvers.remat_chain.drop_needs import DropNeeds
from jettison.solvers.remat_chain.memory_grid import AskedMemories, Bracket
from jettison.solvers.remat_chain.rotor import ENTRY_BYTES


@dataclass(frozen=True, kw_only=True)
class DropGridParams(Params):
    """Parameters of the programs with drops on a grid: their memory.

    Attributes
    ----------
    largest_drop_tables_bytes
        Largest size of all tables of one program with drops together. Where four tables are larger
        there are two, and where two are larger there is no such grid.
    """

    largest_drop_tables_bytes: int = 4 * 2**30


DROP_GRID = DropGridParams()


class Form(IntEnum):
    """Form of the program: how many tables it keeps."""

    TWO = 2
    FOUR = 4


def curve_with_drops(
    chain: Chain,
    memories_bytes: Sequence[int],
    slots: int,
    time_limit_s: float | None = None,
    threads: int = 1,
    params: DropGridParams = DROP_GRID,
) -> list[Bracket]:
    """Bracket the optimum with drops in several memories: two programs serve all of them.

    Where four tables of so many slots take more memory than they may, the ceiling comes from two,
    and the floor from four tables of as many slots as fit.

    Parameters
    ----------
    chain
        The instance.
    memories_bytes
        The limits, the input included, in any order.
    slots
        Number of memory slots of the largest memory, at least 1. A smaller memory gets its share.
    time_limit_s
        Wall-clock seconds for both programs together.
    threads
        Threads that fill the tables; the answers do not depend on their number.
    params
        How much memory the tables may take.

    Returns
    -------
    list[Bracket]
        One per memory, in the order given; floors hold for persistent schedules with drops.

    Raises
    ------
    InputError
        If there is no slot.
    TimeoutError
        If the time limit is reached.
    MemoryError
        If the tables do not fit in memory, or two of them would take more than they may.

    Notes
    -----
    Time :math:`O(N^3 S)` for all memories together, about nine times that of `rotor`; memory
    :math:`8 N^2 S` bytes, or half of it in the two-table form, and twice that where the times need
    64 bits.
    """
    clock = Clock(time_limit_s)
    asked = AskedMemories.of(chain, memories_bytes, slots)
    if asked.slots > most_slots(chain, Form.TWO, params):
        raise MemoryError
    form = Form.FOUR if asked.slots <= most_slots(chain, Form.FOUR, params) else Form.TWO
    asked = replace(asked, is_exact=asked.is_exact and form is Form.FOUR)
    return asked.bracketed(
        DropNeeds(chain),
        min(asked.slots, most_slots(chain, Form.FOUR, params)),
        lambda down: _kernels.times_with_drops(Form.FOUR, *down, clock.left_s, threads),
        lambda given: _kernels.program_with_drops(form, *given, clock.left_s, threads),
    )


def most_slots(chain: Chain, form: Form, params: DropGridParams = DROP_GRID) -> int:
    """Return the largest number of slots for which the tables of a chain are small enough."""
    rows = len(chain) * (len(chain) + 1) // 2
    return params.largest_drop_tables_bytes // (form * ENTRY_BYTES * rows) - 1
