r"""Cut of a chain with offloading: a lower bound on reruns, copies and idle time.

Source: the cut bound that is used beside POFO (NeurIPS 2021), here at six moments of each stage
(`moments`), with the time windows of the copies, and carried on from cut to cut as in
`remat_chain.cut`. It holds for every schedule: recomputation, offloading and bringing back at any
time, tensors in parts (`Divisible`) or as a whole (`Whole`), both directions of the link at the
same time. It knows nothing of persistence, of stages or of phases.

Assumed are the operations of Table 1 of POFO, one at a time; each :math:`B` once; gradients stay on
the device; each direction of the link carries :math:`\beta` at most; what an operation puts out can
leave when the operation has ended; what it reads has arrived when it starts; :math:`a^0` is on the
device when the step begins, and nothing computes it. Nothing is assumed of how memory is freed:
whatever is on the device or on the host may be dropped at any time, at no cost, whether there is
another copy of it or not. Only a part of :math:`\bar a^k` does not become a plain :math:`a^k`.

Notation as in `remat_chain.cut`. :math:`A, P, Q` of the moment are those of `moments`;
:math:`f_k` and :math:`b_k` are the times of :math:`F^1, \dots, F^k` and :math:`B^1, \dots, B^k`;
:math:`\bar t^k` and :math:`t^k` those of one copy of :math:`\bar a^k` and :math:`a^k` in one
direction. A rerun bound :math:`W_k` is no more than the time after :math:`\sigma_k`, the start of
the last :math:`F_{all}^k`, in which :math:`F^1, \dots, F^{k-1}` or nothing runs.

Columns, for :math:`1 \le k < \ell`, or :math:`0 \le k < \ell` where marked
---------------------------------------------------------------------------
================================== ========================================================
:math:`p_k`, ``rerun_k``           :math:`\sigma_k` is after the cut
:math:`g_k`, ``saved_k`` (from 0)  part of :math:`\bar a^k` on the device; :math:`\bar a^0 = a^0`
:math:`c_k`, ``away_k`` (from 0)   part of :math:`\bar a^k` that is on the host only, and comes back
:math:`h_k`, ``plain_k``           part of a plain :math:`a^k` on the device
:math:`d_k`, ``left_k``            part of a plain :math:`a^k` on the host only, that comes back
:math:`z_k`, ``top_k``             :math:`k` is the largest stage with :math:`p_k = 1`
:math:`r_k`, ``path_k``            :math:`F^k` runs between the cut and :math:`F_{all}^j` at
                                   :math:`\sigma_j`, where :math:`z_j = 1`; at :math:`j` included
:math:`E`, ``delay``               time after the cut in which :math:`F^1, \dots, F^{\ell-1}` or
                                   nothing runs
:math:`D`, ``total``               time of the schedule
================================== ========================================================

:math:`p, z, r` are binary, :math:`E, D \ge 0`; :math:`g, c, h, d` are in :math:`[0, 1]`, and binary
for `Whole` tensors. Let :math:`T_k = \sum_{k \le i < \ell} (\bar t^i c_i + t^i d_i)`.

Model
-----
.. math::
    \text{(objective)} \quad & \min D \\
    \text{(total)} \quad & D \ge \sum_k (u_f^k + u_b^k) + E \\
    \text{(kept)} \quad & p_k + g_k + c_k \ge 1 && \forall k \ge 0,\; p_0 = 0 \\
    \text{(memory)} \quad & \sum_k \bar a^k g_k + \sum_k a^k h_k \le A \\
    \text{(input)} \quad & \bar a^{\ell-1} g_{\ell-1} + a^{\ell-1} h_{\ell-1} \ge a^{\ell-1} \\
    \text{(sent)} \quad & f_k + T_k + E + Q \le D && \forall k \ge 0 \\
    \text{(back)} \quad & P + T_k + b_k \le D && \forall k \ge 0 \\
    \text{(fetched)} \quad & T_k + b_k \le Q + E && \forall k \ge 0 \\
    \text{(top)} \quad & z_k \ge p_k - \sum_{k < i < \ell} p_i && \forall k \\
    \text{(start)} \quad & r_k \ge z_k && \forall k \\
    \text{(path)} \quad & r_k \ge r_{k+1} - g_k - c_k - h_k - d_k && \forall k < \ell - 1 \\
    \text{(once)} \quad & E \ge \sum_k u_f^k p_k \\
    \text{(again)} \quad & E \ge \sum_k u_f^k r_k + \sum_k W_k z_k

(fetched) is there for the moments of :math:`B^\ell` only. Row names are the labels, followed by
``_k``. Without :math:`r, z` and the windows, with :math:`k = 0` alone in (sent) and (fetched), at
the start of :math:`B^\ell`, this is the bound as it is stated beside POFO, where
:math:`D = base + X + E`.

Proof
-----
Take a schedule of time :math:`D`, and leave out all forward operations whose results reach no
:math:`B`: nothing runs then instead, and :math:`F^k` does not run after :math:`B^k`.

1. If :math:`\sigma_k` is before the cut, every byte of the :math:`\bar a^k` that :math:`B^k` reads
   exists at the cut: on the device, or on the host only. In the latter case it was copied there
   before the cut and is copied back after it. The input has no other source: (kept), (memory). A
   tensor as a whole is on the device from the start of a copy back, and until the end of a copy to
   the host: it is on the device, or its copies lie before and after the cut in full.
2. The operation at the cut reads stage :math:`\ell - 1`, of which at least the bytes of
   :math:`a^{\ell-1}` are on the device, be they part of :math:`\bar a^{\ell-1}` or not: (input).
3. What is copied to the host of stages from :math:`k` on has left after the first :math:`F^k`,
   hence after :math:`f_k`, and before the cut, which :math:`Q + E` follow: (sent).
4. It is back before :math:`B^k` starts, with :math:`b_k` still to come, and comes after the cut,
   hence after :math:`P`: (back). After a moment of :math:`B^\ell`, nothing runs but :math:`B^k,
   k < \ell` (or :math:`\ell`), and :math:`F^k, k < \ell`: the time from the cut to :math:`B^k` is
   :math:`Q + E - b_k`: (fetched). A plain :math:`a^k` is used by a rerun :math:`F^{k+1}`, which is
   needed before :math:`B^k`.
5. Each :math:`p_k = 1` is a run of :math:`F^k` after the cut: (once).
6. Let :math:`j` be the largest stage with :math:`p_j = 1`. At :math:`\sigma_j`, after the cut,
   :math:`F^j` reads stage :math:`j - 1`; if not all of that was on the device or the host at the
   cut, :math:`F^{j-1}` has run in between, and so on, as in the proof of `remat_chain.cut`. None of
   these runs is later than the start of :math:`F^j` at :math:`\sigma_j`, so :math:`W_j` counts
   neither them nor a time twice: (again).
7. :math:`E` is time beside what every schedule runs once: before the cut :math:`F^1, \dots,
   F^{\ell-1}` have each run once. Hence (total).

At the moments of the last :math:`F_{all}` and of :math:`B`, the optimal :math:`E` is a rerun bound
:math:`W_\ell`, since these moments are not before :math:`\sigma_\ell`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.formulations.remat_offload.moments import Moment, Places
from jettison.instances.core.errors import InputError
from jettison.instances.remat_offload.problem import RematOffloadChain


@dataclass(frozen=True, slots=True)
class Divisible:
    """Tensors that may be moved in part; copy times are rounded down to nanoseconds."""


@dataclass(frozen=True, slots=True)
class Whole:
    """Tensors that are moved as a whole; copy times are rounded up, as the link does it."""


@dataclass(frozen=True, slots=True)
class OffloadCut:
    r"""Cut at one moment of one stage; the model is in the docstring of this module.

    Attributes
    ----------
    number
        The stage :math:`\ell`, counted from 1.
    moment
        Which of the six moments of the stage.
    tensors
        Whether tensors move in part (`Divisible`) or as a whole (`Whole`).
    rerun_ns
        :math:`W_1, \dots, W_{\ell-1}`, rerun bounds of the stages below; empty for zeros.

    Raises
    ------
    InputError
        If the number is below 1, or `rerun_ns` has another length.
    """

    number: int
    moment: Moment = Moment.BACKWARD_START
    tensors: Divisible | Whole = Divisible()
    rerun_ns: Sequence[int] = ()

    def __post_init__(self) -> None:
        if self.number < 1:
            raise InputError(f"{self.number}", field="number", expected="count stages from 1")
        if self.rerun_ns and len(self.rerun_ns) != self.number - 1:
            raise InputError(
                f"{len(self.rerun_ns)} bounds for the cut at stage {self.number}",
                field="rerun_ns",
                expected=f"give one for each of the {self.number - 1} stages below, or none",
            )

    def build(self, problem: RematOffloadChain) -> ArrayModel:
        """Build the model, in bytes and nanoseconds.

        Raises
        ------
        IndexError
            If the chain has no stage of this number.
        """
        chain = problem.instance
        places = Places(chain, problem.memory_bytes)
        place = places.at(self.number, self.moment)
        held, below = range(self.number), range(1, self.number)
        last = self.number - 1
        forward_ns = {k: chain.stage(k).forward_ns for k in below}
        plain_bytes = {k: chain.activation_bytes(k) for k in held}
        saved_bytes = {k: chain.stage(k).saved_bytes if k else chain.input_bytes for k in held}
        model = ArrayModelBuilder(f"offload_cut_{self.number}")
        whole = isinstance(self.tensors, Whole)

        def binaries(name: str) -> dict[int, int]:
            return {k: model.add_column(f"{name}_{k}", upper=1, integer=True) for k in below}

        def parts(name: str, stages: range) -> dict[int, int]:
            return {k: model.add_column(f"{name}_{k}", upper=1, integer=whole) for k in stages}

        rerun = binaries("rerun")
        saved, away = parts("saved", held), parts("away", held)
        plain, left = parts("plain", below), parts("left", below)
        top, path = binaries("top"), binaries("path")
        delay = model.add_column("delay")
        total = model.add_column("total", cost=1)

        model.add_row("total", [total, delay], [1, -1], lower=chain.base_time_ns)
        for k in held:
            columns = [saved[k], away[k], *([rerun[k]] if k else [])]
            model.add_row(f"kept_{k}", columns, [1] * len(columns), lower=1)
        model.add_row(
            "memory",
            [*saved.values(), *plain.values()],
            [*saved_bytes.values(), *(plain_bytes[k] for k in below)],
            upper=place.available_bytes,
        )
        model.add_row(
            "input",
            [saved[last], *([plain[last]] if last else [])],
            [saved_bytes[last], *([plain_bytes[last]] if last else [])],
            lower=plain_bytes[last],
        )
        copies = [
            *((k, away[k], self._copy_ns(problem, saved_bytes[k])) for k in held),
            *((k, left[k], self._copy_ns(problem, plain_bytes[k])) for k in below),
        ]
        late = {k: [(column, ns) for i, column, ns in copies if i >= k] for k in held}
        for k in held:
            # D - E - T_k >= f_k + Q
            model.add_row(
                f"sent_{k}",
                [total, delay, *(column for column, _ in late[k])],
                [1, -1, *(-ns for _, ns in late[k])],
                lower=places.forward_ns[k] + place.after_ns,
            )
        for k in held:
            model.add_row(
                f"back_{k}",
                [total, *(column for column, _ in late[k])],
                [1, *(-ns for _, ns in late[k])],
                lower=place.before_ns + places.backward_ns[k],
            )
        for k in held if self.moment.is_of_backward else ():
            model.add_row(
                f"fetched_{k}",
                [delay, *(column for column, _ in late[k])],
                [1, *(-ns for _, ns in late[k])],
                lower=places.backward_ns[k] - place.after_ns,
            )
        for k in below:
            above = [rerun[i] for i in range(k + 1, self.number)]
            model.add_row(
                f"top_{k}", [top[k], rerun[k], *above], [1, -1, *(1 for _ in above)], lower=0
            )
        for k in below:
            model.add_row(f"start_{k}", [path[k], top[k]], [1, -1], lower=0)
        for k in below[:-1]:
            held_there = [saved[k], away[k], plain[k], left[k]]
            model.add_row(
                f"path_{k}", [path[k], path[k + 1], *held_there], [1, -1, 1, 1, 1, 1], lower=0
            )
        times = list(forward_ns.values())
        model.add_row("once", [delay, *rerun.values()], [1, *(-ns for ns in times)], lower=0)
        rerun_ns = self.rerun_ns or [0] * len(below)
        model.add_row(
            "again",
            [delay, *path.values(), *top.values()],
            [1, *(-ns for ns in times), *(-ns for ns in rerun_ns)],
            lower=0,
        )
        return model.build()

    def _copy_ns(self, problem: RematOffloadChain, size_bytes: int) -> int:
        match self.tensors:
            case Divisible():
                return int(size_bytes / problem.link.bytes_per_ns)
            case Whole():
                return problem.link.transfer_ns(size_bytes)
