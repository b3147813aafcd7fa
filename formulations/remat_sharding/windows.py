r"""Windowed sharding: a lower bound for strategies with recomputation between cuts.

The model of `remat_graph.windows.frontier` with the choice of strategies in it: KIWI's full
problem, equations (1) and (12) to (23), where memory is looked at after a few operators only. Each
such model is a relaxation, so its optimum bounds every plan in the order of the graph;
`solvers.remat_sharding.exact.search` adds the operators that its plans exceed the memory at.

Operators are counted from 0 to :math:`n-1`, as in `ShardedGraph`; :math:`\mathrm{in}(i)` are the
inputs of :math:`i`. *Parameters* :math:`P` are in memory from their first computation to the end,
and neither they nor *inputs* of the step are computed again. Operator :math:`i` takes
:math:`t_{ik} = c_{ik} + d_{ik}` and :math:`m_{ik}` bytes of each device in strategy :math:`k`;
resharding :math:`j` from :math:`a` for :math:`i` in :math:`b` takes :math:`X^{ji}_{ab}`. :math:`B`
is the memory of a device. :math:`g(i)` is the operator that decides the strategy of :math:`i`:
itself, unless it follows another one.

Cuts :math:`t_1 < \dots < t_k`, windows, what the first computations of a window read,
:math:`N_w`, and the needed sets :math:`A_w` are those of `remat_graph.windows.frontier`, without
parameters: they are never in a needed set. There may be no cut at all: then the model is the choice
of strategies alone.

Columns
-------
With :math:`t = t_w` in the names:

===================================== =======================================================
:math:`s_{ik}`, ``s_i_k``             :math:`i` has strategy :math:`k`; binary, one set of columns
                                      for all that have one choice together: :math:`s_i = s_{g(i)}`
:math:`e^{ji}_{ab}`, ``e_j_i_a_b``    :math:`j` has strategy :math:`a` and :math:`i` has :math:`b`;
                                      0 to 1, and 0 where that is forbidden; one set of columns for
                                      each pair of choices with an edge between them
:math:`R_{wi}`, ``R_t_i``             :math:`i \in A_w` is computed again in window :math:`w`;
                                      binary
:math:`S_{wi}`, ``S_t_i``             the value of :math:`i \in A_w` is in memory when the window
                                      begins, and is read before :math:`i` is computed next; binary
:math:`r_{wik}`, ``r_t_i_k``          :math:`R_{wi} s_{ik}`, 0 to 1
:math:`q_{wik}`, ``q_t_i_k``          :math:`S_{wi} s_{ik}`, 0 to 1
:math:`f^{ji}_{wab}`, ``f_t_j_i_a_b`` :math:`R_{wi} e^{ji}_{ab}`, 0 to 1, where
                                      :math:`X^{ji}_{ab} > 0`
:math:`Z_{wi}`, ``Z_t_i``             as in `remat_graph.windows.frontier`, for :math:`w < k`
===================================== =======================================================

Model
-----
.. math::
    \text{(objective)} \quad & \min \sum_{i,k} t_{ik} \Bigl(s_{ik} + \sum_w r_{wik}\Bigr)
        + \sum_{(j,i),a,b} X^{ji}_{ab} \Bigl(e^{ji}_{ab} + \sum_w f^{ji}_{wab}\Bigr) \\
    \text{(one)} \quad & \sum_k s_{ik} = 1 && \forall i \\
    \text{(from)} \quad & \sum_b e^{ji}_{ab} = s_{ja} && \forall j, i, a \\
    \text{(to)} \quad & \sum_a e^{ji}_{ab} = s_{ib} && \forall j, i, b \\
    \text{(againas)} \quad & \sum_k r_{wik} = R_{wi}, \quad r_{wik} \le s_{ik}
        && \forall w,\; i \in A_w \\
    \text{(heldas)} \quad & \sum_k q_{wik} = S_{wi}, \quad q_{wik} \le s_{ik}
        && \forall w,\; i \in A_w \\
    \text{(need)} \quad & q_{wpk} + r_{wpk} = s_{pk} && \forall w,\; p \in N_w,\; k \\
    \text{(either)} \quad & S_{wi} + R_{wi} \le 1 && \forall w,\; i \in A_w \setminus N_w \\
    \text{(again)} \quad & S_{wp} + R_{wp} \ge R_{wi}
        && \forall w,\; i \in A_w,\; p \in \mathrm{in}(i) \setminus P \\
    \text{(stay)} \quad & q_{w+1,ik} \le q_{wik} + r_{wik}
        && \forall w < k,\; i \in A_{w+1},\; i \le t_w,\; k \\
    \text{(reshard)} \quad & \sum_{a : X_{ab} > 0} f^{ji}_{wab} + \sum_{a : X_{ab} = 0} e^{ji}_{ab}
        \ge r_{wib}, \quad f^{ji}_{wab} \le e^{ji}_{ab}
        && \forall w,\; i \in A_w,\; j \in \mathrm{in}(i),\; b \\
    \text{(work)} \quad & \sum_{i \in W_t} \sum_k m_{ik} s_{ik} \le B && \forall t \\
    \text{(memory)} \quad & \sum_{i \in W_t} \sum_k m_{ik} s_{ik}
        + \sum_{i \in A_w \setminus W_t} \sum_k m_{ik} q_{wik} \le B && \forall w,\; t = t_w

where :math:`W_t` holds :math:`t`, its inputs, and the parameters before it, and (work) has one row
more for the end of the step, with the parameters and what is kept. As in
`remat_graph.windows.frontier`, and for the same reason, with :math:`N'_w` for what one cut at
:math:`t_w` would have:

.. math::
    \text{(ever)} \quad & Z_{wi} \le \sum_{v \ge w} R_{vi} && \forall i \\
    \text{(lost)} \quad & Z_{wp} + S_{wp} \ge 1 && \forall p \in N'_w \\
    \text{(path)} \quad & Z_{wp} + S_{wp} \ge Z_{wi}
        && \forall i,\; p \in \mathrm{in}(i) \setminus P

Rows are named like those there, with the strategy at the end where there is one. The columns and
rows of strategies are those of `strategy_columns`, which are fewer where strategies are alike.

With whole :math:`s`, :math:`R` and :math:`S` the other columns are products: (from) and (to) leave
:math:`e^{ji}_{ab} = s_{ja} s_{ib}` as the only point, and (againas), (heldas) force :math:`r` and
:math:`q`. In (reshard) at most one :math:`e^{ji}_{ab}` with :math:`b` is not 0; where its
:math:`X` is positive, :math:`f` must pay it.

Readings of the paper (KIWI, NeurIPS'23 workshop)
-------------------------------------------------
(22) and (23) bound the sums of :math:`e` from above, and :math:`e = 0` makes resharding free: they
are equations here. A computation that is repeated pays its resharding again, in the same
strategies. Parameters are not repeated: (15) holds after their stage.

That a value is not both in memory when a window begins and computed again in it, (need) as an
equation and (either), loses nothing: where it is both, :math:`S_{wi} = 0` satisfies every row as
well, for :math:`R_{wi} = 1` does what it did in (need), (again), (stay) and, with
:math:`Z_{wi} = 1`, in (lost) and (path).

A bound for all plans in the order of the graph: with the strategies of such a plan, columns
:math:`R` and :math:`S` are what `remat_graph.windows.frontier` says of its schedule, whose proof
has (need), (again), (stay) and (memory); a parameter is in memory at :math:`t` if it comes before.

Slots
-----
Recomputation slots as in `remat_graph.windows.frontier`, for staged plans: at slot :math:`(t, q)`

.. math::
    \text{(slot)} \quad & \sum_{i \in P, i < t} \sum_k m_{ik} s_{ik}
        + \sum_k m_{qk} (r_{wqk} + q_{wqk}) + \sum_{i > q} \sum_k m_{ik} q_{wik}
        + \sum_{i < q} \sum_k m_{ik} l_{tqik} \le B \\
    \text{(later)} \quad & \sum_k l_{tqik} \ge S_{w+1,i}, \quad
        \sum_k l_{tqik} \ge R_{w,j} \;\; \forall j \in \mathrm{us}(i),\; q \le j < t, \quad
        l_{tqik} \le s_{ik}

over :math:`i \in A_w`, and :math:`l_{tqik} = s_{ik}` if :math:`t` reads :math:`i`.
"""

