"""Claim of a certificate and its instance: the header, checked field by field."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field

from .errors import CertificateError
from .header_fields import Fields, integer_field, object_field, only_fields, text_field

_MOST_SCALE_BITS = 256
_FIELDS = {
    "problem",
    "instance",
    "instance_sha256",
    "resources",
    "formulation",
    "claim",
    "valid_for",
    "scale_bits",
    "producer",
}


@dataclass(frozen=True, kw_only=True)
class Claim:
    """Claim: a lower bound on the time of a class of schedules, or that the class has none.

    Attributes
    ----------
    problem
        Name of the problem.
    instance, instance_sha256
        The instance as parsed JSON, and its hash, which has been checked.
    resources
        The memory limit, the bandwidth and the like.
    formulation
        The formulation, its version and its options.
    time_ns
        The lower bound; None if the claim is that there is no schedule.
    valid_for
        The class of schedules.
    scale_bits
        Number of fractional bits of the multipliers.
    """

    problem: str
    # An instance has many lines; its hash names it.
    instance: Fields = field(repr=False)
    instance_sha256: str
    resources: Fields
    formulation: Fields
    time_ns: int | None
    valid_for: str
    scale_bits: int

    @classmethod
    def from_header(cls, header: Fields) -> Claim:
        """Return the claim of a header.

        Raises
        ------
        CertificateError
            If a field is missing, unknown or of the wrong kind, or the hash is not the instance's.
        """
        only_fields(header, _FIELDS, "the header")
        instance = object_field(header, "instance")
        sha256 = text_field(header, "instance_sha256")
        if sha256 != instance_sha256(instance):
            raise CertificateError("the instance does not have the SHA-256 of the header")
        claim = object_field(header, "claim")
        if claim.keys() == {"infeasible"} and claim["infeasible"] is True:
            time_ns = None
        elif claim.keys() == {"time_ns"}:
            time_ns = integer_field(claim, "time_ns")
        else:
            raise CertificateError('the claim is neither {"time_ns": T} nor {"infeasible": true}')
        scale_bits = integer_field(header, "scale_bits")
        if scale_bits > _MOST_SCALE_BITS:
            raise CertificateError(f"{scale_bits} scale bits; {_MOST_SCALE_BITS} is the most")
        return cls(
            problem=text_field(header, "problem"),
            instance=instance,
            instance_sha256=sha256,
            resources=object_field(header, "resources"),
            formulation=object_field(header, "formulation"),
            time_ns=time_ns,
            valid_for=text_field(header, "valid_for"),
            scale_bits=scale_bits,
        )

    @property
    def statement(self) -> str:
        """The claim in words, without the instance."""
        if self.time_ns is None:
            return f"there is {self._none}"
        return f"{self._none} takes less than {self.time_ns} ns"

    @property
    def _none(self) -> str:
        answer = "partition" if self.problem == "three-partition" else "schedule"
        if self.valid_for.startswith("all "):
            return f"no {answer}"
        if " " in self.valid_for:
            return f"no {answer} that is {self.valid_for}"
        return f"no {self.valid_for} {answer}"


def instance_sha256(instance: Fields) -> str:
    """Return the hash of an instance: its name and provenance do not count.

    Raises
    ------
    CertificateError
        If it nests too deeply, or holds a number with a fraction or an exponent.
    """
    content = {key: instance[key] for key in instance if key not in {"name", "provenance"}}
    try:
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    except RecursionError:
        raise CertificateError("the instance nests too deeply") from None
    except TypeError:
        # The header holds only JSON types and `NotInteger`, which JSON cannot write.
        raise CertificateError("a number of the instance is not an integer") from None
    return hashlib.sha256(text.encode("ascii")).hexdigest()
