"""Instance of several architectures from instances of one each."""

from __future__ import annotations

from collections.abc import Sequence

from jettison.instances.core.errors import InputError
from jettison.instances.core.provenance import Provenance
from jettison.instances.multi_model.architecture import Architecture
from jettison.instances.multi_model.instance import MultiModel


def joined_models(
    instances: Sequence[MultiModel], *, name: str | None = None, models: Sequence[int] = ()
) -> MultiModel:
    """Return the instance in which the models of all instances are trained together.

    Parameters
    ----------
    instances
        At least two, of any number of architectures, over the same bandwidth.
    name
        Name of the new instance; None for the names joined by a plus.
    models
        Models to train of each architecture; empty for those of the instances.

    Raises
    ------
    InputError
        If there are fewer than two, their bandwidths differ, or the numbers of models do not fit.
    """
    if len(instances) < 2:
        raise InputError(
            f"{len(instances)} instances", field="instances", expected="give at least two"
        )
    rates = sorted({item.bandwidth for item in instances})
    if len(rates) > 1:
        raise InputError(
            f"links of {' and '.join(map(str, rates))} bytes/s",
            field="bandwidth",
            expected="join instances of one link",
        )
    every = [item for instance in instances for item in instance.architectures]
    counts = tuple(models) or tuple(item.models for item in every)
    if len(counts) != len(every):
        raise InputError(
            f"{len(counts)} numbers for {len(every)} architectures",
            field="models",
            expected="write one for each",
        )
    first, *others = (
        Architecture(
            item.name,
            count,
            item.sizes,
            item.static_bytes,
            item.forward,
            item.backward,
            item.feature_maps,
        )
        for item, count in zip(every, counts, strict=True)
    )
    parts = ", ".join(item.name for item in instances)
    return MultiModel(
        name=name or "+".join(item.name for item in instances),
        models=first.models,
        sizes=first.sizes,
        static_bytes=first.static_bytes,
        forward=first.forward,
        backward=first.backward,
        feature_maps=first.feature_maps,
        bandwidth=rates[0],
        provenance=Provenance(source="derived", note=f"joined from {parts}"),
        others=tuple(others),
    )
