r"""Rematerialization without Checkmate's stages: any order of computations, cut into runs.

Checkmate (MLSys 2020, Section 4) computes the nodes for the first time in the order of the graph,
one in each stage. That rules out schedules, and with them the optimum of some graphs. But every
sequence of computations falls into *runs* in which nodes ascend: a new run begins where a node is
not above the one before it. A model in which each of :math:`T` runs may compute any nodes, and none
must be computed in a given run, holds all schedules of at most :math:`T` runs.

Nodes :math:`0 \le i < n` with durations :math:`C_i`, outputs :math:`M_i` and workspaces
:math:`W_i`, memory :math:`B`, kept nodes :math:`K`; :math:`\mathrm{in}(k)` and
:math:`\mathrm{us}(i)` are inputs and users. Runs :math:`0 \le t < T`.

Columns
-------
================================= =========================================================
:math:`R_{t,i}`, ``R_t_i``        run :math:`t` computes :math:`i`
:math:`S_{t,i}`, ``S_t_i``        :math:`i` is in memory when run :math:`t` begins,
                                  :math:`1 \le t`; :math:`S_{T,i}`, for :math:`i \in K`: when
                                  the last one ends
:math:`F_{t,i,k}`, ``FREE_t_i_k`` run :math:`t` frees :math:`i \in \mathrm{in}(k) \cup \{k\}`
                                  after it has computed :math:`k`
:math:`U_{t,k}`, ``U_t_k``        bytes of values in memory while run :math:`t` computes
                                  :math:`k`, the output of :math:`k` included
================================= =========================================================

:math:`R, S` are binary, :math:`0 \le F \le 1`, :math:`U \ge 0`; :math:`S` that do not exist are 0.

Model
-----
.. math::
    \text{(objective)} \quad & \min \sum_{t,i} C_i R_{t,i} \\
    \text{(once)} \quad & \sum_t R_{t,i} \ge 1 && \forall i \\
    \text{(dependency)} \quad & R_{t,j} \le R_{t,i} + S_{t,i}
        && \forall t, j,\; i \in \mathrm{in}(j) \\
    \text{(checkpoint)} \quad & S_{t,i} \le R_{t-1,i} + S_{t-1,i} && \forall t \ge 1, i \\
    \text{(keep)} \quad & S_{T,i} = 1 && \forall i \in K \\
    \text{(free\_computed)} \quad & F_{t,i,k} \le R_{t,k} \\
    \text{(free\_stored)} \quad & F_{t,i,k} \le 1 - S_{t+1,i} \\
    \text{(free\_used)} \quad & F_{t,i,k} \le 1 - R_{t,j}
        && \forall j \in \mathrm{us}(i),\; k < j \\
    \text{(start)} \quad & U_{t,0} = \sum_i M_i S_{t,i} + M_0 R_{t,0} && \forall t \\
    \text{(step)} \quad & U_{t,k+1} = U_{t,k} + M_{k+1} R_{t,k+1}
        - \sum_{i \in \mathrm{in}(k) \cup \{k\}} M_i F_{t,i,k} && \forall t,\; k < n - 1 \\
    \text{(memory)} \quad & U_{t,k} + W_k R_{t,k} \le B && \forall t, k

These are the rows of `formulations.checkmate` but for (frontier), in place of which (once) stands.
Row names are the labels, followed by the indices.

How many runs are enough
------------------------
Where a run begins after the first, its first node :math:`v` is not above the one before it,
:math:`u \ge v`. If :math:`v` had not been computed before, then of the nodes from :math:`v` on at
least :math:`u > v` would have been, so that in a graph in which each node depends on the one before
it, directly or not, :math:`v` is a recomputation. For other graphs first computations, too, may
descend. `enough_runs` counts accordingly.
"""
