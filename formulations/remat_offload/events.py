r"""Event model of a chain with offloading: a lower bound over the whole step at once.

Source: the event bound that is used beside POFO (NeurIPS 2021), with the end of each operation as
a moment of its own. It relaxes every schedule, under the assumptions of `cut`: what is on
the device or on the host may be dropped at any time, which is why (device) and (host) bound from
above only.

Intervals and states are those of `intervals`: odd intervals are the :math:`2N` operations
that every schedule runs, even ones the gaps before them, in which forward operations run again or
nothing runs; state :math:`i` is the start of interval :math:`i`. Let :math:`x` run over the tensors
:math:`a^0, \dots, a^{N-1}` and :math:`\bar a^1, \dots, \bar a^N`, of :math:`w_x` bytes and
:math:`t_x` ns for a copy. A tensor of stage :math:`k` has columns from the end of the first
:math:`F^k` to the end of the last :math:`B` that reads it.

Columns
-------
=================================== =======================================================
:math:`G_{i,x}`, ``device_i_x``     part of :math:`x` on the device in state :math:`i`
:math:`C_{i,x}`, ``host_i_x``       part of :math:`x` with a copy on the host in state :math:`i`
:math:`O_{i,x}`, ``sent_i_x``       part that is copied to the host in interval :math:`i`
:math:`I_{i,x}`, ``back_i_x``       part on the host in state :math:`i` that is copied back
:math:`J_{i,x}`, ``trip_i_x``       part that is sent and copied back within the gap :math:`i`
:math:`H_{i,x}`, ``stay_i_x``       part that is on the device throughout the gap :math:`i`
:math:`R_{i,k}`, ``rerun_i_k``      :math:`F^k` runs in the gap :math:`i`, not for the first time
:math:`S_{i,k}`, ``saving_i_k``     it does so as :math:`F_{all}^k`
:math:`f_k`, ``first_k``            the first :math:`F^k` is an :math:`F_{all}`
:math:`D_i`, ``gap_i``              time of the gap :math:`i`
=================================== =======================================================

:math:`R, S` are binary; all but :math:`D \ge 0` are at most 1. The tensor in a name is ``a_k`` or
``s_k``. Rows (both) are for a link whose directions share a total, at which :math:`x` takes
:math:`s_x` ns. For `Whole` tensors :math:`f` is binary too, :math:`U_{i,x} \ge G_{i,x}`,
``used_i_x``, binary, takes the place of :math:`G` in (memory), and :math:`V_{i,x} \le C_{i,x}`,
``whole_i_x``, binary, bounds :math:`I_{i,x}`: the last three rows are for `Whole` tensors only.
:math:`G` itself is not binary, for a transfer may be on its way in any state.

Model
-----
.. math::
    \text{(objective)} \quad & \min \sum_i D_i + \sum_k (u_f^k + u_b^k) \\
    \text{(gap)} \quad & D_i \ge \sum_k u_f^k R_{i,k} \\
    \text{(kind)} \quad & S_{i,k} \le R_{i,k} \\
    \text{(device)} \quad & G_{i+1,x} \le G_{i,x} + I_{i,x} + N_{i,x} \\
    \text{(host)} \quad & C_{i+1,x} \le C_{i,x} + O_{i,x} \\
    \text{(source)} \quad & O_{i,x} \le G_{i,x} + N_{i,x} \\
    \text{(return)} \quad & I_{i,x} \le C_{i,x} \\
    \text{(up)} \quad & \sum_x t_x O_{i,x} \le D_i \\
    \text{(down)} \quad & \sum_x t_x (I_{i,x} + J_{i,x}) \le D_i \\
    \text{(both)} \quad & \sum_x s_x (O_{i,x} + I_{i,x} + J_{i,x}) \le D_i \\
    \text{(needs)} \quad & R_{i,k} \le R_{i,k-1} + \sum_{x \in \{a^{k-1}, \bar a^{k-1}\}}
        (G_{i,x} + I_{i,x}) \\
    \text{(reads)} \quad & \sum_{x \in \{a^{k-1}, \bar a^{k-1}\}} G_{i,x} \ge 1,\;
        G_{i,\bar a^k} \ge 1 \text{ for } B^k \\
    \text{(memory)} \quad & \sum_x w_x G_{i,x} + \text{output and overhead} \le M \\
    \text{(trip)} \quad & J_{i,x} \le O_{i,x} \\
    \text{(stay)} \quad & H_{i,x} \ge G_{i+1,x} - I_{i,x} - J_{i,x} - N_{i,x} \\
    \text{(within)} \quad & \delta_i + \sum_{x \notin \{k, k-1\}} w_x H_{i,x}
        + (a^k + a^{k-1} + o_f^k) R_{i,k} + (\bar a^k + \bar o_f^k - a^k - o_f^k)
        S_{i,k} \le M \\
    \text{(distinct)} \quad & G_{i,\bar a^k} + C_{i,\bar a^k} + \sum_{j \ge i} S_{j,k} \ge 1 \\
    \text{(origin)} \quad & R_{j,k} \le \sum_{i \le h \le j} R_{h,k-1}
        + \sum_{x \in \{a^{k-1}, \bar a^{k-1}\}} (G_{i,x} + C_{i,x}) \\
    \text{(input)} \quad & G_{i,a^0} + C_{i,a^0} \ge 1 \\
    \text{(occupied)} \quad & U_{i,x} \ge G_{i,x} \\
    \text{(complete)} \quad & V_{i,x} \le C_{i,x} \\
    \text{(arrived)} \quad & I_{i,x} \le V_{i,x}

:math:`N_{i,x}` is what the interval computes: :math:`S_{i,k}` for :math:`\bar a^k` and
:math:`R_{i,k}` for :math:`a^k` in a gap, 0 in an operation; at the end of the first :math:`F^k`,
(device) is :math:`G \le f_k` and :math:`G \le 1 - f_k` in the same order. In an operation
:math:`D_i` is its duration. (reads) and (memory) are for the states at the start and at the end of
each operation; the output and overhead of the first :math:`F^k` are :math:`f_k (\bar a^k +
\bar o_f^k) + (1 - f_k) (a^k + o_f^k)`, those of :math:`B^k` are
:math:`\delta^k + [\delta^{k-1}] + o_b^k`, with the
gradient that is in memory; :math:`\delta_i` is the size of the one that is there in the gap
:math:`i`. (distinct) and (origin) look back from an operation :math:`i` to what can only
come from there; without them a byte on the host would come back twice, in part each time.

Proof
-----
For a schedule, let :math:`G_{i,x}` be the part of its bytes that is on the device, and so on, all
for those copies that are used until :math:`B` has read them. A byte on the device in state
:math:`i + 1` was there in state :math:`i`, or was copied back, or computed in between; each row is
one such sentence. For (within): while :math:`F^k` runs in the gap, all that is on the device at its
end and neither comes back nor is computed in the gap is there. For (distinct): each byte of
:math:`\bar a^k` that :math:`B^k` reads exists in state :math:`i`, or a later :math:`F_{all}^k`
makes it. What an operation puts out leaves after it has ended, so (up) counts it in a later
interval. Copy times are rounded down to nanoseconds for `Divisible` tensors, up for `Whole` ones,
whose copies take whole nanoseconds. On a shared link the part that is copied is that of the bytes,
and the rate varies, so that both :math:`t_x` and :math:`s_x` are rounded down.
A tensor as a whole that has arrived in part occupies all of its memory, and comes back only if all
of it is on the host.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.formulations.remat_offload.cut import Divisible, Whole
from jettison.formulations.remat_offload.event_columns import EventAmounts, EventColumns
from jettison.formulations.remat_offload.intervals import Intervals, Part
from jettison.instances.remat_offload.problem import RematOffloadChain


@dataclass(frozen=True, slots=True)
class OffloadEvents:
    """Event model; it is in the docstring of this module.

    Attributes
    ----------
    tensors
        Whether tensors move in part (`Divisible`) or as a whole (`Whole`).
    lookback
        From how many operations back the rows (origin) start. There are about
        ``4 * lookback * N**2`` of them.
    """

    tensors: Divisible | Whole = field(default_factory=Divisible)
    lookback: int = 4

    def build(self, problem: RematOffloadChain) -> OffloadEventsModel:
        """Build the model; O(N^3) coefficients."""
        rows = _Rows(problem, self)
        rows.add()
        return OffloadEventsModel(rows.model.build(), rows.amounts.time_unit_ns)


@dataclass(frozen=True, slots=True)
class OffloadEventsModel:
    """Built event model.

    Attributes
    ----------
    model
        Its objective is the time without what every schedule takes, in `time_unit_ns`.
    time_unit_ns
        A power of two; what is too fine for a solver is rounded (`EventAmounts`).
    """

    model: ArrayModel
    time_unit_ns: int


class _Rows:
    """Writer of the rows, one method for each label, in the order of the docstring."""

    def __init__(self, problem: RematOffloadChain, options: OffloadEvents) -> None:
        self.chain = problem.instance
        self.memory_bytes = problem.memory_bytes
        self.lookback = options.lookback
        self.when = Intervals(len(self.chain))
        self.amounts = EventAmounts(problem, options.tensors)
        self.model = ArrayModelBuilder("offload_events")
        self.columns = EventColumns(self.model, self.when, options.tensors)
        # What occupies memory: a tensor as a whole does so as soon as any of it is there.
        self.occupying = self.columns.used or self.columns.device

    def add(self) -> None:
        for add_rows in (
            *(self.gap, self.kind, self.device, self.host, self.source, self.return_),
            *(self.up, self.down, self.both, self.needs, self.reads, self.memory),
            *(self.trip, self.stay, self.within),
            *(self.distinct, self.origin, self.input),
            *(self.occupied, self.complete, self.arrived),
        ):
            add_rows()

    def at_most(
        self, name: str, columns: Sequence[int], limits: Sequence[int], constant: float = 0
    ) -> None:
        """Add the row that the sum of some columns is at most the sum of others and a constant."""
        signs = [1] * len(columns) + [-1] * len(limits)
        self.model.add_row(name, [*columns, *limits], signs, upper=constant)

    def gap(self) -> None:
        for i in self.when.gaps:
            stages = self.when.reruns(i)
            self.model.add_row(
                f"gap_{i}",
                [self.columns.gap[i], *(self.columns.rerun[i, k] for k in stages)],
                [1, *(-self.amounts.in_time(self.chain.stage(k).forward_ns) for k in stages)],
                lower=0,
            )

    def kind(self) -> None:
        for (i, k), saving in self.columns.saving.items():
            self.at_most(f"kind_{i}_{k}", [saving], [self.columns.rerun[i, k]])

    def device(self) -> None:
        device = self.columns.device
        for (i, x), column in device.items():
            if i > self.when.states(x).start:
                sources = [device[i - 1, x], self.columns.back[i - 1, x]]
                sources += self.columns.made(i - 1, x)
                self.at_most(f"device_{i - 1}_{x}", [column], sources)
            elif x.kind == "s":
                self.at_most(f"device_{i - 1}_{x}", [column], [self.columns.first[x.stage]])
            elif x.stage:
                self.at_most(f"device_{i - 1}_{x}", [column, self.columns.first[x.stage]], [], 1)

    def host(self) -> None:
        host = self.columns.host
        for (i, x), column in host.items():
            if i > self.when.states(x).start:
                sources = [host[i - 1, x], self.columns.sent[i - 1, x]]
                self.at_most(f"host_{i - 1}_{x}", [column], sources)

    def source(self) -> None:
        for (i, x), sent in self.columns.sent.items():
            sources = [self.columns.device[i, x], *self.columns.made(i, x)]
            self.at_most(f"source_{i}_{x}", [sent], sources)

    def return_(self) -> None:
        for (i, x), back in self.columns.back.items():
            self.at_most(f"return_{i}_{x}", [back], [self.columns.host[i, x]])

    def up(self) -> None:
        self._link("up", self.amounts.copy_time, self.columns.sent)

    def down(self) -> None:
        self._link("down", self.amounts.copy_time, self.columns.back, self.columns.trip)

    def both(self) -> None:
        if self.amounts.is_shared:
            columns = self.columns
            self._link("both", self.amounts.shared_time, columns.sent, columns.back, columns.trip)

    def _link(
        self,
        name: str,
        time_of: Callable[[Part], float],
        *kinds: dict[tuple[int, Part], int],
    ) -> None:
        """Add the rows on the bytes that the link carries in each interval."""
        for i in range(4 * self.when.stages):
            copies = [
                (moved[i, x], x) for moved in kinds for x in self.when.held(i) if (i, x) in moved
            ]
            columns = [column for column, _ in copies]
            times = [time_of(x) for _, x in copies]
            if i in self.when.gaps:
                row = [*columns, self.columns.gap[i]]
                self.model.add_row(f"{name}_{i}", row, [*times, -1], upper=0)
                continue
            single = self.when.single(i)
            stage = self.chain.stage(single.stage)
            duration_ns = stage.forward_ns if single.is_forward else stage.backward_ns
            duration = self.amounts.time_limit(duration_ns)
            self.model.add_row(f"{name}_{i}", columns, times, upper=duration)

    def needs(self) -> None:
        for (i, k), rerun in self.columns.rerun.items():
            sources = [self.columns.device[i, x] for x in self.when.inputs(k)]
            sources += [self.columns.back[i, x] for x in self.when.inputs(k)]
            sources += [self.columns.rerun[i, k - 1]] if k > 1 else []
            self.at_most(f"needs_{i}_{k}", [rerun], sources)

    def reads(self) -> None:
        device = self.columns.device
        for i in self.when.operations:
            single = self.when.single(i)
            for state in (i, i + 1):
                inputs = [device[state, x] for x in self.when.inputs(single.stage)]
                self.model.add_row(f"reads_{state}", inputs, [1] * len(inputs), lower=1)
                if not single.is_forward:
                    saved = device[state, Part("s", single.stage)]
                    self.model.add_row(f"reads_{state}_saved", [saved], [1], lower=1)

    def memory(self) -> None:
        for i in self.when.operations:
            single = self.when.single(i)
            stage = self.chain.stage(single.stage)
            for state in (i, i + 1):
                held = self.when.held(state)
                if single.is_forward:
                    # The output counts as part of the operation, at its end as well.
                    held = [x for x in held if x.stage < single.stage]
                    working_bytes = stage.passing_bytes
                else:
                    working_bytes = stage.gradient_bytes + stage.backward_overhead_bytes
                    working_bytes += self.chain.backward_output_bytes(single.stage)
                columns = [self.occupying[state, x] for x in held]
                sizes = [self.amounts.size(x) for x in held]
                if single.is_forward:
                    columns.append(self.columns.first[single.stage])
                    more_bytes = stage.saving_bytes - stage.passing_bytes
                    sizes.append(self.amounts.in_bytes(more_bytes))
                available = self.amounts.byte_limit(self.memory_bytes - working_bytes)
                self.model.add_row(f"memory_{state}", columns, sizes, upper=available)

    def trip(self) -> None:
        for (i, x), trip in self.columns.trip.items():
            self.at_most(f"trip_{i}_{x}", [trip], [self.columns.sent[i, x]])

    def stay(self) -> None:
        for (i, x), stay in self.columns.stay.items():
            sources = [stay, self.columns.back[i, x], self.columns.trip[i, x]]
            sources += self.columns.made(i, x)
            self.at_most(f"stay_{i}_{x}", [self.columns.device[i + 1, x]], sources)

    def within(self) -> None:
        in_bytes = self.amounts.in_bytes
        for (i, k), rerun in self.columns.rerun.items():
            stage, operation = self.chain.stage(k), self.when.single(i + 1)
            below_bytes = self.chain.activation_bytes(k - 1)
            working_bytes = below_bytes + stage.passing_bytes
            others = [x for x in self.when.moving(i) if x.stage not in {k, k - 1}]
            gradient_bytes = (
                0 if operation.is_forward else self.chain.gradient_bytes(operation.stage)
            )
            self.model.add_row(
                f"within_{i}_{k}",
                [*(self.columns.stay[i, x] for x in others), rerun, self.columns.saving[i, k]],
                [
                    *(self.amounts.size(x) for x in others),
                    in_bytes(working_bytes),
                    in_bytes(stage.saving_bytes - stage.passing_bytes),
                ],
                upper=self.amounts.byte_limit(self.memory_bytes - gradient_bytes),
            )

    def distinct(self) -> None:
        for i in self.when.operations:
            for k in range(1, self.when.stages + 1):
                last, saved = self.when.backward(k), Part("s", k)
                if i in self.when.states(saved) and i <= last:
                    columns = [self.columns.device[i, saved], self.columns.host[i, saved]]
                    later = self.when.later_gaps(i + 1, last, k)
                    columns += [self.columns.saving[j, k] for j in later]
                    self.model.add_row(f"distinct_{i}_{k}", columns, [1] * len(columns), lower=1)

    def origin(self) -> None:
        last = 4 * self.when.stages
        for i in self.when.operations:
            for j in range(i + 1, min(i + 1 + 2 * self.lookback, last), 2):
                for k in self.when.reruns(j):
                    # What the operation i itself makes is not there when it starts.
                    if k < 2 or 2 * (k - 1) > i:
                        continue
                    there = [x for x in self.when.inputs(k) if i in self.when.states(x)]
                    sources = [self.columns.device[i, x] for x in there]
                    sources += [self.columns.host[i, x] for x in there]
                    made = self.when.later_gaps(i + 1, j + 1, k - 1)
                    sources += [self.columns.rerun[h, k - 1] for h in made]
                    self.at_most(f"origin_{i}_{j}_{k}", [self.columns.rerun[j, k]], sources)

    def input(self) -> None:
        for i in self.when.operations:
            if (i, Part("a", 0)) in self.columns.device:
                columns = [self.columns.device[i, Part("a", 0)], self.columns.host[i, Part("a", 0)]]
                self.model.add_row(f"input_{i}", columns, [1, 1], lower=1)

    def occupied(self) -> None:
        for (i, x), used in self.columns.used.items():
            self.at_most(f"occupied_{i}_{x}", [self.columns.device[i, x]], [used])

    def complete(self) -> None:
        for (i, x), whole in self.columns.whole.items():
            self.at_most(f"complete_{i}_{x}", [whole], [self.columns.host[i, x]])

    def arrived(self) -> None:
        for (i, x), whole in self.columns.whole.items():
            self.at_most(f"arrived_{i}_{x}", [self.columns.back[i, x]], [whole])
