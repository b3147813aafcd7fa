r"""Windowed frontier model of a graph: least recomputation between cuts, in exact integers.

The model of `formulations/remat_graph/windows/frontier.py`, whose docstring has every row and the
proof that every schedule is a point, written once more and in exact integers: the checker trusts
nothing but this page. With one cut it is the preset `SingleCut`.

Cuts are nodes :math:`t_1 < \dots < t_k`. Window :math:`w` goes from the end of the first
computation of :math:`t_w` to that of :math:`t_{w+1}`, the last one to the end of the step. For
every window and every node :math:`i` of its needed set (what first computations of the window read
of nodes up to :math:`t_w`, what later windows need of them, in the last one kept nodes too, and
all that leads to these) there are binary columns

* ``R_t_i``: :math:`i` is computed again in the window; costs its duration; 0 where it is computed
  once in every schedule;
* ``S_t_i``: its value is there when the window begins and is read before it is computed next;
* ``Z_t_i``: it is computed again in the window or a later one (0 to 1), for all but the last
  window and what the cut :math:`t` alone needs.

Rows, in this order, for each window ``need``, ``again``, ``stay``, ``memory``; then for all windows
but the last ``ever``, ``lost``, ``path``; then for each slot ``later`` and ``slot``. Durations add
up to the offset. An operator with several results is a node of no bytes, and these are nodes that
read it: it is there only between its computation and the results (``S_t_i`` is 0 but for the cuts
in its run), a result is computed again only where it is (no ``S`` in that row ``again``), and
nothing is computed again in the stages of results. Without slots the claim is about schedules in
order, unless `staged` is set; with slots about staged schedules, which compute nothing again after
the last first computation.

Version 1. Options: ``cuts``, a list; ``slots``, the recomputation slots, pairs; ``staged``.
"""

# The symbols of the model are the names of the code.
# ruff: noqa: N806

from __future__ import annotations

from itertools import pairwise

from ..errors import CertificateError
from ..header_fields import (
    Fields,
    flag_field,
    integer_field,
    integers_field,
    list_field,
    only_fields,
)
from ..integer_model import IntegerModel
from ..stated_model import StatedModel
from .given_graph import GivenGraph

# Nodes and edges, times cuts and slots: what building may cost.
_MOST_STEPS = 100_000_000


def windowed_frontier(instance: Fields, resources: Fields, options: Fields) -> StatedModel:
    """Build the model; linear in its size, which is that of the graph times the cuts.

    Raises
    ------
    CertificateError
        If the instance, the memory or an option is not what the model needs.
    """
    only_fields(resources, {"memory_bytes"}, "resources")
    only_fields(options, {"cuts", "slots", "staged"}, "the formulation")
    graph = GivenGraph.from_json(instance)
    cuts = integers_field(options, "cuts", len(graph))
    if not cuts or any(a >= b for a, b in pairwise(cuts)):
        raise CertificateError("the cuts are not nodes in ascending order, at least one")
    slots = _slots(options, cuts)
    edges = sum(map(len, graph.inputs))
    if (len(cuts) + len(slots)) * (len(graph) + edges) > _MOST_STEPS:
        raise CertificateError(f"{len(cuts)} cuts and {len(slots)} slots are too many to check")
    staged = flag_field(options, "staged") or bool(slots)
    writer = _Writer(graph, integer_field(resources, "memory_bytes"), cuts, staged)
    writer.write(slots)
    return StatedModel(writer.model, "staged" if staged else "in-order")


def _slots(options: Fields, cuts: list[int]) -> list[tuple[int, int]]:
    slots, known = [], set(cuts)
    for entry in list_field(options, "slots"):
        if not isinstance(entry, list) or len(entry) != 2:
            raise CertificateError("a slot is a pair of a stage and a node")
        pair = {"slot": entry}
        t, q = integers_field(pair, "slot", cuts[-1] + 1)
        if not {t - 1, t} <= known or q >= t:
            raise CertificateError(f"the slot {t}, {q} is not between two cuts next to each other")
        slots.append((t, q))
    if len(set(slots)) < len(slots):
        raise CertificateError("a slot stands twice")
    return slots


