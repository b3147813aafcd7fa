"""Every reader under atheris, which follows the branches that its inputs take.

    PYTHONPATH=. .venv/bin/python tests/fuzz/atheris_readers.py FORMAT [libFuzzer options]

FORMAT is a file of `corpus/`, such as chain.json; it is where atheris starts from. Without options
it runs until it finds a defect: anything but an answer or an error on one line.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["jettison"]):
    from jettison.certificates.errors import CertificateError
    from jettison.instances.core.errors import InputError
    from tests.fuzz.corpus_files import CORPUS, READERS


def main(name: str, options: list[str]) -> None:
    read = READERS[name]
    with tempfile.TemporaryDirectory() as text:
        folder, seeds = Path(text) / "files", Path(text) / "seeds"
        folder.mkdir()
        seeds.mkdir()
        path = folder / Path(name).name
        (seeds / path.name).write_bytes((CORPUS / name).read_bytes())

        def try_one(data: bytes) -> None:
            path.write_bytes(data)
            try:
                read(path)
            except (InputError, CertificateError) as error:
                if "\n" in str(error):
                    raise AssertionError(f"an error of several lines: {error}") from error

        atheris.Setup([sys.argv[0], *options, str(seeds)], try_one)
        atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
