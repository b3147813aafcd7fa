"""Rows of the cycle bound about what was saved for good when the last backward operation starts."""

from __future__ import annotations

import math

from jettison.formulations.milp.builder import ArrayModelBuilder
from jettison.formulations.training_chain.activation_rows import ActivationRows
from jettison.formulations.training_chain.around import Around
from jettison.formulations.training_chain.training_scale import TrainingScale


def add_peak_rows(
    builder: ArrayModelBuilder,
    scale: TrainingScale,
    around: Around,
    activations: ActivationRows,
) -> None:
    """Add (remade), (holds) and (returns) of `cycle_bound`: O(N) rows with :math:`O(N^2)` terms.

    A chain of one stage has none: nothing of another stage exists at the cut.
    """
    chain = scale.problem.instance
    last = len(chain)
    if last == 1:
        return
    cut = around.backward(last) - 1
    saved = {i: scale.size(chain.stage(i).saved_bytes) for i in range(1, last)}
    kept = {i: builder.add_column(f"K_{i}", upper=1.0) for i in saved}
    away = builder.add_column("O", upper=math.fsum(saved.values()))
    for i in saved:
        runs = activations.saves_again(i, cut)
        builder.add_row(f"remade_{i}", [kept[i], *runs], [1.0] * (1 + len(runs)), lower=1.0)
    builder.add_row(
        "holds",
        [activations.on_device(cut), away, *kept.values()],
        [1.0, 1.0, *(-size for size in saved.values())],
        lower=0.0,
    )
    brought = [
        column
        for element in range(cut + 1, around.num_elements)
        for column in activations.brought[element]
    ]
    builder.add_row("returns", [away, *brought], [-1.0, *[1.0] * len(brought)], lower=0.0)
