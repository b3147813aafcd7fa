"""Which formulations there are for which problems, by name and version."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from .claim import Claim
from .errors import CertificateError
from .header_fields import integer_field, text_field
from .models.stated_model import StatedModel
from .models.windowed_frontier import windowed_frontier

Builder = Callable[[Mapping[str, Any], Mapping[str, Any], Mapping[str, Any]], StatedModel]

FORMULATIONS: Mapping[tuple[str, str, int], Builder] = MappingProxyType(
    {("remat-graph", "windowed-frontier", 1): windowed_frontier}
)


def formulation_key(claim: Claim) -> tuple[str, str, int]:
    """Return the problem, the formulation's name and its version.

    Raises
    ------
    CertificateError
        If the formulation has no name or no version.
    """
    name = text_field(claim.formulation, "name")
    version = integer_field(claim.formulation, "version", least=1)
    return claim.problem, name, version


def stated_model(claim: Claim) -> StatedModel:
    """Build the model that a claim rests on.

    Raises
    ------
    CertificateError
        If there is no such formulation of the problem, or the instance, the resources or the
        options do not fit it.
    """
    key = formulation_key(claim)
    builder = FORMULATIONS.get(key)
    if builder is None:
        raise CertificateError(
            f"{claim.problem[:60]} has no formulation {key[1][:60]!r} of version {key[2]}"
        )
    options = {
        field: value
        for field, value in claim.formulation.items()
        if field not in {"name", "version"}
    }
    return builder(claim.instance, claim.resources, options)
