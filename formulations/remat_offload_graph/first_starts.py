r"""Lower bound for graphs with a link: what is where at the first runs of some nodes.

Moments are the starts and ends of the first computations of nodes :math:`t_1, \dots, t_k`, each of
which comes before the next one in every schedule of a class. Window :math:`w = 0, \dots, 2k` is the
time from moment :math:`w` to the next one (`PassedMoments`); odd windows are the runs of the nodes.
The class is that of all schedules, where it is known that a node starts after its ancestors, or
that of schedules in the order of the graph (`KnownOrder`). Nodes may be computed again, values
moved, and memory be used, in any way that the replay allows.

Let :math:`P_w` be the nodes that have been computed for the first time at moment :math:`w` in every
schedule of the class, :math:`L_w` those that have not in any, and :math:`N_w = L_w \cap P_{w+1}`
(:math:`L_0` and :math:`P_{2k+1}` are all nodes). Node :math:`i` takes :math:`C_i` ns, its value
:math:`M_i` bytes and :math:`\tau_i` ns on the link, alone; :math:`W_i` is its workspace,
:math:`\operatorname{in}(i)` are its inputs. :math:`t(w)` is the node that starts or ends at moment
:math:`w`.

Columns
-------
============================== ================================================================
:math:`U_{w,i}`, ``held_w_i``  the value of :math:`i \in P_w` has memory on the device at moment
                               :math:`w`, be it on its way from the host
:math:`R_{w,i}`, ``again_w_i`` :math:`i \in P_w` is computed in the even window :math:`w`
:math:`I_{w,i}`, ``back_w_i``  neither of the two, and a copy of it from the host, which is read or
                               kept, starts in window :math:`w`
:math:`O_{w,i}`, ``sent_w_i``  the first copy of :math:`i \notin L_{w+1}` to the host ends in
                               window :math:`w`
:math:`D_w`, ``window_w``      time of window :math:`w`
============================== ================================================================

:math:`U, R` are binary, :math:`I, O` are in :math:`[0, 1]`, and :math:`D \ge 0`, which is
:math:`C_{t(w)}` for odd :math:`w`. :math:`R_{w,i}` is 0 for nodes that are computed once;
:math:`I` and :math:`O` are there for values that a link can move, :math:`U` for nodes with a value.

Model
-----
.. math::
    \text{(objective)} \quad & \min \sum_w D_w \\
    \text{(total)} \quad & \sum_w D_w \ge \sum_i C_i + \sum_{w,i} C_i R_{w,i} \\
    \text{(work)} \quad & D_w \ge \sum_{i \in N_w} C_i + \sum_i C_i R_{w,i} \\
    \text{(memory)} \quad & \sum_{i \ne t(w)} M_i U_{w,i} \le M - M_{t(w)} - W_{t(w)} \\
    \text{(input)} \quad & U_{w,p} \ge 1 && \forall p \in \operatorname{in}(t(w)) \\
    \text{(read)} \quad & U_{w,p} + R_{w,p} + I_{w,p} \ge 1
        && \forall i \in N_w,\; p \in \operatorname{in}(i) \cap P_w \\
    \text{(needs)} \quad & U_{w,p} + R_{w,p} + I_{w,p} \ge R_{w,i}
        && \forall i \in P_w,\; p \in \operatorname{in}(i) \\
    \text{(stays)} \quad & U_{w+1,i} \le U_{w,i} + R_{w,i} + I_{w,i} && \forall i \in P_w \\
    \text{(kept)} \quad & U_{2k,i} + R_{2k,i} + I_{2k,i} \ge 1
        && \forall i \in P_{2k} \text{ kept} \\
    \text{(copy)} \quad & I_{w,i} \le \sum_{v \le w} O_{v,i} \\
    \text{(up)} \quad & \sum_{a \le v \le w} \sum_{i \in L_a} \tau_i O_{v,i}
        \le \sum_{a \le v \le w} D_v && \forall a \le w \\
    \text{(down)} \quad & \sum_{v \ge w} \sum_i \tau_i I_{v,i} \le \sum_{v \ge w} D_v
        && \forall w \\
    \text{(sent)} \quad & h_j + \sum_{v \le w} \sum_{i \in \{j\} \cup A_j} \tau_i O_{v,i}
        \le \sum_{v \le w} D_v && \forall w,\; j \in P_{w+1} \\
    \text{(due)} \quad & \sum_{i : b_i \ge b_j} \tau_i I_{2k,i} + b_j \le D_{2k} \\
    \text{(both)} \quad & \sum_{v,i} \sigma_i (O_{v,i} + I_{v,i}) \le \sum_v D_v

:math:`h_j` is the time of what always runs before the first end of :math:`j`, itself included, and
:math:`A_j` are the nodes that always come after it. :math:`b_i` is the time that is always left
after the first use of :math:`i` in the last window: the most that any of its users in
:math:`L_{2k}` has to be followed by, itself included; without such a user, for a value that a
repeated computation reads, the least over its users of their time and what follows, and 0 if it is
kept; and never more than the time of all of :math:`L_{2k}`. (both) is for a link whose directions
share a total, on which :math:`i` takes :math:`\sigma_i` ns alone, rounded down. (sent) and (due)
are there for some :math:`j` only, at most `most_thresholds` in a window: any choice is a valid one.
(read) leaves out operators without a value, whose results come right after them.

Proof
-----
Take a schedule of the class, and leave out, from its end backwards, computations that are not the
first of their node and copies from the host whose result is neither read nor kept; nothing happens
then instead, which breaks no rule. Set the columns to what they say.

1. (total), (work): what runs in a window runs in it from beginning to end, for at the start or end
   of a computation no other one runs; and so nothing else runs in an odd window.
2. (memory), (input): at moment :math:`w` the values of :math:`U` are in memory with the output and
   the workspace of :math:`t(w)`, and so are its inputs.
3. (read), (needs), (kept): a value that is read in window :math:`w`, of a node whose first
   computation is before it, has memory at the moment, or is computed in the window, or a copy from
   the host starts in it; if the first two are false, the third is :math:`I`. (stays) is the same
   for a value that has memory at the next moment.
4. (copy): such a copy starts after a copy to the host has ended, the first of which ends in one of
   the windows up to it.
5. (up): copies to the host of values that have not been computed at moment :math:`a` start after
   it; those that end by moment :math:`w + 1` do so one after the other. (sent) is the same from the
   first end of :math:`j` on, before which :math:`h_j` has passed; without such copies it is true
   since :math:`j` has ended.
6. (down): copies from the host that start after moment :math:`w` are read or kept, and so end
   before the step does. (due): if :math:`I_{2k,i} = 1`, nothing but copies brings :math:`i` into
   memory after moment :math:`2k`, so the first of them ends before every user in :math:`L_{2k}`
   starts; if there is none, before a repeated computation reads it, whose value is read or kept in
   turn. Without such copies the row is :math:`b_j \le D_{2k}`, in which all of :math:`L_{2k}` runs.
7. Both directions together carry no more than their total.

A single node says what must be computed again, or be sent and brought back, for its run; several
add up what is computed again between them. Without columns :math:`I, O` this is the model of cuts
of remat-graph, on a few of its cuts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.formulations.remat_offload_graph.due_times import due_times_ns
from jettison.formulations.remat_offload_graph.passed_moments import PassedMoments
from jettison.instances.remat_offload_graph.problem import RematOffloadGraph

# Amounts are divided by powers of two, which is exact, until the largest is about this.
_LARGEST_IN_MODEL_BITS = 12


@dataclass(frozen=True, slots=True)
class FirstStarts:
    """Model of what is where at some first starts; it is in the docstring of this module.

    Attributes
    ----------
    moments
        The moments, on the graph of the problem.
    most_thresholds
        The most rows (sent) of each window, and the most rows (due).
    """

    moments: PassedMoments
    most_thresholds: int = 24

    def build(self, problem: RematOffloadGraph) -> FirstStartsModel:
        """Build the model, in powers of two of bytes and nanoseconds.

        Notes
        -----
        Size :math:`O(k (n + |E|))`, and `most_thresholds` times k n for (sent).
        """
        return _Writer(problem, self.moments, self.most_thresholds).write()


@dataclass(frozen=True, slots=True)
class FirstStartsModel:
    """Model with the unit of its times: its objective times `time_unit_ns` is in nanoseconds."""

    model: ArrayModel
    time_unit_ns: int


def _unit(amounts: Sequence[int]) -> int:
    return 1 << max(0, max(amounts, default=0).bit_length() - _LARGEST_IN_MODEL_BITS)


@dataclass(eq=False)
class _Writer:
    problem: RematOffloadGraph
    moments: PassedMoments
    most_thresholds: int
    held: dict[tuple[int, int], int] = field(default_factory=dict)
    again: dict[tuple[int, int], int] = field(default_factory=dict)
    back: dict[tuple[int, int], int] = field(default_factory=dict)
    sent: dict[tuple[int, int], int] = field(default_factory=dict)

    def write(self) -> FirstStartsModel:
        problem, moments = self.problem, self.moments
        graph = self.graph = problem.instance
        self.model = ArrayModelBuilder("first_starts")
        self.byte_unit = _unit([problem.memory_bytes])
        self.time_unit_ns = _unit([graph.base_time_ns])
        self.last = moments.windows[-1]
        self.copy_ns = {
            i: problem.link.transfer_ns(graph.nodes[i].output_bytes)
            for i in problem.movable
            if problem.link is not None
        }
        self.add_columns()
        self.add_time_rows()
        for w in moments.moments:
            self.add_memory_rows(w)
        for w in moments.windows:
            self.add_needs_rows(w)
        if self.copy_ns:
            self.add_link_rows()
        return FirstStartsModel(self.model.build(), self.time_unit_ns)

    def ns(self, amount: int) -> float:
        return amount / self.time_unit_ns

    def add_columns(self) -> None:
        model, graph, moments = self.model, self.graph, self.moments
        self.window = [self.add_window(w) for w in moments.windows]
        for w in moments.moments:
            for i in sorted(moments.run_before[w]):
                name = f"{w}_{i}"
                if graph.nodes[i].has_value:
                    column = model.add_column(f"held_{name}", upper=1, integer=True)
                    self.held[w, i] = column
                if not moments.is_run(w) and i not in graph.computed_once:
                    self.again[w, i] = model.add_column(f"again_{name}", upper=1, integer=True)
                if i in self.copy_ns:
                    self.back[w, i] = model.add_column(f"back_{name}", upper=1)
        for w in moments.windows:
            for i in sorted(self.copy_ns.keys() - moments.still_to_run[w + 1]):
                self.sent[w, i] = model.add_column(f"sent_{w}_{i}", upper=1)

    def add_window(self, w: int) -> int:
        """Add the column of the time of a window, which is known where it is a run."""
        if not self.moments.is_run(w):
            return self.model.add_column(f"window_{w}", cost=1)
        run = self.ns(self.graph.nodes[self.moments.node(w)].duration_ns)
        return self.model.add_column(f"window_{w}", cost=1, lower=run, upper=run)

    def sources(self, w: int, i: int) -> list[int]:
        """Return the columns of which one is 1 where a value is read in a window."""
        key = (w, i)
        return [item[key] for item in (self.held, self.again, self.back) if key in item]

    def add_time_rows(self) -> None:
        graph, moments = self.graph, self.moments
        runs = {key: self.ns(graph.nodes[key[1]].duration_ns) for key in self.again}
        self.model.add_row(
            "total",
            [*self.window, *(self.again[key] for key in runs)],
            [*[1.0] * len(self.window), *(-time for time in runs.values())],
            lower=self.ns(graph.base_time_ns),
        )
        for w in moments.windows[::2]:
            of_window = {key: time for key, time in runs.items() if key[0] == w}
            first_ns = sum(graph.nodes[i].duration_ns for i in moments.first_runs(w))
            self.model.add_row(
                f"work_{w}",
                [self.window[w], *(self.again[key] for key in of_window)],
                [1.0, *(-time for time in of_window.values())],
                lower=self.ns(first_ns),
            )

    def add_memory_rows(self, w: int) -> None:
        graph = self.graph
        place = self.moments.node(w)
        node = graph.nodes[place]
        held = {i: column for (v, i), column in self.held.items() if v == w}
        columns = {i: column for i, column in held.items() if i != place}
        free_bytes = self.problem.memory_bytes - node.output_bytes - node.workspace_bytes
        self.model.add_row(
            f"memory_{w}",
            list(columns.values()),
            [graph.nodes[i].output_bytes / self.byte_unit for i in columns],
            upper=free_bytes / self.byte_unit,
        )
        for source in graph.inputs[place]:
            self.model.add_row(f"input_{w}_{source}", [held[source]], [1.0], lower=1)

    def add_needs_rows(self, w: int) -> None:
        model, graph, moments = self.model, self.graph, self.moments
        before = moments.run_before[w]
        read = {p for i in moments.first_runs(w) for p in graph.inputs[i] if p in before}
        if w == self.last:
            read |= {i for i in before if graph.nodes[i].keep}
        # An operator without a value does not run again for results that come right after it.
        for p in sorted(p for p in read if graph.nodes[p].has_value):
            columns = self.sources(w, p)
            model.add_row(f"read_{w}_{p}", columns, [1.0] * len(columns), lower=1)
        for i in sorted(i for i in before if (w, i) in self.again):
            for p in graph.inputs[i]:
                columns = self.sources(w, p)
                model.add_row(
                    f"needs_{w}_{p}_{i}",
                    [*columns, self.again[w, i]],
                    [*[1.0] * len(columns), -1.0],
                    lower=0,
                )
        if w == self.last:
            return
        for i in sorted(before):
            if (w + 1, i) in self.held:
                columns = self.sources(w, i)
                model.add_row(
                    f"stays_{w}_{i}",
                    [*columns, self.held[w + 1, i]],
                    [*[1.0] * len(columns), -1.0],
                    lower=0,
                )

    def add_link_rows(self) -> None:
        model, moments = self.model, self.moments
        for (w, i), column in self.back.items():
            copies = [self.sent[v, i] for v in range(w + 1) if (v, i) in self.sent]
            model.add_row(f"copy_{w}_{i}", [*copies, column], [*[1.0] * len(copies), -1.0], lower=0)
        for w in moments.windows:
            for a in range(w + 1):
                late = moments.still_to_run[a]
                self.carry(f"up_{a}_{w}", self.sent, range(a, w + 1), late.__contains__)
            self.carry(f"down_{w}", self.back, range(w, self.last + 1), lambda _: True)
            self.add_sent_rows(w)
        self.add_due_rows()
        self.add_both_row()

    def carry(
        self,
        name: str,
        columns: dict[tuple[int, int], int],
        windows: range,
        chosen: Callable[[int], bool],
        floor_ns: int = 0,
    ) -> None:
        """Add the row that what is chosen passes the link in some windows, after `floor_ns`."""
        found = {key: c for key, c in columns.items() if key[0] in windows and chosen(key[1])}
        if found:
            self.model.add_row(
                name,
                [*(self.window[v] for v in windows), *found.values()],
                [*[1.0] * len(windows), *(-self.ns(self.copy_ns[i]) for _, i in found)],
                lower=self.ns(floor_ns),
            )

    def spread(self, items: Sequence[int]) -> list[int]:
        """Return at most so many of some items, at equal distances."""
        count = min(len(items), self.most_thresholds)
        return [items[place * len(items) // count] for place in range(count)]

    def add_sent_rows(self, w: int) -> None:
        order = self.moments.order
        known = self.moments.run_before[w + 1]
        ready = {i for v, i in self.sent if v <= w and i in known}
        for j in self.spread(sorted(ready, key=lambda i: order.head_ns[i])):
            later = {j, *order.after(j)}
            self.carry(
                f"sent_{w}_{j}", self.sent, range(w + 1), later.__contains__, order.head_ns[j]
            )

    def add_due_rows(self) -> None:
        due_ns = due_times_ns(self.moments)
        times = sorted({due_ns[i] for v, i in self.back if v == self.last})
        for number, time_ns in enumerate(self.spread(times)):
            self.carry(
                f"due_{number}",
                self.back,
                range(self.last, self.last + 1),
                lambda i, time_ns=time_ns: due_ns[i] >= time_ns,  # type: ignore[misc]
                time_ns,
            )

    def add_both_row(self) -> None:
        link = self.problem.link
        if link is None or not link.is_shared:
            return
        both = {**{(0, *key): c for key, c in self.sent.items()}}
        both |= {(1, *key): c for key, c in self.back.items()}
        sizes = [self.graph.nodes[i].output_bytes for _, _, i in both]
        times = [size * 10**9 // link.total_bytes_per_s for size in sizes]
        self.model.add_row(
            "both",
            [*self.window, *both.values()],
            [*[1.0] * len(self.window), *(-self.ns(time) for time in times)],
            lower=0,
        )
