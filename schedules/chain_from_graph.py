r"""A schedule of the graph of a chain, brought back to the chain.

`chain_to_graph` turns a chain into a graph with a reserve of memory, so that a solver for graphs
can be asked. What it answers is read here as operations on the chain, and the replay on the chain
judges the result.

The mapping
-----------
Only the runs of :math:`F_\ell` and the first run of each :math:`B_\ell` count, in their order. The
last run of :math:`F_\ell` before :math:`B_\ell` becomes :math:`F_{all}^\ell`. Every other one that
hands on :math:`A_\ell` becomes :math:`F_\emptyset^\ell` if stage :math:`\ell - 1` is computed anew
before it is read again, else :math:`F_{ck}^\ell`; where stage :math:`\ell` is held it is left out.

When it fits
------------
Let :math:`o_f \le e` in all stages but the first, :math:`e` being :math:`o_b` plus the gradient
:math:`\delta^{\ell-1}` unless :math:`o_b` holds it. A graph schedule that runs each :math:`B` once
and takes at most :math:`M + R` bytes, :math:`M < R`, then becomes a schedule of the chain that
takes at most :math:`M` bytes and no more time: with the statement of `chain_to_graph`, the optima
are equal.

*Proof.* Let :math:`\tau_\ell` be the last run of :math:`F_\ell` before :math:`B_\ell`.

1. *Reads.* A run of :math:`F_\ell` reads :math:`A_{\ell-1}`, so it follows a run of
   :math:`F_{\ell-1}` that hands it on; so does :math:`\tau_\ell`, and the chain keeps what
   :math:`F_{all}^\ell` read until :math:`B^\ell`, which is the next read of stage
   :math:`\ell - 1` there.
2. *Bytes stored.* The chain holds :math:`\bar a^\ell` from :math:`\tau_\ell` to :math:`B^\ell`,
   and the graph :math:`S_\ell`, computed at :math:`\tau_\ell` or before: that is
   :math:`a^{\ell-1}` and all of :math:`\bar a^\ell` but :math:`a^\ell`. The graph also holds
   :math:`a^\ell`: if :math:`\tau_{\ell+1} < \tau_\ell` in :math:`S_{\ell+1}`, else in
   :math:`A_\ell` until :math:`\tau_{\ell+1}` and in :math:`S_{\ell+1}` from then to
   :math:`B_{\ell+1}`; after that in the workspace of :math:`B_\ell` alone, but then
   :math:`\tau_\ell` is before and between :math:`B_{\ell+1}` and :math:`B_\ell` no run of the
   graph needs ... 
