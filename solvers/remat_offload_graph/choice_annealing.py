r"""anneal: simulated annealing over what is moved and what is computed again.

A state is a set of choices (`EvictionChoices`): which nodes are computed again where their values
have gone, the weights by which values make room, the computations that are planned from the start,
and how early copies from the host are issued. It is decoded into a plan that fits, whose replayed
time is the energy; choices that leave no room are refused. The moves change one of them:

* a node is computed again instead of moved, or the other way round;
* the weight of a value is multiplied or divided by up to eight;
* a planned recomputation is left out, or the value of a node is planned again before a use;
* a neighbour in the order of first computations changes places, where inputs allow;
* copies are issued earlier or later.

The temperature falls geometrically in rounds, from a share of the open overhead; a round begins
from the best state, and each is twice as long as the last, up to a limit; with a time limit they go
on to its end. The baselines are asked first, so that
no answer is worse than theirs, and so are the bound and, on small graphs, a short search over
moments: annealing ends where a bound is met.
"""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import dataclass, replace

from jettison.instances.remat_offload_graph.problem import RematOffloadGraph
from jettison.schedules.remat_offload_graph.schedule import OffloadGraphSchedule
from jettison.solvers.core.baselines_first import BaselineParams, schedules_of_baselines
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import Infeasibility, Outcome, SolveOptions
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_offload_graph.bound_method import MOMENTS, MomentSearch
from jettison.solvers.remat_offload_graph.eviction import EvictionChoices, decoded
from jettison.solvers.remat_offload_graph.eviction_method import choices_of_rules
from jettison.solvers.remat_offload_graph.incumbent import LinkedIncumbent
from jettison.solvers.remat_offload_graph.least_memory import linked_infeasibility
from jettison.solvers.remat_offload_graph.over_moments import MOST_NODES, search_moments
from jettison.solvers.remat_offload_graph.plan_time import timer_of


@dataclass(frozen=True, kw_only=True)
class ChoiceAnnealParams(BaselineParams):
    """Parameters of annealing over choices.

    Attributes
    ----------
    rounds
        Rounds, in each of which the temperature falls, where no time limit says when to stop.
    plans_of_a_round
        Plans that are decoded in the first round; each round is twice as long as the last.
    states_first
        States of the search over moments (`exact`) that is tried before anything else, on graphs
        of at most 32 nodes.
    share_of_the_bound
        Share of the time in which the bound is looked for, by linear relaxations alone.
    first_temperature, last_temperature
        At the start and the end of a round, as shares of the overhead of the best schedule.
    """

    rounds: int = 3
    plans_of_a_round: int = 80
    states_first: int = 40_000
    share_of_the_bound: float = 0.15
    first_temperature: float = 0.1
    last_temperature: float = 0.002


CHOICE_ANNEAL = ChoiceAnnealParams()
_SHARES = (0.0, 0.5, 2.0)
_MOST_DOUBLINGS = 4


def solve_choice_annealing(
    problem: RematOffloadGraph,
    options: SolveOptions,
    params: ChoiceAnnealParams = CHOICE_ANNEAL,
) -> Outcome:
    """Return the fastest plan found, with a bound for all schedules."""
    clock = Clock(options.time_limit_s)
    refused = linked_infeasibility(problem)
    if refused is not None:
        return Outcome(termination=Termination.COMPLETED, infeasibility=refused)
    incumbent = LinkedIncumbent(problem, options, clock)
    search = _ChoiceAnnealing(problem, incumbent, random.Random(options.seed), params, clock)
    with Ending() as ending:
        ending.termination = _search(problem, options, params, clock, incumbent, search)
    return incumbent.outcome(
        ending.termination,
        work={"plans": search.plans},
        infeasibility=search.infeasibility,
        note=None if incumbent.schedule is not None else "no plan was found that fits",
    )


def _search(
    problem: RematOffloadGraph,
    options: SolveOptions,
    params: ChoiceAnnealParams,
    clock: Clock,
    incumbent: LinkedIncumbent,
    search: _ChoiceAnnealing,
) -> Termination:
    if len(problem.instance) <= MOST_NODES:
        seen = search_moments(problem, incumbent, clock, params.states_first)
        if seen.infeasibility is not None or incumbent.is_settled:
            search.infeasibility = seen.infeasibility
            return Termination.COMPLETED
    moments = MomentSearch(problem, options.quiet(), MOMENTS, incumbent.prove)
    with Ending() as ending:
        moments.run(clock.share(params.share_of_the_bound), with_binaries=False)
    if ending.is_interrupted:
        raise KeyboardInterrupt
    for schedule in schedules_of_baselines(problem, "anneal", options, clock, params):
        assert isinstance(schedule, OffloadGraphSchedule)
        incumbent.offer(schedule)
        if incumbent.is_settled:
            return incumbent.end
    for number in itertools.count():
        # All of a limit is used; without one the rounds end.
        if number >= params.rounds and options.time_limit_s is None:
            break
        search.round(params.plans_of_a_round << min(number, _MOST_DOUBLINGS))
        if incumbent.is_settled:
            return incumbent.end
        if search.best is None:
            break
    return Termination.COMPLETED


