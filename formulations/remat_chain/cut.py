r"""Cut of a chain at one stage: a lower bound on recomputation, for all schedules.

Source: the cut bound that is used beside POFO (NeurIPS 2021), here without offloading and carried
on from cut to cut. It holds for every schedule that the replay accepts, persistent or not, with
values that are dropped at any time at no cost.

Let :math:`a^0, \dots, a^N` be the sizes of the activations, :math:`\bar a^k` those of what is
saved, :math:`\delta^k` those of the gradients, :math:`\bar o_f` the overhead of a forward that
saves, :math:`o_b` that of a backward and :math:`u_f` the forward times.
For a stage :math:`\ell` let :math:`\sigma_\ell` be the start of the last
:math:`F_{all}^\ell` before :math:`B^\ell`, and :math:`\tau_\ell > \sigma_\ell` the start of
:math:`B^\ell`. A *rerun bound* :math:`W_\ell` is no more than the time that :math:`F^1, \dots,
F^{\ell-1}` take after :math:`\sigma_\ell`. The model turns rerun bounds of the stages below
:math:`\ell` into one of :math:`\ell`: its optimum.

Columns, for :math:`1 \le k < \ell`
-----------------------------------
============================= =============================================================
:math:`s_k`, ``saved_k``      :math:`\bar a^k` is in memory at the cut
:math:`h_k`, ``plain_k``      a plain :math:`a^k` is in memory at the cut
:math:`z_k`, ``top_k``        :math:`k` is the largest stage that is not saved
:math:`r_k`, ``path_k``       :math:`F^k` runs between the cut and :math:`F_{all}^j` at
                              :math:`\sigma_j`, where :math:`z_j = 1`; at :math:`j` included
:math:`T`, ``time``           time of the forward operations below :math:`\ell` after the cut
============================= =============================================================

:math:`s, h, z, r` are binary, :math:`T \ge 0`.

Model
-----
.. math::
    \text{(objective)} \quad & \min T \\
    \text{(memory)} \quad & \sum_k \bar a^k s_k + \sum_k a^k h_k \le A_\ell \\
    \text{(input)} \quad & s_{\ell-1} + h_{\ell-1} \ge 1 \\
    \text{(top)} \quad & z_k \ge (1 - s_k) - \sum_{k < i < \ell} (1 - s_i) && \forall k \\
    \text{(start)} \quad & r_k \ge z_k && \forall k \\
    \text{(path)} \quad & r_k \ge r_{k+1} - s_k - h_k && \forall k < \ell - 1 \\
    \text{(once)} \quad & T \ge \sum_k u_f^k (1 - s_k) \\
    \text{(again)} \quad & T \ge \sum_k u_f^k r_k + \sum_k W_k z_k

with what is left of the memory :math:`M` beside the operations of stage :math:`\ell`

.. math::
    A_\ell = M - a^0 - \bar a^\ell
             - \max\bigl(\bar o_f^\ell,\; \delta^\ell + [\delta^{\ell-1}] + o_b^\ell\bigr),

:math:`[\delta^{\ell-1}]` being absent where the instance says that :math:`o_b` holds the gradient.
Row names are the labels, followed by ``_k``.

Proof
-----
1. :math:`a^0` is in memory until :math:`B^1` has started: nothing computes it, and :math:`B^1`
   reads it. Every stage is held as a plain :math:`a^k`, or as :math:`\bar a^k`, or not at all.
2. Take the contents of the memory at :math:`\sigma_\ell`. Beside :math:`a^0` and the stages
   :math:`k < \ell` it holds the output :math:`\bar a^\ell` and the overhead
   :math:`\bar o_f^\ell`. At :math:`\tau_\ell` it holds :math:`\bar a^\ell`,
   :math:`\delta^\ell`, the output :math:`\delta^{\ell-1}` and :math:`o_b^\ell`. Both operations
   read :math:`a^{\ell-1}` or :math:`\bar a^{\ell-1}`: (memory) with the :math:`A_\ell` of that
   moment, and (input). Take the moment that leaves less; the cut is there.
3. For :math:`k < \ell`, :math:`B^k` comes after the cut and reads :math:`\bar a^k`, which only
   :math:`F_{all}^k` makes. If :math:`s_k = 0` then :math:`F^k` runs after the cut: (once).
4. Let :math:`j` be the largest stage below :math:`\ell` that is not saved. By 3, :math:`\sigma_j`
   is after the cut. There :math:`F^j` reads stage :math:`j-1`. If the memory did not hold that at
   the cut, :math:`F^{j-1}` has run in between, and read stage :math:`j-2`; and so on down to a
   stage held at the cut, at worst :math:`a^0`. None of these runs is after the start of
   :math:`F^j` at :math:`\sigma_j`, so :math:`W_j` does not count them: (again).
5. At the cut, :math:`F^1, \dots, F^{\ell-1}` have each run once: :math:`F^\ell` read
   :math:`a^{\ell-1}`, which had been computed from :math:`a^{\ell-2}`, and so on. What runs after
   the cut comes on top. The time of the schedule is hence at least
   :math:`\sum_k (u_f^k + u_b^k) + W_\ell`, for every :math:`\ell`.

No step uses that memory is freed by operations only: 1 and 2 look at one moment, whatever became of
the tensors before, and 3, 4 and 5 follow from what operations read and make. A drop between
:math:`\sigma_\ell` and :math:`\tau_\ell` can only take away what is to be computed again.
:math:`a^0` and the :math:`\bar a^\ell` of the last :math:`F_{all}^\ell` are not dropped before
:math:`B^1` and :math:`B^\ell`, or these would lack them. The tests compare the bound with a brute
force that drops.

With all :math:`W_k = 0` (again) says nothing, for the path consists of stages that are not saved,
and what is left is a knapsack: the cut bound of one :math:`\ell`. Its closure, that the input of a
rerun stage is held or rerun, holds by itself, since a stage that is not held is not saved either
and runs again. A plain :math:`a^k` below :math:`\ell - 1` pays only through (path).

Size: :math:`4 (\ell - 1) + 1` columns, :math:`O(\ell^2)` coefficients. Bytes and nanoseconds stand
in the rows as they are; the solver reads them to its tolerance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.instances.core.errors import InputError
from jettison.instances.remat_chain.chain import Chain
from jettison.instances.remat_chain.problem import RematChain


def bytes_beside_stage(chain: Chain, memory_bytes: int, number: int) -> int:
    r"""Return :math:`A_\ell`: the memory left for the stages below; negative if nothing fits."""
    stage = chain.stage(number)
    backward_bytes = (
        stage.gradient_bytes + chain.backward_output_bytes(number) + stage.backward_overhead_bytes
    )
    working_bytes = max(stage.overhead_of_saving_bytes, backward_bytes)
    return memory_bytes - chain.input_bytes - stage.saved_bytes - working_bytes


@dataclass(frozen=True, slots=True)
class ChainCut:
    r"""Cut of a chain at one stage; the model is in the docstring of this module.

    Attributes
    ----------
    number
        The stage :math:`\ell`, counted from 1.
    rerun_ns
        :math:`W_1, \dots, W_{\ell-1}`, rerun bounds of the stages below; empty for zeros.

    Raises
    ------
    InputError
        If the number is below 1, or `rerun_ns` has another length.
    """

    number: int
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

    def build(self, problem: RematChain) -> ArrayModel:
        """Build the model.

        Raises
        ------
        IndexError
            If the chain has no stage of this number.
        """
        chain = problem.instance
        available = bytes_beside_stage(chain, problem.memory_bytes, self.number)
        below = range(1, self.number)
        stages = {k: chain.stage(k) for k in below}
        model = ArrayModelBuilder(f"chain_cut_{self.number}")

        def binaries(name: str) -> dict[int, int]:
            return {k: model.add_column(f"{name}_{k}", upper=1, integer=True) for k in below}

        saved, plain, top, path = map(binaries, ("saved", "plain", "top", "path"))
        time = model.add_column("time", cost=1)

        model.add_row(
            "memory",
            [*saved.values(), *plain.values()],
            [
                *(stage.saved_bytes for stage in stages.values()),
                *(stage.output_bytes for stage in stages.values()),
            ],
            upper=available,
        )
        if below:
            model.add_row("input", [saved[below[-1]], plain[below[-1]]], [1, 1], lower=1)
        for k in below:
            # z_k + s_k - sum_{i > k} s_i >= 1 - (number of stages above k)
            above = [saved[i] for i in range(k + 1, self.number)]
            model.add_row(
                f"top_{k}",
                [top[k], saved[k], *above],
                [1, 1, *(-1 for _ in above)],
                lower=1 - len(above),
            )
        for k in below:
            model.add_row(f"start_{k}", [path[k], top[k]], [1, -1], lower=0)
        for k in below[:-1]:
            model.add_row(
                f"path_{k}",
                [path[k], path[k + 1], saved[k], plain[k]],
                [1, -1, 1, 1],
                lower=0,
            )
        forward_ns = {k: stage.forward_ns for k, stage in stages.items()}
        model.add_row(
            "once",
            [time, *saved.values()],
            [1, *forward_ns.values()],
            lower=sum(forward_ns.values()),
        )
        rerun_ns = self.rerun_ns or [0] * len(below)
        model.add_row(
            "again",
            [time, *path.values(), *top.values()],
            [1, *(-ns for ns in forward_ns.values()), *(-ns for ns in rerun_ns)],
            lower=0,
        )
        return model.build()
