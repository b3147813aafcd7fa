"""Certificates as tests write them: a header and lines, changed at will."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from jettison.certificates.certificate_file import MAGIC
from jettison.certificates.claim import instance_sha256

Header = dict[str, Any]


def header_of(
    problem: str,
    instance: Mapping[str, Any],
    *,
    memory_bytes: int,
    formulation: Mapping[str, Any],
    time_ns: int | None,
    valid_for: str,
    scale_bits: int = 0,
) -> Header:
    """Return a header that says what is given, the hash included."""
    return {
        "problem": problem,
        "instance": dict(instance),
        "instance_sha256": instance_sha256(instance),
        "resources": {"memory_bytes": memory_bytes},
        "formulation": dict(formulation),
        "claim": {"infeasible": True} if time_ns is None else {"time_ns": time_ns},
        "valid_for": valid_for,
        "scale_bits": scale_bits,
        "producer": "a test",
    }


def text_of(header: Mapping[str, Any], lines: Iterable[str]) -> str:
    """Return the text of a certificate."""
    return "".join(f"{line}\n" for line in (MAGIC, json.dumps(header), *lines))


def written(path: Path, header: Mapping[str, Any], lines: Iterable[str]) -> Path:
    """Write a certificate that is not compressed."""
    path.write_text(text_of(header, lines), encoding="ascii")
    return path
