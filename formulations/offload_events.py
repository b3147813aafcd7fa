r"""A chain that may offload, from the first start of each operation to the next: one model for all.

Source: the event bound that is used beside POFO (NeurIPS 2021), with the end of each operation as
a moment of its own. It relaxes every schedule, under the assumptions of `offload_cut`.

The :math:`2N` operations that every schedule runs in this order are the first :math:`F^1, \dots,
F^N` and :math:`B^N, \dots, B^1`. Interval :math:`2e + 1` is the :math:`e`-th of them, counted from
0, and interval :math:`2e` is the gap before it, in which forward operations run again or nothing
runs. State :math:`i` is the start of interval :math:`i`. Let :math:`x` run over the tensors
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
``s_k``. For `Whole` tensors :math:`f` is binary too, :math:`U_{i,x} \ge G_{i,x}`, ``used_i_x``,
binary, takes the place of :math:`G` in (memory), and :math:`V_{i,x} \le C_{i,x}`, ``whole_i_x``,
binary, bounds :math:`I_{i,x}` (arrived).

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
    \text{(needs)} \quad & R_{i,k} \le R_{i,k-1} + \sum_{x \in \{a^{k-1}, \bar a^{k-1}\}}
        (G_{i,x} + I_{i,x}) \\
    \text{(reads)} \quad & \sum_{x \in \{a^{k-1}, \bar a^{k-1}\}} G_{i,x} \ge 1,\;
        G_{i,\bar a^k} \ge 1 \text{ for } B^k \\
    \text{(memory)} \quad & \sum_x w_x G_{i,x} + \text{output and overhead} \le M \\
    \text{(trip)} \quad & J_{i,x} \le O_{i,x} \\
    \text{(stay)} \quad & H_{i,x} \ge G_{i+1,x} - I_{i,x} - J_{i,x} - N_{i,x} \\
    \text{(within)} \quad & \delta_i + \sum_{x \notin \{k, k-1\}} w_x H_{i,x}
        + (a^k + a^{k-1} + o_f^k) R_{i,k} + (\bar a^k - a^k) S_{i,k} \le M \\
    \text{(distinct)} \quad & G_{i,\bar a^k} + C_{i,\bar a^k} + \sum_{j \ge i} S_{j,k} \ge 1 \\
    \text{(origin)} \quad & R_{j,k} \le \sum_{i \le h \le j} R_{h,k-1}
        + \sum_{x \in \{a^{k-1}, \bar a^{k-1}\}} (G_{i,x} + C_{i,x}) \\
    \text{(input)} \quad & G_{i,a^0} + C_{i,a^0} \ge 1

:math:`N_{i,x}` is what the interval computes: :math:`S_{i,k}` for :math:`\bar a^k` and
:math:`R_{i,k}` for :math:`a^k` in a gap, 0 in an operation; at the end of the first :math:`F^k`,
(device) is :math:`G \le f_k` and :math:`G \le 1 - f_k` in the same order. In an operation
:math:`D_i` is its duration. (reads) and (memory) are for the states at the start and at the end of
each operation; the output and overhead of the first :math:`F^k` are :math:`f_k \bar a^k +
(1 - f_k) a^k + o_f^k`, those of :math:`B^k` are :math:`a^k + [a^{k-1}] + o_b^k`, with the gradient
that is in memory. (distinct) and (origin) look back from an operation :math:`i` to what can only
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
interval. Copy times are rounded down to nanoseconds for `Divisible` tensors, up for `Whole` ones.
A tensor as a whole that has arrived in part occupies all of its memory, and comes back only if all
of it is on the host.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from jettison.formulations.array_model import ArrayModel
from jettison.formulations.array_model_builder import ArrayModelBuilder
from jettison.formulations.offload_cut import Divisible, Whole
from jettison.instances.remat_offload_chain import RematOffloadChain

Tensor = tuple[str, int]  # "a" or "s", and the stage

# In the model the largest amount of either unit is at most this: solvers' tolerances are absolute.
_LARGEST_IN_MODEL = 2**10


@dataclass(frozen=True, slots=True)
class OffloadEvents:
    """The model of this module.

    Attributes
    ----------
    tensors
        How tensors move.
    lookback
        From how many operations back the rows (origin) start. There are about
        ``4 * lookback * N**2`` of them.
    """

    tensors: Divisible | Whole = field(default_factory=Divisible)
    lookback: int = 4

    def build(self, problem: RematOffloadChain) -> OffloadEventsModel:
        """Build the model; O(N^3) coefficients."""
        return _Builder(problem, self).build()


@dataclass(frozen=True, slots=True)
class OffloadEventsModel:
    """A built model.

    Attributes
    ----------
    model
        Its objective is the time without what every schedule takes, in `time_unit_ns`.
    time_unit_ns
        A power of two, so that all coefficients of the model are exact.
    """

    model: ArrayModel
    time_unit_ns: int


def _unit_of(largest: int) -> int:
    """Return the least power of two that divides an amount down to what a model may hold."""
    return 1 << max(0, -(-largest // _LARGEST_IN_MODEL) - 1).bit_length()


class _Builder:
    def __init__(self, problem: RematOffloadChain, options: OffloadEvents) -> None:
        chain = problem.instance
        self.problem, self.options, self.chain = problem, options, chain
        self.count = len(chain)
        self.whole = isinstance(options.tensors, Whole)
        self.model = ArrayModelBuilder("offload_events")
        self.bytes_unit = _unit_of(problem.memory_bytes)
        self.time_unit = _unit_of(chain.base_time_ns)
        self.tensors: list[Tensor] = [("a", k) for k in range(self.count)]
        self.tensors += [("s", k) for k in range(1, self.count + 1)]
        self.device: dict[tuple[int, Tensor], int] = {}
        self.host: dict[tuple[int, Tensor], int] = {}
        self.used: dict[tuple[int, Tensor], int] = {}
        self.rerun: dict[tuple[int, int], int] = {}
        self.saving: dict[tuple[int, int], int] = {}
        self.first: dict[int, int] = {}

    def build(self) -> OffloadEventsModel:
        self._states()
        for interval in range(4 * self.count):
            self._interval(interval)
        for interval in range(1, 4 * self.count, 2):
            self._operation(interval)
        self._distinct()
        return OffloadEventsModel(self.model.build(), self.time_unit)

    # What is when.

    def backward_interval(self, number: int) -> int:
        """Return the interval of the backward of a stage."""
        return 2 * (2 * self.count - number) + 1

    def stage_of(self, interval: int) -> tuple[bool, int]:
        """Return whether the operation of an interval is a first forward, and its stage."""
        place = interval // 2
        return (True, place + 1) if place < self.count else (False, 2 * self.count - place)

    def states_of(self, tensor: Tensor) -> range:
        kind, number = tensor
        reader = number + 1 if kind == "a" else number
        return range(2 * number, self.backward_interval(reader) + 2)

    def reruns_in(self, interval: int) -> range:
        """Return the stages that can run again in a gap."""
        forward, number = self.stage_of(interval + 1)
        return range(1, number if forward else number + 1)

    def alternatives(self, number: int) -> list[Tensor]:
        """Return the tensors in which an operation finds the activation of a stage."""
        return [("a", number), *([("s", number)] if number else [])]

    # Sizes and times in the units of the model. Both units are powers of two: nothing is rounded.

    def weight(self, tensor: Tensor) -> float:
        return self.in_bytes(self.size_bytes(tensor))

    def in_bytes(self, size_bytes: int) -> float:
        return size_bytes / self.bytes_unit

    def in_time(self, duration_ns: int) -> float:
        return duration_ns / self.time_unit

    def size_bytes(self, tensor: Tensor) -> int:
        kind, number = tensor
        return (
            self.chain.activation_bytes(number)
            if kind == "a"
            else self.chain.stage(number).saved_bytes
        )

    def copy_time(self, tensor: Tensor) -> float:
        size_bytes, link = self.size_bytes(tensor), self.problem.link
        match self.options.tensors:
            case Divisible():
                return self.in_time(int(size_bytes / link.bytes_per_ns))
            case Whole():
                return self.in_time(link.transfer_ns(size_bytes))

    # Columns and rows.

    def _states(self) -> None:
        for tensor in self.tensors:
            label = f"{tensor[0]}_{tensor[1]}"
            for state in self.states_of(tensor):
                key = (state, tensor)
                self.device[key] = self.model.add_column(f"device_{state}_{label}", upper=1)
                # The step begins with nothing on the host.
                most = 0 if state == 0 else 1
                self.host[key] = self.model.add_column(f"host_{state}_{label}", upper=most)
                if self.whole:
                    self.used[key] = self.model.add_column(
                        f"used_{state}_{label}", upper=1, integer=True
                    )
                    self.model.add_row(
                        f"occupied_{state}_{label}",
                        [self.used[key], self.device[key]],
                        [1, -1],
                        lower=0,
                    )
        for number in range(1, self.count + 1):
            self.first[number] = self.model.add_column(
                f"first_{number}", upper=1, integer=self.whole
            )

    def _interval(self, i: int) -> None:
        """Add what moves and what runs in an interval."""
        model, in_gap = self.model, i % 2 == 0
        gap = time = 0
        duration = 0.0
        stages = self.reruns_in(i) if in_gap else range(0)
        if in_gap:
            gap = model.add_column(f"gap_{i}", cost=1)
            time = gap
            for k in stages:
                self.rerun[i, k] = model.add_column(f"rerun_{i}_{k}", upper=1, integer=True)
                self.saving[i, k] = model.add_column(f"saving_{i}_{k}", upper=1, integer=True)
                model.add_row(
                    f"kind_{i}_{k}", [self.rerun[i, k], self.saving[i, k]], [1, -1], lower=0
                )
            model.add_row(
                f"gap_{i}",
                [gap, *(self.rerun[i, k] for k in stages)],
                [1, *(-self.in_time(self.chain.stage(k).forward_ns) for k in stages)],
                lower=0,
            )
        else:
            forward, number = self.stage_of(i)
            stage = self.chain.stage(number)
            duration = self.in_time(stage.forward_ns if forward else stage.backward_ns)
        up: list[tuple[int, float]] = []
        down: list[tuple[int, float]] = []
        back: dict[Tensor, int] = {}
        stay: dict[Tensor, int] = {}
        for tensor in self.tensors:
            if (i, tensor) not in self.device:
                continue
            label = f"{i}_{tensor[0]}_{tensor[1]}"
            device, host = self.device[i, tensor], self.host[i, tensor]
            made = [self.saving, self.rerun][tensor[0] == "a"].get((i, tensor[1]))
            new = [] if made is None else [made]
            sent = model.add_column(f"sent_{label}", upper=1)
            back[tensor] = model.add_column(f"back_{label}", upper=1)
            up.append((sent, self.copy_time(tensor)))
            down.append((back[tensor], self.copy_time(tensor)))
            minus = [-1.0] * len(new)
            model.add_row(f"source_{label}", [sent, device, *new], [1, -1, *minus], upper=0)
            model.add_row(f"return_{label}", [back[tensor], host], [1, -1], upper=0)
            if self.whole:
                whole = model.add_column(f"whole_{label}", upper=1, integer=True)
                model.add_row(f"complete_{label}", [whole, host], [1, -1], upper=0)
                model.add_row(f"arrived_{label}", [back[tensor], whole], [1, -1], upper=0)
            if (i + 1, tensor) not in self.device:
                continue
            later, later_host = self.device[i + 1, tensor], self.host[i + 1, tensor]
            model.add_row(
                f"device_{label}",
                [later, device, back[tensor], *new],
                [1, -1, -1, *minus],
                upper=0,
            )
            model.add_row(f"host_{label}", [later_host, host, sent], [1, -1, -1], upper=0)
            if in_gap:
                trip = model.add_column(f"trip_{label}", upper=1)
                stay[tensor] = model.add_column(f"stay_{label}", upper=1)
                down.append((trip, self.copy_time(tensor)))
                model.add_row(f"trip_{label}", [trip, sent], [1, -1], upper=0)
                model.add_row(
                    f"stay_{label}",
                    [stay[tensor], later, back[tensor], trip, *new],
                    [1, -1, 1, 1, *(1.0 for _ in new)],
                    lower=0,
                )
        for name, copies in (("up", up), ("down", down)):
            columns = [column for column, _ in copies]
            times = [ns for _, ns in copies]
            if in_gap:
                model.add_row(f"{name}_{i}", [time, *columns], [-1, *times], upper=0)
            else:
                model.add_row(f"{name}_{i}", columns, times, upper=duration)
        for k in stages:
            self._rerun_rows(i, k, back, stay)

    def _rerun_rows(self, i: int, k: int, back: dict[Tensor, int], stay: dict[Tensor, int]) -> None:
        """Add what a forward needs that runs again in a gap."""
        chain, stage = self.chain, self.chain.stage(k)
        below = [tensor for tensor in self.alternatives(k - 1) if (i, tensor) in self.device]
        sources = [self.device[i, tensor] for tensor in below] + [back[tensor] for tensor in below]
        if (i, k - 1) in self.rerun:
            sources.append(self.rerun[i, k - 1])
        self.model.add_row(
            f"needs_{i}_{k}", [self.rerun[i, k], *sources], [1, *(-1 for _ in sources)], upper=0
        )
        forward, number = self.stage_of(i + 1)
        gradient_bytes = 0 if forward else chain.activation_bytes(number)
        working = stage.output_bytes + chain.activation_bytes(k - 1) + stage.forward_overhead_bytes
        others = [tensor for tensor in stay if tensor[1] not in {k, k - 1}]
        self.model.add_row(
            f"within_{i}_{k}",
            [*(stay[tensor] for tensor in others), self.rerun[i, k], self.saving[i, k]],
            [
                *(self.weight(tensor) for tensor in others),
                self.in_bytes(working),
                self.in_bytes(stage.saved_bytes - stage.output_bytes),
            ],
            upper=self.in_bytes(self.problem.memory_bytes - gradient_bytes),
        )

    def _operation(self, i: int) -> None:
        """Add what an operation reads and the memory at its start and at its end."""
        forward, number = self.stage_of(i)
        chain, stage = self.chain, self.chain.stage(number)
        for state in (i, i + 1):
            held = [tensor for tensor in self.tensors if (state, tensor) in self.device]
            # What the first F puts out is part of the operation at its end as well.
            new = {("a", number), ("s", number)} if forward else set()
            self._read(state, self.alternatives(number - 1))
            if not forward:
                saved = self.device[state, ("s", number)]
                self.model.add_row(f"reads_{state}_saved", [saved], [1], lower=1)
            occupied = self.used if self.whole else self.device
            columns = [occupied[state, tensor] for tensor in held if tensor not in new]
            weights = [self.weight(tensor) for tensor in held if tensor not in new]
            if forward:
                columns.append(self.first[number])
                weights.append(self.in_bytes(stage.saved_bytes - stage.output_bytes))
                working = stage.output_bytes + stage.forward_overhead_bytes
            else:
                working = (
                    stage.output_bytes
                    + chain.backward_output_bytes(number)
                    + stage.backward_overhead_bytes
                )
            self.model.add_row(
                f"memory_{state}",
                columns,
                weights,
                upper=self.in_bytes(self.problem.memory_bytes - working),
            )
        if forward:
            first = self.first[number]
            saved = self.device[i + 1, ("s", number)]
            self.model.add_row(f"device_{i}_s_{number}", [saved, first], [1, -1], upper=0)
            if ("a", number) in self.tensors:
                plain = self.device[i + 1, ("a", number)]
                self.model.add_row(f"device_{i}_a_{number}", [plain, first], [1, 1], upper=1)
            for tensor in new & set(self.tensors):
                label = f"{i}_{tensor[0]}_{tensor[1]}"
                host = self.host[i + 1, tensor]
                self.model.add_row(f"host_{label}", [host], [1], upper=0)

    def _read(self, state: int, inputs: list[Tensor]) -> None:
        """Add that one of several tensors is on the device."""
        columns = [self.device[state, tensor] for tensor in inputs]
        self.model.add_row(f"reads_{state}", columns, [1] * len(columns), lower=1)

    def _distinct(self) -> None:
        for i in range(1, 4 * self.count, 2):
            for k in range(1, self.count + 1):
                saved = (i, ("s", k))
                if saved in self.device and i <= self.backward_interval(k):
                    later = [
                        self.saving[j, k]
                        for j in range(i + 1, self.backward_interval(k), 2)
                        if (j, k) in self.saving
                    ]
                    columns = [self.device[saved], self.host[saved], *later]
                    self.model.add_row(f"distinct_{i}_{k}", columns, [1] * len(columns), lower=1)
            self._origins(i)
            if (i, ("a", 0)) in self.device:
                columns = [self.device[i, ("a", 0)], self.host[i, ("a", 0)]]
                self.model.add_row(f"input_{i}", columns, [1, 1], lower=1)

    def _origins(self, i: int) -> None:
        last = min(i + 1 + 2 * self.options.lookback, 4 * self.count)
        for j in range(i + 1, last, 2):
            for k in self.reruns_in(j):
                # What the operation i itself makes is not there when it starts.
                if 2 * (k - 1) > i or k < 2:
                    continue
                below = [t for t in self.alternatives(k - 1) if (i, t) in self.device]
                sources = [self.device[i, t] for t in below] + [self.host[i, t] for t in below]
                sources += [
                    self.rerun[h, k - 1] for h in range(i + 1, j + 1, 2) if (h, k - 1) in self.rerun
                ]
                self.model.add_row(
                    f"origin_{i}_{j}_{k}",
                    [self.rerun[j, k], *sources],
                    [1, *(-1 for _ in sources)],
                    upper=0,
                )
