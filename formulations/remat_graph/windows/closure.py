r"""Closure of a cut: the rows (ever), (lost) and (path), which strengthen the relaxation.

They change the relaxation only; `frontier` has them in its model, and the proof.
"""

# The symbols of the model are the names of the code.
# ruff: noqa: N803, N806

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.formulations.remat_graph.windows.needed_sets import (
    kept_until,
    needed_sets,
    read_in_window,
)
from jettison.instances.remat_graph.graph import Graph


def add_closure(
    builder: ArrayModelBuilder,
    graph: Graph,
    computed_once: Set[int],
    t: int,
    R: Sequence[Mapping[int, int]],
    S: Mapping[int, int],
) -> None:
    """Add the columns Z and the rows of one window; :math:`O(n + |E|)`.

    Parameters
    ----------
    builder
        Builder of the model.
    graph, computed_once
        The instance, and the nodes that are not computed again.
    t
        The cut at which the window begins.
    R
        The columns R of this window and of those after it.
    S
        The columns S of this window.
    """
    (needed,) = needed_sets(graph, (t,), computed_once)
    columns = builder.add_columns([f"Z_{t}_{i}" for i in sorted(needed)], upper=1).tolist()
    Z = dict(zip(sorted(needed), columns, strict=True))
    for i, once in Z.items():
        windows = [window[i] for window in R if i in window]
        builder.add_row(f"ever_{t}_{i}", [once, *windows], [-1, *(1 for _ in windows)], lower=0)
    lost = read_in_window(graph, t, len(graph) - 1) | kept_until(graph, t)
    for p in sorted(lost):
        builder.add_row(f"lost_{t}_{p}", [Z[p], S[p]], [1, 1], lower=1)
    for i, once in Z.items():
        for p in () if i in computed_once else graph.inputs[i]:
            builder.add_row(f"path_{t}_{i}_{p}", [Z[p], S[p], once], [1, 1, -1], lower=0)
