r"""Dynamic tensor rematerialization (DTR): eager execution that evicts by a heuristic.

Source: Kirisame et al., ICLR 2021, arXiv:2006.09616, with eager eviction. Nodes are computed for
the first time in the order of the graph. An operation needs its inputs in memory: those that were
evicted are computed again first, in ascending order, each with its own inputs. Where an output and
its workspace do not fit, values are evicted, one by one, each time one with the least

.. math::
    h(i) = \frac{c(i)}{M_i \cdot (\text{now} - \text{last access of } i)}

with sizes :math:`M`, and :math:`c(i)` the duration of the operators that would have to run: with
those of the evicted neighbourhood (`dtr`, :math:`h_{DTR}`), of the evicted components that touch it
(`dtr-eq`, :math:`h_{DTR}^{eq}`), or the one operator (`dtr-local`, :math:`h_{local}`); the
definitions stand in `eviction_heuristics`. Time runs in nanoseconds of the step. A value is
accessed when it is first made, and whenever an operation that reads it begins to wait for its
inputs; being made again is no access. A value that was accessed just now counts as 1 ns old.
Fractions are compared exactly, ties go to the first node, and nothing is random: the same problem
gives the same schedule everywhere. A value whose users have all been computed for the first time is
evicted as soon as nothing that is about to run needs it.

An operator with several results (`Node.result_of`) runs as a whole: losing any of its results costs
the operator, though taking a result takes no time. When it runs again, it makes again all of its
lost results that a node is still to read, as far as there is room beside what is in memory; there
is room for all of them where the operator has no value of its own (`Node.has_value`).

What differs from the paper: a framework learns of a training step while it runs, and deallocation
comes from the program. Here users are known, but only to tell whether there is one left. The values
of kept nodes are never evicted, like parameters in the paper; there gradients of parameters may be
evicted, and come back at the end. Nor are those of nodes that are computed once: they stay until
everything that may read them has run for the last time. A recomputed value without further users is
freed after it was read, where the authors' simulator leaves it to the heuristic. Resident constants
are no nodes.

The heuristic fails where the values needed at once do not fit, and where each recomputation evicts
what the next one needs; it gives up when it has computed 200 times as many nodes as there are.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from jettison.instances.remat_graph.graph import Graph
from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.remat_graph.schedule import GraphSchedule
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.ending import Ending
from jettison.solvers.core.outcome import Outcome, SolveOptions
from jettison.solvers.core.params import Params
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_graph.baselines.eviction_heuristics import (
    ComponentCost,
    Dependencies,
    EvictionHeuristic,
    HeuristicFactory,
    LocalCost,
    NeighbourhoodCost,
)


@dataclass(frozen=True, kw_only=True)
class DtrParams(Params):
    """Parameters of DTR: the limit at which the eager execution gives up.

    Attributes
    ----------
    most_computations_per_node
        Computations, for each node, after which it is taken to recompute what it has just evicted.
    """

    most_computations_per_node: int = 200


DTR = DtrParams()


class _StoppedError(Exception):
    """The heuristic cannot run the step to its end."""

    def __init__(self, termination: Termination, reason: str) -> None:
        super().__init__(reason)
        self.outcome = Outcome(termination=termination, note=reason)


def solve_dtr(problem: RematGraph, options: SolveOptions, params: DtrParams = DTR) -> Outcome:
    r"""Return the schedule of an eager execution that evicts by :math:`h_{DTR}`.

    :math:`O(k n (n + |E|))` for `k` evictions. There is no schedule at the time limit or on Ctrl-C.
    """
    return _run(problem, options, params, "dtr", NeighbourhoodCost)


def solve_dtr_eq(problem: RematGraph, options: SolveOptions, params: DtrParams = DTR) -> Outcome:
    r"""Return the schedule of an eager execution that evicts by :math:`h_{DTR}^{eq}`.

    This heuristic keeps components up to date in place of searching. Otherwise as `solve_dtr`.
    """
    return _run(problem, options, params, "dtr-eq", ComponentCost)


def solve_dtr_local(problem: RematGraph, options: SolveOptions, params: DtrParams = DTR) -> Outcome:
    r"""Return the schedule of an eager execution that evicts by :math:`h_{local}`; :math:`O(k n)`.

    This heuristic looks at no neighbours. Otherwise as `solve_dtr`.
    """
    return _run(problem, options, params, "dtr-local", LocalCost)


def _run(
    problem: RematGraph,
    options: SolveOptions,
    params: DtrParams,
    method: str,
    heuristic: HeuristicFactory,
) -> Outcome:
    graph = problem.instance
    runtime = _Runtime(
        graph,
        problem.memory_bytes,
        Clock(options.time_limit_s),
        Dependencies(graph),
        heuristic,
        params.most_computations_per_node * len(graph),
    )
    with Ending() as ending:
        try:
            for node in range(len(graph)):
                if not graph.comes_in_a_run(node):
                    runtime.run(node)
        except _StoppedError as stopped:
            outcome = stopped.outcome
            return replace(outcome, note=f"{method} {outcome.note}")
    if not ending.termination.is_regular:
        return Outcome(termination=ending.termination, note="the step was not run to its end")
    return Outcome(
        termination=Termination.COMPLETED,
        schedule=GraphSchedule.from_computations(graph, runtime.computations),
        work={"evictions": runtime.evictions},
    )


@dataclass
class _Runtime:
    """State of an eager execution: values in memory, accesses, locks and computations so far.

    Attributes
    ----------
    most_computations
        Computations after which it gives up.
    in_memory
        Values in memory.
    last_access_ns
        Time of the last access to each value.
    evictions
        Number of values that were evicted for lack of memory.
    locks
        For each node, how many waiting operations need its value.
    finished
        Nodes that are computed no more.
    possible_readers
        For each node, how many of its users may still be computed, for the first time or again.
    """

    graph: Graph
    memory_bytes: int
    clock: Clock
    dependencies: Dependencies
    heuristic: HeuristicFactory
    most_computations: int
    now_ns: int = 0
    evictions: int = 0
    stored_bytes: int = 0
    computations: list[int] = field(default_factory=list)
    computed: set[int] = field(default_factory=set)
    finished: set[int] = field(default_factory=set)
    in_memory: set[int] = field(default_factory=set)
    last_access_ns: list[int] = field(init=False)
    locks: list[int] = field(init=False)
    waiting_users: list[int] = field(init=False)
    possible_readers: list[int] = field(init=False)
    cost: EvictionHeuristic = field(init=False)

    def __post_init__(self) -> None:
        self.cost = self.heuristic(self.dependencies)
        self.locks = [0] * len(self.graph)
        self.last_access_ns = [0] * len(self.graph)
        self.waiting_users = [len(users) for users in self.graph.users]
        self.possible_readers = list(self.waiting_users)

    def run(self, target: int) -> None:
        """Compute a node, after all of its missing ancestors."""
        # Each entry waits for its inputs; a list in place of recursion, for deep graphs.
        waiting = [target]
        self._lock(target)
        while waiting:
            node = waiting[-1]
            if node in self.in_memory and self.graph.comes_in_a_run(node):
                self._unlock(waiting.pop())
                continue
            missing = next((i for i in self.graph.inputs[node] if i not in self.in_memory), -1)
            if missing >= 0:
                self._lock(missing)
                waiting.append(missing)
                continue
            # A result may have been taken when its operator ran.
            if node not in self.in_memory:
                runs_again = node in self.computed
                self._compute(node)
                if node in self.graph.results_after:
                    self._take_run(node, runs_again)
                elif runs_again:
                    self._take_lost_results(node)
            self._unlock(waiting.pop())

    def _take_run(self, operator: int, runs_again: bool) -> None:
        """Take the results of an operator without a value, which has made room for all of them."""
        for result in self.graph.results_after[operator]:
            is_wanted = self.waiting_users[result] or self.locks[result]
            if not runs_again or (is_wanted and result not in self.in_memory):
                self._compute(result)
                if self._is_evictable(result) and not is_wanted:
                    self._evict(result)
        self.in_memory.remove(operator)

    def _take_lost_results(self, operator: int) -> None:
        """Take the results of an operator that ran again and that a node is still to read."""
        for result in self.dependencies.results[operator]:
            lost = result in self.computed and result not in self.in_memory
            fits = self.stored_bytes + self.graph.nodes[result].output_bytes <= self.memory_bytes
            if lost and fits and self.waiting_users[result]:
                self._compute(result)

    def _lock(self, node: int) -> None:
        # Values that have to be made again first are accessed now, too.
        for source in self.graph.inputs[node]:
            self.locks[source] += 1
            self.last_access_ns[source] = self.now_ns

    def _unlock(self, node: int) -> None:
        sources = self.graph.inputs[node]
        for source in sources:
            self.locks[source] -= 1
        for candidate in (*sources, node):
            if self._is_evictable(candidate) and self._is_dead(candidate):
                self._evict(candidate)

    def _compute(self, node: int) -> None:
        if len(self.computations) >= self.most_computations:
            raise _StoppedError(
                Termination.COMPLETED,
                f"gave up after {len(self.computations)} computations: it recomputes what it has "
                "just evicted",
            )
        item = self.graph.nodes[node]
        needed = item.output_bytes + item.workspace_bytes
        while self.stored_bytes + needed > self.memory_bytes:
            self._evict(self._least_valuable(node))
            self.evictions += 1
        self.now_ns += item.duration_ns
        self.stored_bytes += item.output_bytes
        self.computations.append(node)
        self.cost.made(node)
        self.in_memory.add(node)
        if node not in self.computed:
            self.last_access_ns[node] = self.now_ns
            self.computed.add(node)
            for source in self.graph.inputs[node]:
                self.waiting_users[source] -= 1
            self._run_for_the_last_time(node)

    def _run_for_the_last_time(self, node: int) -> None:
        """Note that a node may be computed no more, if so, and what that means for its inputs."""
        stack = [node]
        while stack:
            done = stack.pop()
            stays = self.graph.nodes[done].keep or done in self.graph.computed_once
            if done in self.finished or (not stays and self.possible_readers[done]):
                continue
            self.finished.add(done)
            for source in self.graph.inputs[done]:
                self.possible_readers[source] -= 1
                if self.possible_readers[source]:
                    continue
                if source not in self.graph.computed_once:
                    stack.append(source)
                elif self.graph.nodes[source].has_value and self._is_evictable(source):
                    self._evict(source)

    def _is_dead(self, node: int) -> bool:
        """Tell whether nothing is to read a value that has not read it, as far as it is known."""
        if node in self.graph.computed_once:
            return self.possible_readers[node] == 0
        return self.waiting_users[node] == 0

    def _is_evictable(self, node: int) -> bool:
        return node in self.in_memory and self.locks[node] == 0 and not self.graph.nodes[node].keep

    def _evict(self, node: int) -> None:
        self.in_memory.remove(node)
        self.cost.evicted(node)
        self.stored_bytes -= self.graph.nodes[node].output_bytes

    def _least_valuable(self, about_to_run: int) -> int:
        if not self.clock.left_s:
            raise _StoppedError(Termination.TIME_LIMIT, "did not run the step to its end")
        candidates: list[tuple[int, int, int]] = []
        for node in self.in_memory:
            size = self.graph.nodes[node].output_bytes
            if size and self._is_evictable(node) and node not in self.graph.computed_once:
                age_ns = max(self.now_ns - self.last_access_ns[node], 1)
                candidates.append((self.dependencies.durations_ns[node], size * age_ns, node))
        # Values with the least score without neighbourhoods come first: few neighbourhoods are
        # searched then.
        candidates.sort(key=lambda candidate: candidate[0] / candidate[1])
        best: tuple[int, int, int] | None = None
        for duration_ns, weight, node in candidates:
            if best is None:
                best = (self.cost.cost_ns(node, None), weight, node)
                continue
            # cost / weight <= best cost / best weight, in integers.
            most_ns = best[0] * weight // best[1]
            if duration_ns > most_ns:
                continue
            cost_ns = self.cost.cost_ns(node, most_ns)
            if cost_ns > most_ns:
                continue
            if cost_ns * best[1] < best[0] * weight or node < best[2]:
                best = (cost_ns, weight, node)
        if best is None:
            name = self.graph.nodes[about_to_run].name
            raise _StoppedError(
                Termination.COMPLETED, f"has nothing left to evict when it computes {name!r}"
            )
        return best[2]
