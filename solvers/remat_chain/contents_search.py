r"""A* over memory contents: a chain's fastest schedule of all, and the one of least memory.

Every schedule is searched: any value may be dropped at any moment, at no cost.

States
------
What is in memory: the gradient :math:`\delta^g`, and each stage :math:`1, \dots, g` as a plain
:math:`a^k`, as :math:`\bar a^k`, or not at all. A state is reached from another by an operation
that fits, perhaps with a drop of its input :math:`a^{k-1}` right after it:

* :math:`F_{ck}^k` for :math:`k < g` and :math:`F_{all}^k` for :math:`k \le g`, where nothing of
  stage :math:`k` is held, with or without :math:`D^{k-1}` if :math:`a^{k-1}` is plain and
  :math:`k > 1`. With the drop, :math:`F_{ck}` is :math:`F_\emptyset`;
* :math:`B^g`.

Where :math:`B^g` fits, or :math:`F_{all}^g` and then :math:`B^g` do, that is the only arc if it
leaves no more in memory than it finds there; in sizes, if

.. math::
    \delta^{g-1} \le \delta^g + \begin{cases}
        \bar a^g + a^{g-1} & \text{with } \bar a^g \text{ and a plain } a^{g-1} \text{ held} \\
        \bar a^g & \text{with } \bar a^g \text{ and } \bar a^{g-1} \text{ held} \\
        \min(\bar a^g, a^{g-1}) & \text{with a plain } a^{g-1} \text{ held, but not }
            \bar a^g \\
        0 & \text{with } \bar a^{g-1} \text{ held, but not } \bar a^g
    \end{cases}

and always for :math:`g = 1`. Where gradients are as large as outputs the first is always true.

*Proof that no other arc is needed.* Of the fastest schedules that fit (for the least peak: of those
with the least peak) take those with the fewest operations, drops not counted; of these one whose
backwards come as early as possible, by the sum of their places; and let it drop every plain value
as early as possible, after the last operation that reads it before it is made again. Then

1. Every forward makes something that is read: without it there would be fewer operations.
2. :math:`F^k` with :math:`k > g` does not run, for no operation that is left reads its output; nor
   does :math:`F_{ck}^g`. :math:`a^0` is never dropped, for :math:`B^1` reads it and nothing makes
   it.
3. :math:`F^k` does not run while :math:`\bar a^k` is held, nor :math:`F_{ck}^k` while
   :math:`a^k` is: it would make nothing new. And :math:`\bar a^k` stays until :math:`B^k`: if it
   were dropped before, the :math:`F_{all}^k` that made it could be :math:`F_{ck}^k`, whose output
   serves the same reads and which takes no more memory, neither as it runs (`Stage` sees to it) nor
   afterwards; and the drop could come earlier, or, where a plain :math:`a^k` was held, it could be
   left out. So :math:`F_{all}^k` runs exactly once.
4. When :math:`F_{all}^k` runs, no plain :math:`a^k` is held: that one is not read any more, so it
   has been dropped. Drops hence come right after an operation that reads the value, and as
   :math:`B^k` frees a plain :math:`a^{k-1}` by itself, after a forward.
5. Suppose that one of the conditions above holds at some moment, and that the schedule does
   something else. Let it run what the condition names at once, and leave it out later, together
   with whatever makes :math:`a^{k-1}` for it once more. Nothing else up to :math:`B^g` reads
   :math:`\delta^g`, :math:`\bar a^g` or, by 3, a plain :math:`a^{g-1}`. By 4 a plain
   :math:`a^{g-1}` is held until :math:`F_{all}^g` or, if :math:`\bar a^g` is held, until
   :math:`B^g`, since it is to be read; :math:`\bar a^{g-1}` is held until :math:`B^g` and longer.
   So at every moment the schedule had in memory at least what was there before (:math:`\delta^g`,
   :math:`a^{g-1}`), or from :math:`F_{all}^g` on (:math:`\delta^g`, :math:`\bar a^g`), and both of
   :math:`a^{g-1}` and :math:`\bar a^g` if both are held, where there is now :math:`\delta^{g-1}`:
   by the condition that is no more. The schedule is still valid, has no more operations, takes no
   longer and runs a backward earlier: a contradiction. :math:`\square`

Cost
----
Of all that a schedule runs, each :math:`F_{all}` and each :math:`B` runs once: the cost is the time
of the :math:`F_{ck}` and :math:`F_\emptyset`, the *overhead*. For the least peak it is the largest
need so far.

Estimate
--------
For :math:`c < j` let :math:`E_{c,j}(X)` be the least overhead, on the stages strictly between
:math:`c` and :math:`j`, of what is left of any schedule at a moment when nothing of these stages is
held, :math:`\bar a^j` is not, and the :math:`\bar a^k` with :math:`k \le c` that are held take
:math:`X` bytes; :math:`E'_{c,j}(X)` the same if :math:`\bar a^j` is held. With
:math:`A_j` the bytes that the operations of stage :math:`j` leave beside :math:`a^0`
(`formulations.remat_chain.cut`; for :math:`E'` only :math:`B^j`), these are lower bounds:

.. math::
    E_{c,j}(X) \ge \begin{cases}
      0 & \text{if } X + \sum_{c<k<j} \bar a^k \le A_j, \\
      \displaystyle \min_{c \le d < i < j} \; \sum_{d < k \le i} u_f^k + E_{d,i}(X)
        + H_{c,d}\Bigl(A_j - X - \sum_{i<k<j} \bar a^k - [i = j-1]\, a^{j-1}\Bigr)
      & \text{else,} \end{cases}

where :math:`H_{c,d}(m)` is the least forward time of the stages :math:`c+1, \dots, d` that are not
saved, if stage :math:`d` is held and all that is held of them takes at most :math:`m` bytes;
:math:`H_{c,c}(m) = 0` for :math:`m \ge 0`.

*Proof.* :math:`F_{all}^j`, or :math:`B^j` for :math:`E'`, is still to come and reads stage
:math:`j-1`. So every stage between :math:`c` and :math:`j` runs before it, from the lowest on. Look
at the memory when it starts, or when :math:`B^j` does if that leaves less. The :math:`\bar a^k`
with :math:`k \le c` are still there (by 3; if :math:`B^j` is to start, no backward below has run).
Each stage between that is not saved has run as :math:`F_{ck}`: overhead. If all are saved, they
fit. Else let :math:`i` be the largest one that is not and :math:`d < i` the largest one that is
held, or :math:`c`. The stages :math:`d+1, \dots, i` are not saved: their time is overhead, as is
that of those below :math:`d` that are not saved, for which there is the rest of the memory:
:math:`H`. From that moment on nothing of the stages between :math:`d` and :math:`i` is held and
:math:`\bar a^i` is not, and what is saved up to :math:`d` takes at least :math:`X` bytes; :math:`E`
never falls with :math:`X`. Their overhead comes on top: :math:`E_{d,i}(X)`. :math:`\square`

The estimate of a state is the sum over its gaps, between two stages :math:`c` and :math:`e` that
are held with nothing between: the largest :math:`E_{c,j}` with :math:`c < j < e`, or with
:math:`j = e` if :math:`a^e` is plain, or :math:`E'_{c,e}`; the last gap ends with :math:`g`. The
gaps share no stage. Where single operations that are to come do not fit beside what is saved below
them, nothing goes on from the state: :math:`\bar a` stays (by 3).

A table over :math:`c, j` and slots of :math:`X`, rounded down, holds :math:`E`; the steps of
:math:`H` that are too many are merged into better ones. Both only lower it. For the least peak the
estimate is what the single operations that are to come need.

Search
------
A* opens the state with the least sum of cost and estimate, again if it is reached at less cost.
Whatever stops it, the least such sum is a lower bound for all schedules. Without a time limit the
budget is in states, so that the same command gives the same answer under load; with one the time is
used, as far as half of the free memory goes. Time and memory are exponential in the
number of stages, and on the networks that come with jettison a few hundred states do. Exact
integers throughout.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_chain.problem import RematChain
from jettison.schedules.remat_chain.schedule import ChainSchedule
from jettison.solvers import _kernels
from jettison.solvers.core.params import Params
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_chain.least_memory import chain_schedule

# Their numbers have 32 bits.
_MOST_NUMBERED = 2**32 - 2
MOST_STAGES = _kernels.MOST_STAGES

_TERMINATIONS = {
    "complete": Termination.COMPLETED,
    "states": Termination.NODE_LIMIT,
    "memory": Termination.MEMORY_LIMIT,
    "time": Termination.TIME_LIMIT,
    "interrupt": Termination.INTERRUPTED,
}

Amounts = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class ContentsParams(Params):
    """Parameters of the search over contents: its memory.

    Attributes
    ----------
    most_states
        Most states of the search where no time limit ends it.
    bytes_per_state
        Memory of a state, counted where a time limit ends the search: about 80 bytes on chains of
        at most 60 stages, and twice that on the longest, the queue included.
    share_of_free_memory
        Share of the free memory for the states, where a time limit ends the search.
    """

    most_states: int = 20_000_000
    bytes_per_state: int = 160
    share_of_free_memory: float = 0.5


CONTENTS = ContentsParams()


@dataclass(frozen=True, slots=True)
class ContentsSearch:
    """Outcome of one search over memory contents: a lower bound and the best schedule.

    Attributes
    ----------
    lower_bound
        Proved lower bound, in nanoseconds or in bytes of the peak, whichever was minimised.
    schedule
        The best schedule found, or None.
    states
        Number of distinct memory contents that were reached.
    termination
        What ended the search.
    """

    lower_bound: int
    schedule: ChainSchedule | None
    states: int
    termination: Termination

    @property
    def is_complete(self) -> bool:
        """Whether the search came to its end."""
        return self.termination is Termination.COMPLETED


def search_fastest(
    problem: RematChain,
    below_ns: int | None = None,
    *,
    most_states: int | None = None,
    time_limit_s: float | None = None,
    params: ContentsParams = CONTENTS,
) -> ContentsSearch:
    """Search for the fastest of all schedules that fit, or that fit and take less than a time.

    If there is none, the lower bound is that time; where no time was given, a value above the time
    of every schedule. Where no number of states is given, a time limit is used up to its end;
    without one `params` says how many there are. The time limit and Ctrl-C end the search with
    what is proved by then.

    Raises
    ------
    ValueError
        If the chain has more than `MOST_STAGES` stages.
    """
    chain = problem.instance
    base_ns = chain.base_time_ns
    lower, _, sequence, states, end = _kernels.fastest_schedule(
        _amounts(stage.forward_ns for stage in chain),
        *_sizes(chain),
        problem.memory_bytes,
        None if below_ns is None else below_ns - base_ns,
        _budget(most_states, time_limit_s, params),
        time_limit_s,
    )
    return ContentsSearch(base_ns + lower, _schedule(sequence), states, _TERMINATIONS[end])


def search_smallest(
    chain: Chain,
    below_bytes: int,
    *,
    most_states: int | None = None,
    time_limit_s: float | None = None,
    params: ContentsParams = CONTENTS,
) -> ContentsSearch:
    """Search for the schedule of least peak, whatever its time, among peaks below `below_bytes`.

    If there is none, the lower bound is `below_bytes`. The time limit and Ctrl-C end the search
    with what is proved by then.

    Raises
    ------
    ValueError
        If the chain has more than `MOST_STAGES` stages.
    """
    lower, _, sequence, states, end = _kernels.smallest_schedule(
        *_sizes(chain), below_bytes, _budget(most_states, time_limit_s, params), time_limit_s
    )
    return ContentsSearch(lower, _schedule(sequence), states, _TERMINATIONS[end])


def _budget(most_states: int | None, time_limit_s: float | None, params: ContentsParams) -> int:
    """Return how many states a search may meet."""
    if most_states is not None:
        return most_states
    if time_limit_s is None or "SC_AVPHYS_PAGES" not in os.sysconf_names:
        return min(params.most_states, _MOST_NUMBERED)
    free_bytes = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    fitting = int(free_bytes * params.share_of_free_memory) // params.bytes_per_state
    return min(max(params.most_states, fitting), _MOST_NUMBERED)


def _sizes(chain: Chain) -> tuple[Amounts, Amounts, Amounts, Amounts, Amounts, Amounts]:
    """Return bytes of a^0..a^N, gradients, what is saved, and what F_all, F and B need besides."""
    numbers = range(len(chain) + 1)
    return (
        _amounts(chain.activation_bytes(number) for number in numbers),
        _amounts(chain.gradient_bytes(number) for number in numbers),
        _amounts(stage.saved_bytes for stage in chain),
        _amounts(stage.overhead_of_saving_bytes for stage in chain),
        _amounts(stage.forward_overhead_bytes for stage in chain),
        _amounts(
            chain.backward_output_bytes(number) + stage.backward_overhead_bytes
            for number, stage in enumerate(chain, start=1)
        ),
    )


def _amounts(values: Iterable[int]) -> Amounts:
    return np.array(list(values), dtype=np.int64)


def _schedule(sequence: list[tuple[int, int]]) -> ChainSchedule | None:
    return chain_schedule(sequence) if sequence else None
