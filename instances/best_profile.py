"""Which of the bundled instances of a model to take: a GPU's before a CPU's."""

from __future__ import annotations

import math

from jettison.instances.catalog import CatalogEntry, bundled_instances
from jettison.instances.core.errors import InputError

_MEASURED = frozenset({"torch-profile", "jax-profile"})


def best_profiles(kind: str = "chain") -> tuple[CatalogEntry, ...]:
    """Return what was measured, by name: of each model on a GPU, or else on a CPU."""
    measured = [
        entry for entry in bundled_instances() if entry.kind == kind and entry.source in _MEASURED
    ]
    on_gpu = {entry.model for entry in measured if entry.device_kind == "cuda"}
    return tuple(
        entry for entry in measured if entry.device_kind == "cuda" or entry.model not in on_gpu
    )


def best_profile(*models: str, kind: str = "chain", batch: int | None = None) -> CatalogEntry:
    """Return the best instance of a model: measured on a GPU, with a GPU's rates, or on a CPU.

    Of several on such a device, that with the largest samples, and then with the largest batch.

    Parameters
    ----------
    models
        Names of the model; one will do.
    kind
        Of instance.
    batch
        Only instances with this batch; any if it is None.

    Raises
    ------
    InputError
        If there is none.
    """
    found = [
        entry
        for entry in bundled_instances()
        if entry.model in models and entry.kind == kind and (batch is None or entry.batch == batch)
    ]
    if not found:
        raise InputError(
            f"no bundled {kind} of {' or '.join(models)}",
            field="model",
            expected="run `jettison list instances` for what there is",
        )
    return min(found, key=_rank)


def origin(entry: CatalogEntry) -> str:
    """Say in a line which instance it is, and what its numbers are of."""
    return f"{entry.name}: {entry.device_kind}, {entry.device} ({entry.source})"


def _rank(entry: CatalogEntry) -> tuple[int, int, int, str]:
    on_gpu = entry.device_kind == "cuda"
    device = 0 if on_gpu and entry.source in _MEASURED else 1 if on_gpu else 2
    return device, -math.prod(entry.input_shape[1:]), -entry.batch, entry.name