from __future__ import annotations

from dataclasses import dataclass

from jettison.formulations.remat_graph.windows.checks import check_cuts_and_slots, check_within
from jettison.formulations.remat_graph.windows.needed_sets import needed_sets
from jettison.formulations.remat_sharding.skeleton import skeleton
from jettison.formulations.remat_sharding.window_rows import ShardingWriter
from jettison.formulations.remat_sharding.windows_built import WindowedShardingModel
from jettison.instances.remat_sharding.problem import RematSharding
from jettison.instances.remat_sharding.sharded_graph import ShardedGraph
from jettison.schedules.core.schedule_class import ScheduleClass


@dataclass(frozen=True)
class WindowedSharding:
    """Windowed sharding model at some cuts and slots; it is in the docstring of this module.

    Attributes
    ----------
    cuts
        Operators, ascending, counted from 0; none for the choice of strategies alone.
    slots
        Pairs of an operator t and an earlier one q; both t - 1 and t must be cuts.
    valid_for
        Staged plans, or without slots all those in the order of the graph.

    Raises
    ------
    InputError
        If cuts do not ascend from 0 on, or the stage of a slot is not between two cuts.
    """

    cuts: tuple[int, ...] = ()
    slots: tuple[tuple[int, int], ...] = ()
    valid_for: ScheduleClass = ScheduleClass.IN_ORDER

    def __post_init__(self) -> None:
        expected = "name operators from 0 on, in order"
        check_cuts_and_slots(self.cuts, self.slots, self.valid_for, expected)

    def num_columns(self, sharded: ShardedGraph) -> int:
        """Return the number of columns r and q, in O(k (n + |E|)) for k cuts."""
        counts = [len(operator.strategies) for operator in sharded.operators]
        graph, once = skeleton(sharded)
        needed = needed_sets(graph, self.cuts, once) if self.cuts else []
        return 2 * sum(counts[i] for window in needed for i in window)

    def build(self, problem: RematSharding) -> WindowedShardingModel:
        """Build the model; about 3 µs for each coefficient.

        Raises
        ------
        InputError
            If a cut is no operator of the graph.
        """
        sharded = problem.instance
        check_within(self.cuts, len(sharded), "operators")
        writer = ShardingWriter(problem, self.cuts, self.slots, self.valid_for)
        return WindowedShardingModel(
            sharded=sharded,
            cuts=self.cuts,
            model=writer.model(),
            strategies=writer.choices.s,
            recomputed=tuple(writer.R),
            stored=tuple(writer.S),
            memory_scale=writer.memory_scale,
            time_scale=writer.time_scale,
        )
