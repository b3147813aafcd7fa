"""Rows of a built model: read by name, or forgotten by label."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from jettison.formulations.milp.array_model import ArrayModel


def without_rows(model: ArrayModel, label: str) -> ArrayModel:
    """The model after somebody forgot the rows of one label."""
    forgotten = np.array([label_of(name) == label for name in model.row_names])
    assert forgotten.any()
    return replace(
        model,
        row_lower=np.where(forgotten, -np.inf, model.row_lower),
        row_upper=np.where(forgotten, np.inf, model.row_upper),
    )


def row(model: ArrayModel, name: str) -> tuple[dict[str, float], float, float]:
    """Coefficients by column, and both limits."""
    i = model.row_names.index(name)
    entries = slice(model.indptr[i], model.indptr[i + 1])
    names = [model.column_names[j] for j in model.indices[entries]]
    coefficients = dict(zip(names, model.data[entries].tolist(), strict=True))
    return coefficients, float(model.row_lower[i]), float(model.row_upper[i])


def label_of(name: str) -> str:
    """The name of a row or column without its indices."""
    return re.sub(r"(_[0-9]+)+$", "", name)


def labels_of(model: ArrayModel) -> list[str]:
    """The labels of all rows, in their order."""
    return list(dict.fromkeys(map(label_of, model.row_names)))


def stated_labels(docstring: str | None) -> list[str]:
    """The labels that the docstring of a formulation states, the objective first."""
    assert docstring is not None
    found = re.findall(r"\\text\{\(([a-z\\_]+)\)\}", docstring)
    return [text.replace("\\", "") for text in found]
