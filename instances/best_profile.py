"""Choice among the bundled instances of one model: measured on a GPU before a CPU."""

from __future__ import annotations

import math

from jettison.instances.bundled_entries import Origin
from jettison.instances.catalog import CatalogEntry, bundled_instances
from jettison.instances.core.errors import InputError

_MEASURED = frozenset({"torch-profile", "jax-profile"})


def best_profiles(kind: str = "chain") -> tuple[CatalogEntry, ...]:
    """Return the measured instances by name: a model's GPU profiles, or else its CPU profiles."""
    measured = [
        entry for entry in bundled_instances() if entry.kind == kind and entry.source in _MEASURED
    ]
    on_gpu = {entry.model for entry in measured if entry.device_kind == "cuda"}
    return tuple(
        entry for entry in measured if entry.device_kind == "cuda" or entry.model not in on_gpu
    )


def best_profile(*models: str, kind: str = "chain", batch: int | None = None) -> CatalogEntry:
    """Return the best instance of a model: measured on a GPU, with a GPU's rates, or on a CPU.

    Of several on the same kind of device it is the one with the largest samples, then batch. What
    others published is none of them.

    Parameters
    ----------
    models
        Names of the model; one will do.
    kind
        Kind of instance, ``"chain"`` say.
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
        if entry.model in models and entry.kind == kind and entry.origin is not Origin.IMPORTED
        if batch is None or entry.batch == batch
    ]
    if not found:
        raise InputError(
            f"no bundled {kind} of {' or '.join(models)}",
            field="model",
            expected="see `jettison list instances`",
        )
    return min(found, key=_rank)


def origin(entry: CatalogEntry) -> str:
    """Return one line with the name of an instance, its device and the source of its numbers."""
    return f"{entry.name}: {entry.device_kind}, {entry.device} ({entry.source})"


def _rank(entry: CatalogEntry) -> tuple[int, int, int, str]:
    on_gpu = entry.device_kind == "cuda"
    device = 0 if on_gpu and entry.source in _MEASURED else 1 if on_gpu else 2
    return device, -math.prod(entry.input_shape[1:]), -entry.batch, entry.name
