"""Check of a certificate, and comparison of its instance and resources with the expected ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from jettison.certificates.checker import Proved, check_certificate
from jettison.certificates.claim import Claim
from jettison.cli.finding import Finding
from jettison.instances.core.errors import InputError

if TYPE_CHECKING:
    from jettison.instances.catalog import Instance
    from jettison.solvers.core.resources import Resources

_AS_NAMED = "named so by the file"


@dataclass(frozen=True)
class _Identity:
    """Identity of a certificate's instance, beyond the name that the file states.

    Attributes
    ----------
    words
        The words in the printed line.
    source
        The name or the file of the instance, or of the chain whose graph it is; None where only
        the certificate has it.
    """

    words: str
    source: str | None = None


def verify_certificate(path: Path, instances: Sequence[str], resources: Resources) -> Finding:
    """Check the proof of a certificate, and compare its instance and resources with expected ones.

    Parameters
    ----------
    path
        The file.
    instances
        Names or files of instances, one of which it must be about; none for any instance.
    resources
        The resources that it must be about, as far as given.

    Raises
    ------
    CertificateError
        If the file proves nothing.
    InputError
        If it is about another instance or other resources; both are named.
    OSError
        If the file cannot be read.
    """
    proved = check_certificate(path)
    identity = _identity_of(proved.claim, instances, str(path))
    _compare_resources(proved.claim, identity, resources, str(path))
    return Finding(
        str(path),
        proved.stated(identity.words),
        {
            "kind": "certificate",
            **_claim_keys(proved),
            "instance_is": identity.words,
        },
    )


def _claim_keys(proved: Proved) -> dict[str, object]:
    claim = proved.claim
    return {
        "problem": claim.problem,
        "instance": claim.instance.get("name"),
        "instance_sha256": claim.instance_sha256,
        "resources": dict(claim.resources),
        "formulation": dict(claim.formulation),
        "time_ns": claim.time_ns,
        "infeasible": claim.time_ns is None,
        "valid_for": claim.valid_for,
        "proof": str(proved.size),
    }


def _identity_of(claim: Claim, instances: Sequence[str], source: str) -> _Identity:
    if not instances:
        return _bundled_identity(claim)
    from jettison.instances.catalog import load

    found = []
    for name in instances:
        instance = load(name)
        sha256 = _sha256_as_given_to(claim.problem, instance)
        if sha256 == claim.instance_sha256:
            return _Identity(f"that of {name}", name)
        found.append(f"{name} has {sha256}")
    raise InputError(
        f"the certificate is about the instance {claim.instance_sha256}, and {', '.join(found)}",
        field="instance_sha256",
        source=source,
        expected="give the instance that it is about, or leave --instance out",
    )


def _bundled_identity(claim: Claim) -> _Identity:
    """Find the instance among the bundled ones: by its hash, then by its name.

    Only a chain that was given as its graph has to be read, since the index has all hashes.
    """
    from jettison.instances.bundled_entries import bundled_instances

    entries = bundled_instances()
    name = claim.instance.get("name")
    for entry in entries:
        if entry.instance_sha256 == claim.instance_sha256:
            words = "the bundled one of this name"
            if entry.name != name:
                words = f"bundled as {entry.name}"
            return _Identity(words, entry.name)
    named = next((entry for entry in entries if entry.name == name), None)
    if named is None:
        return _Identity(_AS_NAMED)
    own_kind = claim.instance.get("kind")
    # Only an instance that a problem converts has another hash than its entry.
    if named.kind != own_kind:
        from jettison.instances.catalog import load

        if _sha256_as_given_to(claim.problem, load(named.name)) == claim.instance_sha256:
            words = f"the {own_kind} of the bundled {named.kind} of this name"
            return _Identity(words, named.name)
    return _Identity(
        f"{_AS_NAMED}; the bundled one of this name is another: {named.instance_sha256[:12]}"
    )


def _sha256_as_given_to(problem: str, instance: Instance) -> str:
    """Return the hash of an instance as a problem converts it, for a chain that of its graph."""
    from jettison.solvers.core.registry import find_kind

    return find_kind(problem).own(instance).sha256


def _compare_resources(
    claim: Claim, identity: _Identity, resources: Resources, source: str
) -> None:
    if resources.transfers is not None:
        raise InputError(
            f"certificates of {claim.problem} have no such field",
            field="transfers",
            source=source,
            expected="leave it out",
        )
    if resources.models is not None:
        _compare("models", claim.resources.get("models"), resources.models, "models", source)
    rate, memory = claim.resources.get("bytes_per_s"), claim.resources.get("memory_bytes")
    if resources.bandwidth is not None:
        from jettison.instances.core.link import parse_link

        link = parse_link(resources.bandwidth)
        _compare("bandwidth", rate, link.bytes_per_s, "bytes/s", source)
        # A bound for a full-duplex link holds for a shared one, which is slower.
        total = claim.resources.get("total_bytes_per_s")
        if total is not None:
            _compare("bandwidth", total, link.total_bytes_per_s, "bytes/s both ways", source)
    if resources.says_memory or resources.resident is not None:
        if memory is None:
            _compare("memory", None, 0, "bytes", source)
        field = "memory" if resources.card is None else "card"
        _compare(field, memory, _memory_bytes(claim, identity, resources), "bytes", source)


def _memory_bytes(claim: Claim, identity: _Identity, resources: Resources) -> int:
    """Return the given memory in bytes for the certificate's instance."""
    from dataclasses import replace

    from jettison.instances.catalog import instance_of, load
    from jettison.solvers.core.pose import pose_problem

    if identity.source is None:
        instance = instance_of(claim.instance, "the instance of the certificate")
    else:
        instance = load(identity.source)
    rate = claim.resources.get("bytes_per_s")
    given = replace(
        resources,
        bandwidth=None if rate is None else f"{rate}B/s",
        models=claim.resources.get("models"),
    )
    return pose_problem(claim.problem, instance, given).memory_bytes


def _compare(field: str, stated: int | None, given: int, unit: str, source: str) -> None:
    if stated is None:
        raise InputError(
            "the certificate has none to compare with",
            field=field,
            source=source,
            expected="leave it out",
        )
    if stated != given:
        raise InputError(
            f"the certificate is about {stated} {unit}, and --{field} is {given} {unit}",
            field=field,
            source=source,
            expected="give the value in the certificate, or leave the option out",
        )
