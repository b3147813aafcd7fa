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

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from jettison.formulations.remat_chain.cut import bytes_beside_stage
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_chain.problem import RematChain
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers import _kernels
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
    """

    def __init__(
        self, chain: Chain, memory_bytes: int, most_steps: int = CUT_BOUND.most_cut_steps
    ) -> None:
        numbers = range(1, len(chain) + 1)
        available = [bytes_beside_stage(chain, memory_bytes, number) for number in numbers]
        self._cuts = _kernels.ChainCuts(
            np.array(available, np.int64),
            np.array([stage.forward_ns for stage in chain], np.int64),
            np.array([stage.output_bytes for stage in chain], np.int64),
            np.array([stage.saved_bytes for stage in chain], np.int64),
            most_steps,
        )

    def rerun_ns(
        self, number: int, below_ns: Sequence[int], time_limit_s: float | None = None
    ) -> int | None:
        r"""Return :math:`W_\ell`, or None if stage :math:`\ell` fits in no way.

        Parameters
        ----------
        number
            The stage :math:`\ell`.
        below_ns
            :math:`W_0, \dots, W_{\ell-1}`, where :math:`W_0` has no meaning; zeros where unknown.
        time_limit_s
            Wall-clock seconds; None for no limit.

        Raises
        ------
        TimeoutError
            If the time limit is reached.
        """
        return self._cuts.rerun_ns(number, below_ns, time_limit_s)


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
        cuts = ChainCuts(chain, memory_bytes, params.most_cut_steps)
        best_ns = max(best_ns, cuts.rerun_ns(len(chain), unknown_ns, clock.left_s) or 0)
        for number in range(1, len(chain) + 1):
            clock.require_time()
            below_ns.append(cuts.rerun_ns(number, below_ns, clock.left_s) or 0)
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
