r"""Fastest persistent schedule with drops, exact in bytes and nanoseconds.

A device can free any tensor at no cost, which RR-9302's operations cannot express. One move gains
by it: run :math:`F_{all}^\ell`, drop its input :math:`a^{\ell-1}` while :math:`\bar a^\ell` stays,
and make that input again right before :math:`B^\ell`, saving other :math:`\bar a` on the way. The
class of schedules is defined by `DropRules`. With the thresholds :math:`\beta, f_p, n_p` of
`drop_needs`, and
:math:`U(s,k) = \sum_{j=s}^{k} u_f^j`, four tables over the same three indices as those of `rotor`
hold its optimum:

* :math:`C_p(s,t,m)`: the backwards of :math:`t, \dots, s`. The input :math:`a^{s-1}` is there
  throughout and is not counted in :math:`m`.
* :math:`E_p(s,t,m)`: the backwards of :math:`t, \dots, s+1`, where :math:`F_{all}^s` runs on the
  way and :math:`a^{s-1}`, which is counted, is dropped right after it. It ends with
  :math:`\bar a^s` and :math:`\delta^s` in memory.

Both count :math:`\delta^t`. With :math:`p = 1`, :math:`\bar a^t` is in memory already, and counted.

.. math::

    C_0(s,s,m) &= u_f^s + u_b^s \quad\text{if } m \ge \max(f_0(s,s), \beta(s)) \\
    C_1(s,s,m) &= u_b^s         \quad\text{if } m \ge \beta(s) \\
    E_0(s,s,m) &= u_f^s         \quad\text{if } m \ge f_0(s,s) + a^{s-1} \\
    C_p(s,t,m) &= \min\Bigl(
        [m \ge \max(f_p(s,t), \beta(s))]\;\; u_f^s + u_b^s + C_p(s+1,t,m-\bar a^s), \\
      &\phantom{=\min\Bigl(} [m \ge n_p(s,t)]\;\; \min_{s<k\le t}
        U(s,k-1) + C_p(k,t,m-a^{k-1}) + C_0(s,k-1,m), \\
      &\phantom{=\min\Bigl(} [m \ge n_p(s,t)]\;\; \min_{s<k\le t-p}
        U(s,k-1) + E_p(k,t,m) + C_1(s,k,m) \Bigr) \\
    E_p(s,t,m) &= \min\Bigl(
        [m \ge f_p(s,t) + a^{s-1}]\;\; u_f^s + C_p(s+1,t,m-\bar a^s), \\
      &\phantom{=\min\Bigl(} [m \ge n_p(s,t) + a^{s-1}]\;\; \min_{s<k\le t}
        U(s,k-1) + C_p(k,t,m-a^{s-1}-a^{k-1}) + E_0(s,k-1,m), \\
      &\phantom{=\min\Bigl(} [m \ge n_p(s,t) + a^{s-1}]\;\; \min_{s<k\le t-p}
        U(s,k-1) + E_p(k,t,m-a^{s-1}) + E_1(s,k,m) \Bigr)

and the answer is :math:`C_0(1,N,M-a^0)`. Without its third line :math:`C_0` is rotor's table.

*Why it is the optimum of the class*, by induction on :math:`t-s` and then :math:`p`. Look at the
first operation of a fastest schedule of :math:`C_p(s,t)`; it reads :math:`a^{s-1}`. If it is
:math:`F_{all}^s`, then :math:`\bar a^s` stays until :math:`B^s`, and before that no forward of a
stage up to :math:`s` runs, so that what lies in between is a schedule of :math:`C_p(s+1,t)`: the
first line. If it is :math:`F_{ck}^s`, forwards follow one another up to the first value
:math:`a^{k-1}`, :math:`k>s`, that something else than :math:`F_\emptyset` reads. Either it stays
until :math:`B^k`: until then memory holds nothing else of the stages before :math:`k`, and
:math:`B^k` leaves :math:`\delta^{k-1}` in its place, for :math:`C_0(s,k-1)`: the second line. Or it
is dropped while :math:`\bar a^k` is there: that is what :math:`E_p(k,t)` stands for, and
:math:`C_1(s,k)` is left, the third line. In :math:`E` a drop is best right after :math:`F_{all}^s`,
because nothing reads :math:`a^{s-1}` later; until then it is one more tensor beside the same cases.
Conversely, sub-problems that follow each other share no tensor but those counted.

Derived here from RR-9302's recurrence, and compared with a search over memory contents.

The tables are bounded on grids and solved in exact bytes as those of rotor are; see `rotor_exact`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from jettison.instances.remat_chain.chain import Chain
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.remat_chain.schedule import ChainSchedule
from jettison.solvers import _kernels
from jettison.solvers.core.bound import Bound
from jettison.solvers.core.outcome import Infeasibility, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_chain.drop_needs import DropNeeds
from jettison.solvers.remat_chain.least_memory import (
    chain_schedule,
    infeasibility_below,
    least_persistent_memory,
)
from jettison.solvers.remat_chain.rotor_exact import (
    EXACT_SEARCH,
    ExactSearchParams,
    Search,
    search_persistent_optimum,
)


@lru_cache(maxsize=8)
def least_memory_with_drops(chain: Chain) -> tuple[int, ChainSchedule]:
    """Return the least memory in bytes of a persistent schedule with drops, and a schedule in it.

    It can be below the least memory of persistent schedules without drops. The recurrence of
    `drop_search` with maxima in place of sums, in exact integers, :math:`O(N^3)` time.
    """
    needs = DropNeeds(chain)
    least, sequence = _kernels.least_memory_with_drops(
        np.array([stage.forward_ns for stage in chain], np.int64),
        np.array([stage.backward_ns for stage in chain], np.int64),
        needs.input_bytes,
        needs.saved_bytes,
        needs.forward_all,
        needs.forward_none,
    )
    return least + chain.input_bytes, chain_schedule(sequence)


def infeasibility_with_drops(chain: Chain, memory_bytes: int) -> Infeasibility | None:
    """Return the proof that no persistent schedule with drops fits, or None if one does."""
    least = least_memory_with_drops(chain)[0]
    return infeasibility_below(least, ScheduleClass.PERSISTENT_WITH_DROPS, chain, memory_bytes)


def fastest_with_drops(
    chain: Chain,
    memory_bytes: int,
    options: SolveOptions,
    known: ChainSchedule | None = None,
    params: ExactSearchParams = EXACT_SEARCH,
    bound_of: Callable[[int], Bound] | None = None,
) -> tuple[Search, Termination] | None:
    """Return the fastest persistent schedule with drops, proved so unless a limit is reached.

    Parameters
    ----------
    chain
        The instance.
    memory_bytes
        The limit, the input included.
    options
        Gap, time limit, and the callbacks.
    known
        A schedule that fits; only faster ones are sought. None starts from one of least memory.
    params
        The first grid, and the memory that the tables may use.
    bound_of
        Makes a bound of its time, to be told; None where nobody is told of bounds.

    Returns
    -------
    tuple of Search and Termination, or None
        None if no persistent schedule with drops fits.
    """
    if known is None:
        least, sparing = least_memory_with_drops(chain)
        if memory_bytes < least:
            return None
        of_rotor, persistent = least_persistent_memory(chain)
        candidates = [sparing, persistent] if memory_bytes >= of_rotor else [sparing]
        known = min(candidates, key=lambda schedule: schedule.replay(chain).time_ns)
    return search_persistent_optimum(
        DropNeeds(chain), memory_bytes, known, options, params, bound_of
    )