@dataclass(eq=False)
class _ChoiceAnnealing:
    problem: RematOffloadGraph
    incumbent: LinkedIncumbent
    chance: random.Random
    params: ChoiceAnnealParams
    clock: Clock

    def __post_init__(self) -> None:
        self.infeasibility: Infeasibility | None = None
        self.best: EvictionChoices | None = None
        self.best_ns: float = math.inf
        self.plans = 0
        self.timer = timer_of(self.problem)

    def energy(self, choices: EvictionChoices) -> float:
        """Return the replayed time of a plan, infinite if there is none."""
        self.clock.require_time()
        schedule = decoded(self.problem, choices)
        if schedule is None:
            return math.inf
        self.plans += 1
        known_ns = self.incumbent.time_ns
        if self.timer is None:
            time_ns = self.incumbent.offer(schedule).time_ns
        else:
            time_ns = self.timer.time_ns(schedule.operations)
            if known_ns is None or time_ns < known_ns:
                time_ns = self.incumbent.offer(schedule).time_ns
        if time_ns < self.best_ns:
            self.best, self.best_ns = choices, time_ns
        return time_ns

    def round(self, plans: int) -> None:
        """Anneal from the best choices known, or from the best rule."""
        if self.best is None:
            starts: list[tuple[int, ...]] = [tuple(range(len(self.problem.instance)))]
            if self.incumbent.schedule is not None:
                starts.append(self.incumbent.schedule.computations)
            for computations in starts:
                for choices in choices_of_rules(self.problem, computations, _SHARES):
                    self.energy(choices)
        if self.best is None:
            return
        current, current_ns = self.best, self.best_ns
        base_ns = self.problem.base_time_ns
        for number in range(plans):
            if self.incumbent.is_settled:
                return
            part = number / plans
            scale = max(self.best_ns - base_ns, 1.0)
            temperature = (
                scale
                * self.params.first_temperature
                * (self.params.last_temperature / self.params.first_temperature) ** part
            )
            changed = self.changed(current)
            energy_ns = self.energy(changed)
            limit_ns = current_ns - temperature * math.log(1.0 - self.chance.random())
            if energy_ns <= limit_ns:
                current, current_ns = changed, energy_ns

    def changed(self, choices: EvictionChoices) -> EvictionChoices:
        """Return choices of which one is another."""
        chance, graph = self.chance, self.problem.instance
        kind = chance.random()
        node = chance.randrange(len(graph))
        if kind < 0.35:
            return replace(choices, again=choices.again ^ {node})
        if kind < 0.65:
            weights = list(choices.weights)
            weights[node] *= 2.0 ** chance.uniform(-3, 3)
            return replace(choices, weights=tuple(weights))
        if kind < 0.75:
            return replace(choices, lead=max(0.0, choices.lead + chance.uniform(-1, 1)))
        if kind < 0.9:
            return replace(choices, computations=self.reordered(choices.computations))
        return replace(choices, computations=self.with_or_without(choices.computations))

    def reordered(self, computations: tuple[int, ...]) -> tuple[int, ...]:
        """Return the computations with one earlier by some places, as far as inputs allow."""
        graph, found = self.problem.instance, list(computations)
        at = self.chance.randrange(len(found))
        if graph.comes_in_a_run(found[at]) or found[at] in graph.results_after:
            return computations
        inputs = {*graph.inputs[found[at]], found[at]}
        for _ in range(self.chance.randint(1, 1 + len(found) // 4)):
            before = at - 1
            if before < 0 or found[before] in inputs or found[at] in graph.inputs[found[before]]:
                break
            if graph.comes_in_a_run(found[before]):
                break
            found[before], found[at] = found[at], found[before]
            at = before
        return tuple(found)

    def with_or_without(self, computations: tuple[int, ...]) -> tuple[int, ...]:
        """Return the computations with one recomputation more or less."""
        graph, chance = self.problem.instance, self.chance
        at = chance.randrange(len(computations))
        node = computations[at]
        if node in computations[:at]:
            return (*computations[:at], *computations[at + 1 :])
        sources = [
            i
            for i in graph.inputs[node]
            if i not in graph.computed_once and not graph.comes_in_a_run(i)
        ]
        if graph.comes_in_a_run(node) or not sources:
            return computations
        return (*computations[:at], chance.choice(sources), *computations[at:])
