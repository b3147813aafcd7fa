"""Rounds of KIWI's reduced problem: messages first, then HiGHS on the states that they leave.

A large model takes HiGHS minutes: most of its columns are pairs of strategies, and most of those
are in no good plan. Messages over the graph of states
(`formulations.remat_sharding.messages.reduced`) bound the problem in about a second, in exact
integers; what they choose node by node are plans; and states that no plan has which is at least as
fast as the best one are columns that HiGHS need not look at. Its bound then holds for plans at
least as fast, and so, with the best one, for all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.remat_sharding.messages.reduced import ReducedStates, reduced_states
from jettison.instances.remat_sharding.problem import RematSharding
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.core.bound import exact_bound
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.milp.solution import ModelSolution
from jettison.solvers.remat_sharding.kiwi.engine import BuiltKiwi
from jettison.solvers.remat_sharding.kiwi.search import KiwiParams, KiwiRounds, KiwiSearch
from jettison.solvers.remat_sharding.messages.state_bound import MessageParams, StateBound


@dataclass(frozen=True, kw_only=True)
class ReducedParams(MessageParams, KiwiParams):
    """Parameters of the search by the reduced model.

    Attributes
    ----------
    columns_for_messages
        Columns of a model before which messages are passed.
    """

    columns_for_messages: int = 20_000


REDUCED = ReducedParams()


@dataclass(frozen=True)
class ReducedSearch(KiwiSearch[ArrayModel]):
    """Search by the reduced model, after messages where it is large."""

    params: ReducedParams = REDUCED

    def rounds(self, problem: RematSharding, options: SolveOptions, clock: Clock) -> ReducedRounds:
        """Return the rounds of a run."""
        return ReducedRounds(self, problem, options, clock)


class ReducedRounds(KiwiRounds[ArrayModel]):
    """Rounds of the reduced model, each on the states that messages leave of it.

    Parameters
    ----------
    search, problem, options, clock
        As for `KiwiRounds`.
    """

    def __init__(
        self,
        search: ReducedSearch,
        problem: RematSharding,
        options: SolveOptions,
        clock: Clock,
    ) -> None:
        super().__init__(search, problem, options, clock)
        self._params = search.params
        self._whole = problem
        self._states: ReducedStates | None = None
        self._bound: StateBound | None = None

    def relax(self, model: BuiltKiwi[ArrayModel]) -> None:
        """Pass messages, and offer the plans and the bound that they give."""
        if not self.is_first or model.model.num_columns < self._params.columns_for_messages:
            return
        states = reduced_states(self._whole)
        bound = StateBound(states.graph, self._params)
        if bound.is_empty:
            # No choice is allowed, which HiGHS will say.
            return
        idle = 0
        for _ in range(self._params.message_rounds):
            known = (bound.bound_ns, self.incumbent.time_ns)
            bound.ascend(self.incumbent.time_ns, self._params.passes, self.clock)
            self._prove(bound)
            for labelling in bound.labellings():
                if labelling.excess_bytes == 0 and self._is_faster(labelling.cost_ns):
                    self.incumbent.offer(states.plan(labelling.places, labelling.kinds))
            removed = self._prove(bound)
            idle = 0 if removed or known != (bound.bound_ns, self.incumbent.time_ns) else idle + 1
            is_stuck = idle == self._params.idle_rounds and self.incumbent.schedule is not None
            if is_stuck or self.incumbent.is_settled or not self.clock.left_s:
                break
        self._states, self._bound = states, bound

    def solve(self, model: BuiltKiwi[ArrayModel]) -> ModelSolution:
        """Solve what the messages leave of a model."""
        return super().solve(self._narrowed(model))

    def _is_faster(self, time_ns: int) -> bool:
        known_ns = self.incumbent.time_ns
        return known_ns is None or time_ns < known_ns

    def _prove(self, bound: StateBound) -> int:
        """Prove a bound; states of plans as fast as the best one stay, so that it is a point."""
        known_ns = self.incumbent.time_ns
        removed = bound.prove(None if known_ns is None else known_ns + 1)
        proved_ns = bound.bound_ns if known_ns is None else min(bound.bound_ns, known_ns)
        self.incumbent.prove(exact_bound(proved_ns, ScheduleClass.KIWI_REDUCED, "kiwi-reduced"))
        return removed

    def _narrowed(self, model: BuiltKiwi[ArrayModel]) -> BuiltKiwi[ArrayModel]:
        """Return a model without the columns of states that were removed."""
        states = self._states
        if states is None or self._bound is None:
            return model
        left = self._bound.states()
        fixed: dict[str, tuple[float, float]] = {}
        for i, kinds in enumerate(states.kinds):
            if states.sharded.leader[i] == i:
                places, _ = left[states.choice[i]]
                for k in range(len(states.sharded.operators[i].strategies)):
                    if k not in places:
                        fixed[f"s_{i}_{k}"] = (0.0, 0.0)
            of_node = left[states.node[i]][1]
            again = {kinds[kind][0] for kind in of_node} if len(kinds) > 1 else {False}
            if len(again) == 1:
                is_once = float(not again.pop())
                fixed[f"m_{i}"] = (is_once, is_once)
        built = model.model
        names = {name: column for column, name in enumerate(built.column_names)}
        lower, upper = np.array(built.column_lower), np.array(built.column_upper)
        for name, (least, most) in fixed.items():
            column = names.get(name)
            if column is not None:
                lower[column] = max(lower[column], least)
                upper[column] = min(upper[column], most)
        return replace(model, model=replace(built, column_lower=lower, column_upper=upper))
