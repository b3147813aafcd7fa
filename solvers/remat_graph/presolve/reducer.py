"""Application of the reductions of `presolved`, whose docstring has the conditions and proofs."""

from __future__ import annotations

import math
from itertools import takewhile

from jettison.instances.remat_graph.problem import RematGraph
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.solvers.remat_graph.presolve.reductions import (
    BesideHost,
    Contracted,
    FreedEdges,
    InPrefix,
    Step,
)
from jettison.solvers.remat_graph.presolve.working_graph import WorkingGraph

# In order, without values.
Prefix = dict[int, None]


class GraphReducer:
    """Reducer of a graph, which records the steps that it makes.

    Parameters
    ----------
    problem
        The graph and its memory.
    classes
        The classes of schedules whose least time must stay.
    slack_ns
        Upper bound on the recomputation of a fastest schedule; it may be infinite.

    Attributes
    ----------
    graph
        The reduced graph.
    steps
        The reductions that were made, in order.
    counts
        Number of applications, by reduction.
    """

    def __init__(
        self, problem: RematGraph, classes: frozenset[ScheduleClass], slack_ns: float
    ) -> None:
        self._problem = problem
        self._slack_ns = slack_ns
        self.graph = WorkingGraph(problem.instance)
        self.steps: list[Step] = []
        self._in_order = classes != {ScheduleClass.ALL}
        self._all = ScheduleClass.ALL in classes
        self._staged = ScheduleClass.STAGED in classes
        self.counts = dict.fromkeys(
            ("free_values", "edges", "beside_host", "in_prefix", "contracted"), 0
        )

    def sweep(self) -> bool:
        """Try every reduction on every node; tell whether there was one."""
        before = len(self.steps)
        for node in self.graph:
            if self.graph.nodes[node].output_bytes == 0 and node not in self.graph.in_runs:
                self._free_value(node)
        prefix = self._prefix()
        unread = [
            node
            for node in self.graph
            if self.graph.is_unread(node) and node not in self.graph.in_runs
        ]
        # The last one stays, and takes the durations of the others.
        for node in unread[:-1]:
            self._take_out(node, unread[-1], prefix)
        once = self.computed_once()
        for node in self.graph:
            self._contract(node, prefix, once)
        return len(self.steps) > before

    def _free_value(self, node: int) -> None:
        graph = self.graph
        freed = 0
        for reader in sorted(graph.users[node]):
            if not self._all or graph.reaches(node, reader):
                graph.remove_edge(node, reader)
                freed += 1
        kept = graph.nodes[node].keep
        if not freed and not kept:
            return
        graph.change(node, keep=False)
        self.steps.append(FreedEdges(node))
        self.counts["free_values"] += 1
        self.counts["edges"] += freed

    def _prefix(self) -> Prefix:
        """Return the nodes up to which everything in use fits at once."""
        found: Prefix = {}
        stored = 0
        for node in self.graph:
            if stored + self.graph.during_bytes(node) > self._problem.memory_bytes:
                break
            found[node] = None
            if not self.graph.is_unread(node):
                stored += self.graph.nodes[node].output_bytes
        return found

    def _take_out(self, node: int, heir: int, prefix: Prefix) -> None:
        """Take out an unread node if it can be put back anywhere."""
        graph = self.graph
        step: Step | None = None if self._staged else self._host(node)
        if step is not None:
            self.counts["beside_host"] += 1
        elif not self._all and node in prefix:
            step = InPrefix(node, tuple(takewhile(lambda earlier: earlier != node, prefix)))
            self.counts["in_prefix"] += 1
        else:
            return
        prefix.pop(node, None)
        duration_ns = graph.nodes[heir].duration_ns + graph.nodes[node].duration_ns
        graph.change(heir, duration_ns=duration_ns)
        graph.remove(node)
        self.steps.append(step)

    def _host(self, node: int) -> BesideHost | None:
        graph = self.graph
        inputs, during_bytes = graph.inputs[node], graph.during_bytes(node)
        host = graph.after(node)
        if host is not None and host not in graph.in_runs:
            fits = during_bytes <= graph.during_bytes(host)
            if fits and inputs <= graph.inputs[host]:
                return BesideHost(node, host, before=True)
        host = graph.before(node)
        if host is not None and host not in graph.in_runs:
            fits = during_bytes <= graph.nodes[host].workspace_bytes
            fits_instead = graph.is_unread(host) and during_bytes <= graph.during_bytes(host)
            if (fits and inputs <= graph.inputs[host] | {host}) or (
                fits_instead and inputs <= graph.inputs[host]
            ):
                return BesideHost(node, host, before=False)
        return None

    def computed_once(self) -> frozenset[int]:
        """Return the nodes that no fastest schedule computes again."""
        graph = self.graph
        found: set[int] = set()
        again_ns: dict[int, float] = {}
        for node in graph:
            again_ns[node] = graph.nodes[node].duration_ns + sum(
                again_ns[source] for source in graph.inputs[node] if graph.is_read_once(source)
            )
            operator = self._problem.instance.operators[node]
            if node in graph.in_runs and operator != node:
                # It is made with its operator only.
                again_ns[node] = again_ns[operator]
            if not graph.nodes[node].again:
                again_ns[node] = math.inf
            is_free = graph.nodes[node].output_bytes == 0 and graph.nodes[node].has_value
            is_long = math.isinf(again_ns[node]) or again_ns[node] > self._slack_ns
            if is_free or graph.is_unread(node) or is_long:
                found.add(node)
        return frozenset(found)

    def _contract(self, node: int, prefix: Prefix, once: frozenset[int]) -> None:
        """Merge a node into its only reader if one of both forms allows it."""
        graph = self.graph
        this = graph.nodes[node]
        if this.keep or len(graph.users[node]) != 1 or node in graph.in_runs:
            return
        (reader,) = graph.users[node]
        if reader in graph.in_runs:
            return
        if self._in_order and graph.after(node) != reader:
            return
        if self._staged and reader not in prefix:
            return
        gone = self._read_once_inputs(node)
        if self._can_run_late(node, reader, once):
            workspace_bytes = graph.nodes[reader].workspace_bytes + this.output_bytes
            gone = frozenset()
        elif self._can_run_early(node, reader, gone):
            workspace_bytes = graph.during_bytes(node) - graph.nodes[reader].output_bytes
        else:
            return
        graph.contract(node, workspace_bytes)
        self.steps.append(Contracted(node, reader, gone))
        self.counts["contracted"] += 1
        prefix.pop(node, None)

    def _can_run_late(self, node: int, reader: int, once: frozenset[int]) -> bool:
        """Tell whether a node can always run just before its reader."""
        graph = self.graph
        this = graph.nodes[node]
        lost = graph.inputs[node] - graph.inputs[reader]
        costs_nothing = this.duration_ns == 0 and this.again
        as_often = graph.is_read_once(node) or costs_nothing or reader in once
        return (
            as_often
            and all(graph.nodes[source].output_bytes == 0 for source in lost)
            and this.workspace_bytes <= graph.during_bytes(reader)
        )

    def _can_run_early(self, node: int, reader: int, gone: frozenset[int]) -> bool:
        """Tell whether a reader can always run just after a node once `gone` are freed."""
        graph = self.graph
        gone_bytes = sum(graph.nodes[source].output_bytes for source in gone)
        return (
            graph.is_read_once(node)
            and graph.inputs[reader] - {node} <= graph.inputs[node]
            and graph.during_bytes(reader) <= graph.nodes[node].workspace_bytes + gone_bytes
        )

    def _read_once_inputs(self, node: int) -> frozenset[int]:
        graph = self.graph
        return frozenset(
            source
            for source in graph.inputs[node]
            if graph.is_read_once(source) and graph.nodes[source].output_bytes
        )

    def twins(self) -> list[tuple[int, int]]:
        """Return pairs of twins, each with the next one of its family."""
        graph = self.graph
        latest: dict[tuple[object, ...], int] = {}
        found: list[tuple[int, int]] = []
        for node in graph:
            if node in graph.in_runs:
                continue
            this = graph.nodes[node]
            family = (
                frozenset(graph.inputs[node]),
                frozenset(graph.users[node]),
                this.duration_ns,
                this.output_bytes,
                this.workspace_bytes,
                this.keep,
                this.again,
            )
            earlier = latest.get(family)
            if earlier is not None and (not self._staged or graph.before(node) == earlier):
                found.append((earlier, node))
            latest[family] = node
        return found
