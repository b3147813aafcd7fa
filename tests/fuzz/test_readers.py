"""Every reader takes any bytes: it answers, or says on one line what is wrong."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jettison.certificates.errors import CertificateError
from jettison.instances.core.errors import InputError
from tests.fuzz.corpus_files import CORPUS, READERS
from tests.fuzz.limits import ended_in_time, examples
from tests.fuzz.mutations import changed_files


def test_the_corpus_has_every_file_that_is_read_and_no_other() -> None:
    found = {str(path.relative_to(CORPUS)) for path in CORPUS.rglob("*") if path.is_file()}
    # The other files of the set follow from its index and its instance.
    assert found - READERS.keys() == {
        "set/planted-m2-v100-s0-0.mps",
        "set/planted-m2-v100-s0.solu",
    }
    assert READERS.keys() <= found


@pytest.mark.parametrize("name", READERS)
def test_a_file_of_the_corpus_is_read(name: str, tmp_path: Path) -> None:
    path = tmp_path / Path(name).name
    path.write_bytes((CORPUS / name).read_bytes())
    assert READERS[name](path) is not None


@pytest.mark.parametrize("name", READERS)
@examples(40)
@given(data=st.data())
def test_a_changed_file_is_read_or_refused_on_one_line(name: str, data: st.DataObject) -> None:
    content = data.draw(changed_files(name, (CORPUS / name).read_bytes()))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / Path(name).name
        path.write_bytes(content)
        error = refusal(READERS[name], path)
        if error is not None:
            assert "\n" not in str(error)
        if isinstance(error, InputError):
            assert error.expected
            assert folder in error.source or error.field


def refusal(read: Callable[[Path], object], path: Path) -> InputError | CertificateError | None:
    """Return what a reader says against a file; any other exception is a defect."""
    with ended_in_time():
        try:
            read(path)
        except (InputError, CertificateError) as error:
            return error
    return None
