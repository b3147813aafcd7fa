"""The test vectors are what the script writes, and this checker says of each what stands there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jettison.certificates.checker import check_certificate
from jettison.certificates.errors import CertificateError
from tests.certificates.second_checker import verdicts
from tests.certificates.write_vectors import FOLDER, index_text, vectors

LISTED = json.loads((FOLDER / "vectors.json").read_text(encoding="ascii"))


def is_proved(path: Path) -> bool:
    try:
        check_certificate(path)
    except CertificateError:
        return False
    return True


def test_the_files_are_those_that_the_script_writes() -> None:
    written = {vector.file: vector.data for vector in vectors()}
    found = {path.name: path.read_bytes() for path in FOLDER.iterdir()}
    assert found.pop("vectors.json").decode("ascii") == index_text()
    assert found.keys() == written.keys()
    # What a version of zlib makes of the same text may differ: only what it unpacks to counts.
    assert all(found[name] == data for name, data in written.items() if not name.endswith(".gz"))


@pytest.mark.parametrize("entry", LISTED, ids=lambda entry: entry["file"])
def test_a_vector_has_its_verdict(entry: dict[str, str]) -> None:
    assert entry["reason"]
    assert is_proved(FOLDER / entry["file"]) == (entry["verdict"] == "proved")


def test_the_second_checker_says_the_same_of_every_vector() -> None:
    paths = [FOLDER / entry["file"] for entry in LISTED]
    # An unknown version of a formulation is not known to it, and so not proved.
    found = [word == "proved" for word in verdicts(paths)]
    assert found == [entry["verdict"] == "proved" for entry in LISTED]
    assert 10 < sum(found) < len(found) - 50
