"""A field that the checker would not look at is refused, wherever in the instance it stands."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jettison.certificates.checker import check_certificate
from jettison.certificates.claim import instance_sha256
from jettison.certificates.errors import CertificateError

DATA = Path(__file__).parent / "data"
FILES = (
    "remat-chain-resnet18-b4-224-cpu.gz",
    "remat-graph-resnet18-b4-224-cpu.gz",
    "remat-sharding-mlp-26.gz",
)


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield all objects, but what a provenance holds."""
    if isinstance(value, dict):
        yield value
        for key, part in value.items():
            if key != "provenance":
                yield from objects(part)
    elif isinstance(value, list):
        for part in value:
            yield from objects(part)


@pytest.mark.parametrize("name", FILES)
def test_an_unknown_field_of_any_object_is_refused_though_the_hash_is_right(
    name: str, tmp_path: Path
) -> None:
    text = gzip.decompress((DATA / name).read_bytes()).decode()
    magic, head, *lines = text.splitlines()
    header = json.loads(head)
    instance = header["instance"]
    found = list(objects(instance))
    # One object of each kind: those of one kind have the same keys.
    kinds = {tuple(sorted(item)): item for item in found}
    assert len(kinds) >= 2
    for item in kinds.values():
        item["memory_limit"] = 1
        header["instance_sha256"] = instance_sha256(instance)
        path = tmp_path / "c"
        path.write_text("".join(f"{line}\n" for line in (magic, json.dumps(header), *lines)))
        with pytest.raises(CertificateError, match="has an unknown field 'memory_limit'"):
            check_certificate(path)
        del item["memory_limit"]


def test_provenance_may_hold_anything_and_does_not_count(tmp_path: Path) -> None:
    text = gzip.decompress((DATA / FILES[0]).read_bytes()).decode()
    magic, head, *lines = text.splitlines()
    header = json.loads(head)
    header["instance"]["provenance"] = {"any": [1.5, {"thing": None}], "at": "all"}
    path = tmp_path / "c"
    path.write_text("".join(f"{line}\n" for line in (magic, json.dumps(header), *lines)))
    assert check_certificate(path).claim.instance_sha256 == header["instance_sha256"]
