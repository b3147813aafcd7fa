"""Statement of a certificate: the problem and the formulation that its claim is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jettison.certificates.claim import Claim, instance_sha256
from jettison.certificates.formulations import stated_model
from jettison.certificates.stated_model import StatedModel

# Without provenance the same claim has the same bytes, wherever the instance came from.
_PRODUCER = "jettison"


@dataclass(frozen=True)
class Statement:
    """Header fields that name the model of a claim.

    Attributes
    ----------
    problem
        Name of the problem, such as ``remat-graph``.
    instance
        The instance as JSON.
    resources
        Resources such as ``memory_bytes``.
    formulation
        ``name``, ``version`` and options, as `certificates.formulations` knows them.
    """

    problem: str
    instance: Mapping[str, Any]
    resources: Mapping[str, Any]
    formulation: Mapping[str, Any]

    def model(self) -> StatedModel:
        """Build the model with the checker's own code, so that its rows have the same numbers.

        Raises
        ------
        CertificateError
            If there is no such formulation, or the instance or the options do not fit it.
        """
        return stated_model(
            Claim(
                problem=self.problem,
                instance=self.instance,
                instance_sha256=instance_sha256(self.instance),
                resources=self.resources,
                formulation=self.formulation,
                time_ns=None,
                valid_for="",
                scale_bits=0,
            )
        )

    def header(self, time_ns: int | None, valid_for: str, scale_bits: int) -> dict[str, Any]:
        """Return the header of a certificate of a claim."""
        return {
            "problem": self.problem,
            "instance": dict(self.instance),
            "instance_sha256": instance_sha256(self.instance),
            "resources": dict(self.resources),
            "formulation": dict(self.formulation),
            "claim": {"infeasible": True} if time_ns is None else {"time_ns": time_ns},
            "valid_for": valid_for,
            "scale_bits": scale_bits,
            "producer": _PRODUCER,
        }
