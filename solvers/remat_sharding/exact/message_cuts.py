"""Cuts of the exact search chosen by what they prove: messages on one cut after the other.

Which stages the model looks at matters more than how well it is solved. So the dearest stages of
the strategies that a model without cuts chooses are tried one by one, each with a few passes of
messages (`messages.state_bound`). The next cut is looked for beside the best one, from the stages
at which its labelling exceeds the memory most. Messages are not carried over, so the few passes
of a trial do not compare with all passes on fewer cuts: the best trial gets as many before it is
judged. A graph with one more cut begins from the states that the one before has left
(`formulations.remat_sharding.messages.lifting`), so that it is small, and what was proved before
holds for it. The last graph gets all passes. All bounds are in exact integers and hold for plans in
the order of the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jettison.formulations.remat_sharding.messages.windows import WindowedStates, windowed_states
from jettison.instances.remat_sharding.problem import RematSharding
from jettison.solvers.core.clock import Clock
from jettison.solvers.remat_graph.cuts.eviction_cost import eviction_costs
from jettison.solvers.remat_graph.cuts.stage_excess import StageExcess
from jettison.solvers.remat_sharding.exact.priced_graph import priced_graph
from jettison.solvers.remat_sharding.messages.state_bound import (
    Labelling,
    MessageParams,
    StateBound,
)


@dataclass(frozen=True, kw_only=True)
class MessageCutParams(MessageParams):
    """Parameters of the choice of cuts by messages.

    Attributes
    ----------
    first_cuts, next_cuts
        Stages that are tried as the first cut, and as each further one.
    next_reach
        Least distance of the stages that are tried as a further cut. The bound differs much between
        stages of one layer, and the first cuts are a layer or so apart.
    most_message_cuts
        Cuts, at most.
    work_of_a_score
        States times passes with which a cut is tried, but at least `least_passes` passes.
    least_passes
        See there.
    least_gain
        Gain of the bound for which a further cut is kept, as a share.
    rounds_before_a_cut
        Proofs on a graph, at most, before there is another cut.
    rounds_of_a_removal
        Proofs of which the last one removes states. Too early a removal ends lower.
    most_states
        States of the largest graph that is built.
    """

    first_cuts: int = 8
    next_cuts: int = 6
    next_reach: int = 3
    most_message_cuts: int = 2
    work_of_a_score: int = 4_000_000
    least_passes: int = 60
    least_gain: float = 1e-4
    rounds_before_a_cut: int = 10
    rounds_of_a_removal: int = 3
    most_states: int = 400_000


@dataclass(frozen=True)
class Tried:
    """Cuts that were tried, with their graph and its bound."""

    states: WindowedStates
    bound: StateBound
    # The cheapest labelling, if there is any, and the strategies and computations of it.
    labelling: Labelling | None

    @property
    def cuts(self) -> tuple[int, ...]:
        """The cuts."""
        return self.states.cuts


@dataclass
class MessageCuts:
    """Search for the cuts with the largest bound.

    Attributes
    ----------
    problem
        The instance and its memory.
    params
        How many cuts are tried.
    clock
        The time limit.
    price
        Of what must not be computed again, as in `priced_graph`.
    known_ns
        Returns the time of the best plan, if there is one.
    prove
        Called with each time that is proved.
    offer
        Called with strategies and computations of plans, which may not fit.
    """

    problem: RematSharding
    params: MessageCutParams
    clock: Clock
    price: int
    known_ns: Callable[[], int | None]
    prove: Callable[[int], None]
    offer: Callable[[Sequence[int], Sequence[int]], None]

    def run(self) -> Tried | None:
        """Return the cuts with the largest bound, after all passes; None where none is possible."""
        best = self._tried((), None)
        if best is None:
            return None
        few = self.params.first_cuts
        while len(best.cuts) < self.params.most_message_cuts and self.clock.left_s:
            further = self._one_more(best, few)
            if further is None:
                break
            self._converge(further, self.params.rounds_before_a_cut)
            if further.bound.bound_ns <= (1 + self.params.least_gain) * best.bound.bound_ns:
                break
            best = further
            few = self.params.next_cuts
        self.go_on(best)
        return best

    def _one_more(self, before: Tried, few: int) -> Tried | None:
        """Return the best of the trials with one more cut; None if there is none."""
        trials = [self._tried((*before.cuts, cut), before) for cut in self._dearest(before, few)]
        known = [one for one in trials if one is not None]
        return max(known, key=lambda one: one.bound.bound_ns, default=None)

    def _tried(self, cuts: tuple[int, ...], before: Tried | None) -> Tried | None:
        if not self.clock.left_s:
            return None
        left = None if before is None else before.states.left(before.bound.pairs())
        states = windowed_states(self.problem, tuple(sorted(cuts)), left)
        size = sum(node.places * node.kinds for node in states.graph.nodes)
        if size > self.params.most_states:
            return None
        bound = StateBound(states.graph, self.params)
        if bound.is_empty:
            return None
        passes = max(self.params.least_passes, self.params.work_of_a_score // size)
        bound.ascend(self.known_ns(), passes, self.clock)
        bound.prove(None)
        self._tell(bound)
        return Tried(states, bound, next(bound.labellings(), None))

    def go_on(self, best: Tried) -> None:
        """Pass messages until nothing more is gained, and offer the plans of labellings."""
        self._converge(best, self.params.message_rounds)

    def _converge(self, best: Tried, rounds: int) -> None:
        bound, idle = best.bound, 0
        for number in range(1, rounds + 1):
            if not self.clock.left_s:
                return
            known_ns = self.known_ns()
            before = bound.bound_ns
            bound.ascend(known_ns, self.params.passes, self.clock)
            removes = known_ns is not None and number % self.params.rounds_of_a_removal == 0
            removed = bound.prove(known_ns + 1 if removes and known_ns is not None else None)
            self._tell(bound)
            for labelling in bound.labellings():
                self._offer(best.states, labelling)
            is_better = self.known_ns() != known_ns
            idle = 0 if removed or is_better or bound.bound_ns > before else idle + 1
            if idle == self.params.idle_rounds or bound.is_empty:
                return

    def _offer(self, states: WindowedStates, labelling: Labelling) -> None:
        known_ns = self.known_ns()
        if labelling.excess_bytes == 0 and (known_ns is None or labelling.cost_ns < known_ns):
            self.offer(states.strategies(labelling.places), states.computations(labelling.kinds))

    def _tell(self, bound: StateBound) -> None:
        known_ns = self.known_ns()
        self.prove(bound.bound_ns if known_ns is None else min(bound.bound_ns, known_ns))

    def _dearest(self, tried: Tried, count: int) -> list[int]:
        """Return stages at which a labelling exceeds the memory, by what their bytes cost."""
        if tried.labelling is None:
            return []
        strategies = tried.states.strategies(tried.labelling.places)
        computations = tried.states.computations(tried.labelling.kinds)
        memory_bytes = self.problem.memory_bytes
        graph = priced_graph(self.problem.instance, strategies, self.price).graph
        reach = self.params.next_reach if tried.cuts else max(3, len(graph) // 60)
        excess = StageExcess(graph, memory_bytes, computations)
        costs = eviction_costs(graph, memory_bytes)
        prices = {stage: cost.ns_per_byte for stage, cost in costs.items()}
        return excess.new_cuts(tried.cuts, count, reach, prices)