class _Writer:
    """Adds columns and rows; `R`, `S` are the columns of each window by node."""

    def __init__(self, graph: GivenGraph, memory: int, cuts: list[int], staged: bool) -> None:
        self.graph, self.memory, self.cuts = graph, memory, cuts
        self.model = IntegerModel(time_offset_ns=sum(graph.durations_ns))
        self.users: list[list[int]] = [[] for _ in range(len(graph))]
        for node, inputs in enumerate(graph.inputs):
            for source in inputs:
                self.users[source].append(node)
        self.R: list[dict[int, int]] = []
        self.S: list[dict[int, int]] = []
        last_stage = len(graph) - 1 if staged else len(graph)
        ends = [*cuts[1:], last_stage]
        for t, end, needed in zip(cuts, ends, self._needed_sets(), strict=True):
            # Nothing is computed between an operator and its results.
            is_over = all(
                stage < len(graph) and graph.is_result(stage) for stage in range(t + 1, end + 1)
            )
            self.R.append(
                {
                    i: self.model.add_column(
                        f"R_{t}_{i}",
                        0,
                        int(graph.again[i] and not is_over),
                        cost=graph.durations_ns[i],
                    )
                    for i in needed
                }
            )
            self.S.append(
                {
                    i: self.model.add_column(
                        f"S_{t}_{i}", 0, int(i not in graph.runs or t + 1 in graph.runs[i])
                    )
                    for i in needed
                }
            )

    def write(self, slots: list[tuple[int, int]]) -> None:
        for w in range(len(self.cuts)):
            self._add_window(w)
            self._add_memory(w)
        for w in range(len(self.cuts) - 1):
            self._add_closure(w)
        for t, q in slots:
            w = self.cuts.index(t - 1)
            if q in self.R[w]:
                self._add_slot(t, q, w)

    def _read(self, start: int, end: int) -> set[int]:
        """Return the nodes up to `start` that nodes after it, up to `end`, read."""
        return {p for j in range(start + 1, end + 1) for p in self.graph.inputs[j] if p <= start}

    def _kept(self, last: int) -> set[int]:
        return {i for i in range(last + 1) if self.graph.keep[i]}

    def _read_first(self, w: int) -> set[int]:
        """Return what the window's first computations read, in the last with the kept nodes."""
        t = self.cuts[w]
        if w + 1 < len(self.cuts):
            return self._read(t, self.cuts[w + 1])
        return self._read(t, len(self.graph) - 1) | self._kept(t)

    def _needed_sets(self) -> list[list[int]]:
        found: list[list[int]] = []
        later: set[int] = set()
        for w in range(len(self.cuts) - 1, -1, -1):
            t = self.cuts[w]
            later = self.graph.with_ancestors(self._read_first(w) | {i for i in later if i <= t})
            found.append(sorted(later))
        return found[::-1]

    def _add_window(self, w: int) -> None:
        R, S, t = self.R[w], self.S[w], self.cuts[w]
        for p in sorted(self._read_first(w)):
            self.model.at_least(f"need_{t}_{p}", [R[p], S[p]], [1, 1], 1)
        for i in R:
            for p in self.graph.inputs[i]:
                if p in self.graph.runs:
                    self.model.at_least(f"again_{t}_{i}_{p}", [R[p], R[i]], [1, -1], 0)
                else:
                    self.model.at_least(f"again_{t}_{i}_{p}", [R[p], S[p], R[i]], [1, 1, -1], 0)
        if w + 1 < len(self.cuts):
            for i, stored in self.S[w + 1].items():
                if i <= t:
                    name = f"stay_{self.cuts[w + 1]}_{i}"
                    self.model.at_least(name, [R[i], S[i], stored], [1, 1, -1], 0)

    def _add_memory(self, w: int) -> None:
        t, S, sizes = self.cuts[w], self.S[w], self.graph.output_bytes
        inputs = self.graph.inputs[t]
        running = sizes[t] + self.graph.workspace_bytes[t] + sum(sizes[p] for p in inputs)
        beside = [i for i in S if i < t and i not in inputs]
        self.model.at_most(
            f"memory_{t}",
            [S[i] for i in beside],
            [sizes[i] for i in beside],
            self.memory - running,
        )

    def _add_closure(self, w: int) -> None:
        t, S, graph = self.cuts[w], self.S[w], self.graph
        lost = self._read(t, len(graph) - 1) | self._kept(t)
        needed = sorted(graph.with_ancestors(lost))
        Z = {i: self.model.add_column(f"Z_{t}_{i}", 0, 1) for i in needed}
        for i, once in Z.items():
            windows = [window[i] for window in self.R[w:] if i in window]
            self.model.at_least(f"ever_{t}_{i}", [once, *windows], [-1, *([1] * len(windows))], 0)
        for p in sorted(lost):
            self.model.at_least(f"lost_{t}_{p}", [Z[p], S[p]], [1, 1], 1)
        for i, once in Z.items():
            for p in graph.inputs[i]:
                self.model.at_least(f"path_{t}_{i}_{p}", [Z[p], S[p], once], [1, 1, -1], 0)

    def _add_slot(self, t: int, q: int, w: int) -> None:
        R, S, sizes = self.R[w], self.S[w], self.graph.output_bytes
        columns = [R[q], S[q]]
        weights = [sizes[q] + self.graph.workspace_bytes[q], sizes[q]]
        room = self.memory
        for i in R:
            if i > q:
                columns.append(S[i])
                weights.append(sizes[i])
            elif i < q and t in self.users[i]:
                room -= sizes[i]
            elif i < q:
                reasons = {
                    f"later_{t}_{q}_{i}_{j}": R[j] for j in self.users[i] if q <= j < t and j in R
                }
                if i in self.S[w + 1]:
                    reasons[f"later_{t}_{q}_{i}"] = self.S[w + 1][i]
                if reasons:
                    columns.append(self._any_of(f"L_{t}_{q}_{i}", reasons))
                    weights.append(sizes[i])
        self.model.at_most(f"slot_{t}_{q}", columns, weights, room)

    def _any_of(self, name: str, reasons: dict[str, int]) -> int:
        """Return a column that is at least each of the given ones; a single one is returned."""
        if len(reasons) == 1:
            return next(iter(reasons.values()))
        later = self.model.add_column(name, 0, 1)
        for row, column in reasons.items():
            self.model.at_least(row, [later, column], [1, -1], 0)
        return later
