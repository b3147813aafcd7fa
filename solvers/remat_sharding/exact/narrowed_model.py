"""Windowed sharding models without the columns of states that messages have removed.

A removed state is in no plan that is at least as fast as the best one, and that one is still a
point: the model's bound holds for faster plans, and with the best one for all.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from jettison.formulations.remat_sharding.messages.windows import AGAIN, STORED
from jettison.formulations.remat_sharding.windows_built import WindowedShardingModel
from jettison.solvers.remat_sharding.exact.message_cuts import Tried


def narrowed(built: WindowedShardingModel, tried: Tried) -> WindowedShardingModel:
    """Return a model with fewer columns that are free.

    Strategies are removed whatever the cuts; what windows do, where the model has the same cuts.
    """
    lower, upper = np.array(built.model.column_lower), np.array(built.model.column_upper)
    left = tried.bound.states()
    states = tried.states
    for leader, columns in built.strategies.items():
        places, _ = left[states.choice[leader]]
        for k, column in enumerate(columns):
            if k not in places:
                upper[column] = 0
    for w, _ in enumerate(built.cuts) if built.cuts == states.cuts else ():
        for kind, of_window in ((AGAIN, built.recomputed[w]), (STORED, built.stored[w])):
            for i, column in of_window.items():
                masks = states.masks[i]
                kinds = left[states.node[i]][1] if len(masks) > 1 else frozenset({0})
                found = {masks[number][w] == kind for number in kinds}
                if found == {False}:
                    upper[column] = min(upper[column], 0)
                elif found == {True}:
                    lower[column] = max(lower[column], 1)
    model = replace(built.model, column_lower=lower, column_upper=upper)
    return replace(built, model=model)
