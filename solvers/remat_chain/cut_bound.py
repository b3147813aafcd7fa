r"""A lower bound on the time of every schedule of a chain, drops or not, in exact integers.

The cut of `formulations.remat_chain.cut` at stage :math:`\ell` is solved by enumeration over the
largest stage :math:`j < \ell` that is not saved at the cut and the largest stage :math:`c < j` that
is held there. Between them nothing is held, above :math:`j` everything is saved, and below
:math:`c` a knapsack decides what is saved:

.. math::

    Q_\ell(j) &= A_\ell - \sum_{j < k < \ell} \bar a^k - [j = \ell - 1]\, a^{\ell-1} \\
    W_\ell &= \min_{0 \le c < j < \ell} \;\; u_f(c{+}1..j) + \max\bigl( H_c(Q_\ell(j)),\; W_j \bigr)

or 0 where :math:`\sum_{k<\ell} \bar a^k \le A_\ell`. :math:`H_c(m)` is the least forward time of
the stages :math:`1, \dots, c` that are not saved, if stage :math:`c` is held and all that is held
takes at most :math:`m` bytes; :math:`H_0(m) = 0` for :math:`m \ge 0`. It is a step function of
:math:`m`, kept as the list of its steps. The bound is the time without recomputation plus the
largest :math:`W_\ell`. The proof is in the docstring of the formulation.

Where a step function has too many steps, neighbours are merged into one step that is at least as
good as each of them. That only lowers :math:`H_c`, and with it the bound: it stays valid.

Time :math:`O(N^3 \log P + N P \log P)` and memory :math:`O(N P)` for step functions of at most
:math:`P` steps; few :math:`c` have to be looked at, since the path alone soon costs too much.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from jettison.formulations.remat_chain.cut import bytes_beside_stage
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_chain.problem import RematChain
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.bound import Bound, Evidence
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import Outcome, Progress, SolveOptions
from jettison.solvers.core.params import Params
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_chain.least_memory import (
    least_memory_of_any_schedule,
    persistent_infeasibility,
)

Integers = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class CutBoundParams(Params):
    """Parameters of cut-bound: the accuracy of its knapsacks.

    Attributes
    ----------
    most_cut_steps
        Most steps of a knapsack function of the cut bound, 16 bytes each; beyond, neighbours are
        merged. Stages of a network are of few kinds: few functions get so long.
    rough_cut_steps
        Most steps in the first solution of the cut at the loss, which is to be quick.
    """

    most_cut_steps: int = 20_000
    rough_cut_steps: int = 500


@dataclass(frozen=True, kw_only=True)
class BesideCutBoundParams(CutBoundParams):
    """Parameters of the cut bound that a search for schedules adds to its own bounds.

    Attributes
    ----------
    share_of_cuts
        Least share of the time limit for the cut bound, which has all that is left over.
    """

    share_of_cuts: float = 0.2


CUT_BOUND = CutBoundParams()


@dataclass(frozen=True, eq=False)
class StepFunction:
    """Step function from memory to least time: ascending bytes, descending times.

    Attributes
    ----------
    size_bytes, time_ns
        From ``size_bytes[i]`` on the time is at most ``time_ns[i]``; both shape (P,), int64.
    """

    size_bytes: Integers
    time_ns: Integers

    def shifted(self, size_bytes: int, time_ns: int) -> StepFunction:
        """Return the function shifted by a decision that takes these bytes and this time."""
        return StepFunction(self.size_bytes + size_bytes, self.time_ns + time_ns)

    def or_else(self, other: StepFunction, most_bytes: int, most_steps: int) -> StepFunction:
        """Return the minimum of two functions, lowered where it would have too many steps."""
        size_bytes = np.concatenate((self.size_bytes, other.size_bytes))
        time_ns = np.concatenate((self.time_ns, other.time_ns))
        order = np.lexsort((time_ns, size_bytes))
        order = order[: np.searchsorted(size_bytes[order], most_bytes, side="right")]
        size_bytes, time_ns = size_bytes[order], time_ns[order]
        if not len(order):
            return StepFunction(size_bytes, time_ns)
        least = np.minimum.accumulate(time_ns)
        is_step = np.concatenate(([True], least[1:] < least[:-1]))
        return StepFunction(size_bytes[is_step], time_ns[is_step])._merged(most_steps)

    def _merged(self, most_steps: int) -> StepFunction:
        """Return a function of at most `most_steps` steps that is nowhere larger."""
        if len(self.time_ns) <= most_steps:
            return self
        width_ns = int(self.time_ns[0] - self.time_ns[-1]) // most_steps + 1
        group = (self.time_ns[0] - self.time_ns) // width_ns
        ends = np.flatnonzero(np.append(group[1:] != group[:-1], True))
        starts = np.concatenate(([0], ends[:-1] + 1))
        # A group of steps becomes one: its least memory with its least time.
        return StepFunction(self.size_bytes[starts], self.time_ns[ends])


class ChainCuts:
    """The cuts of one chain in one memory, solved one by one.

    Parameters
    ----------
    chain
        The instance.
    memory_bytes
        The limit, the input included.
    most_steps
        Steps of a knapsack function beyond which neighbours are merged, at least 1.
    poll
        Called at every stage of a cut; what it raises is passed on.
    """

    def __init__(
        self,
        chain: Chain,
        memory_bytes: int,
        most_steps: int = CUT_BOUND.most_cut_steps,
        poll: Callable[[], None] = lambda: None,
    ) -> None:
        count = len(chain)
        self._chain = chain
        self._available = [0] + [
            bytes_beside_stage(chain, memory_bytes, number) for number in range(1, count + 1)
        ]
        self._forward_ns = [0, *accumulate(stage.forward_ns for stage in chain)]
        self._saved_bytes = [0, *accumulate(stage.saved_bytes for stage in chain)]
        self._most_bytes = max(0, *self._available)
        self._most_steps = most_steps
        self._poll = poll
        nothing = np.zeros(1, dtype=np.int64)
        # The knapsack over the stages met so far, and H_c of each as (bytes, time).
        self._knapsack = StepFunction(nothing, nothing)
        self._held = [(array("q", [0]), array("q", [0]))]

    def rerun_ns(self, number: int, below_ns: Sequence[int]) -> int | None:
        r"""Return :math:`W_\ell`, or None if stage :math:`\ell` fits in no way.

        Parameters
        ----------
        number
            The stage :math:`\ell`.
        below_ns
            :math:`W_0, \dots, W_{\ell-1}`, where :math:`W_0` has no meaning; zeros where unknown.
        """
        available, saved, forward = self._available[number], self._saved_bytes, self._forward_ns
        if saved[number - 1] <= available:
            return 0
        best_ns: int | None = None
        self._extend(number - 2)
        for top in range(number - 1, 0, -1):
            left = available - (saved[number - 1] - saved[top])
            if left < 0:
                break
            if top == number - 1:
                left -= self._chain.activation_bytes(top)
            later_ns = below_ns[top]
            for held in range(top - 1, -1, -1):
                path_ns = forward[top] - forward[held]
                if best_ns is not None and path_ns + later_ns >= best_ns:
                    break
                size_bytes, time_ns = self._held[held]
                step = bisect_right(size_bytes, left) - 1
                if step >= 0:
                    found_ns = path_ns + max(time_ns[step], later_ns)
                    best_ns = found_ns if best_ns is None else min(best_ns, found_ns)
        return best_ns

    def _extend(self, last: int) -> None:
        """Compute the functions H up to stage `last`."""
        for number in range(len(self._held), last + 1):
            self._poll()
            stage = self._chain.stage(number)
            saved = self._knapsack.shifted(stage.saved_bytes, 0)
            plain = self._knapsack.shifted(stage.output_bytes, stage.forward_ns)
            dropped = self._knapsack.shifted(0, stage.forward_ns)
            held = saved.or_else(plain, self._most_bytes, self._most_steps)
            self._held.append(
                (array("q", held.size_bytes.tobytes()), array("q", held.time_ns.tobytes()))
            )
            self._knapsack = saved.or_else(dropped, self._most_bytes, self._most_steps)


def bound_chain_cut(
    problem: RematChain, options: SolveOptions, params: CutBoundParams = CUT_BOUND
) -> Outcome:
    """Bound the time of every schedule by what each cut of the chain forces it to recompute.

    The cut at the last stage, which forces most, is solved first, without the bounds of the stages
    below: once roughly, whatever the time limit, then with full accuracy. All cuts follow in order.
    At the time limit and on Ctrl-C the best bound so far is returned.

    Returns
    -------
    Outcome
        A bound valid for all schedules, in exact arithmetic; or, where the memory is below what
        single operations need, the proof that nothing fits.
    """
    clock = Clock(options.time_limit_s)
    chain, memory_bytes = problem.instance, problem.memory_bytes
    if memory_bytes < least_memory_of_any_schedule(chain):
        return Outcome(
            termination=Termination.COMPLETED,
            infeasibility=persistent_infeasibility(chain, memory_bytes),
        )
    best_ns = 0
    below_ns = [0]

    def proved() -> Bound:
        return Bound(
            time_ns=chain.base_time_ns + best_ns,
            valid_for=ScheduleClass.ALL,
            evidence=Evidence.EXACT,
            method="cut-bound",
        )

    def tell() -> None:
        if options.on_bound is not None:
            options.on_bound(proved())

    with Ending() as ending:
        unknown_ns = [0] * len(chain)
        rough = ChainCuts(chain, memory_bytes, params.rough_cut_steps)
        best_ns = rough.rerun_ns(len(chain), unknown_ns) or 0
        tell()
        cuts = ChainCuts(chain, memory_bytes, params.most_cut_steps, clock.require_time)
        best_ns = max(best_ns, cuts.rerun_ns(len(chain), unknown_ns) or 0)
        for number in range(1, len(chain) + 1):
            clock.require_time()
            below_ns.append(cuts.rerun_ns(number, below_ns) or 0)
            if below_ns[-1] > best_ns:
                best_ns = below_ns[-1]
                tell()
            if options.on_progress is not None:
                options.on_progress(Progress(clock.seconds, None, chain.base_time_ns + best_ns))
    return Outcome(
        termination=ending.termination, bounds=(proved(),), work={"cuts": len(below_ns) - 1}
    )


def with_cut_bound(
    outcome: Outcome,
    problem: RematChain,
    options: SolveOptions,
    clock: Clock,
    params: BesideCutBoundParams,
) -> Outcome:
    """Add the cut bound to the outcome of a search.

    It takes the time that the search has left over, or its share of the limit if that is more.

    Parameters
    ----------
    outcome
        What the search found. If Ctrl-C ends the bound, the outcome returned is interrupted too.
    problem, options
        Those of the search.
    clock
        The clock that was started with the search.
    params
        The share, and the accuracy.
    """
    time_limit_s = options.time_limit_s
    if time_limit_s is not None:
        time_limit_s = max(clock.left_s, params.share_of_cuts * time_limit_s)
    options = replace(options.quiet(), time_limit_s=time_limit_s)
    cuts = bound_chain_cut(problem, options, params)
    interrupted = cuts.termination is Termination.INTERRUPTED
    return replace(
        outcome,
        bounds=(*outcome.bounds, *cuts.bounds),
        termination=Termination.INTERRUPTED if interrupted else outcome.termination,
    )
