"""Convert published measurements to bundled instances, and write their files and the index.

Run ``python -m tools.import_bundled --published FOLDER`` from a checkout. FOLDER has a folder for
each repository, named as in `tools.import_families`, with the published files; equal files give
equal bytes. What is bundled of a repository and no longer in the table is removed. Large files are
compressed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from jettison.instances.catalog import Instance, kind_of
from jettison.instances.core.errors import InputError, JettisonError
from jettison.instances.core.json_file import write_text
from tools.bundled_index import DATA, write_index
from tools.import_families import PUBLISHED

LARGEST_PLAIN_BYTES = 64_000


def write_imported(published: Path, output: Path) -> int:
    """Write all imported instances, then the index; return how many there are.

    Parameters
    ----------
    published
        Folder with a folder of published files for each repository.
    output
        Folder of the data set. Each repository has a folder there.

    Raises
    ------
    InputError
        If a published file is missing, refused or not known as published, or two instances have
        one name.
    """
    names: set[str] = set()
    for repository, models in PUBLISHED.items():
        folder = output / repository
        folder.mkdir(parents=True, exist_ok=True)
        written: set[Path] = set()
        for model in models:
            for instance in model.instances(published / repository):
                _check(instance, names)
                written.add(_write(instance, folder))
        for path in set(folder.iterdir()) - written:
            path.unlink()
    write_index(output)
    return len(names)


def _check(instance: Instance, names: set[str]) -> None:
    if instance.provenance.licence is None:
        raise InputError(
            "its file is none of those that were published, so that its licence is not known",
            field=instance.name,
            expected="give the published files as they are",
        )
    if instance.name in names:
        raise InputError(
            "two instances have this name",
            field=instance.name,
            expected="give every row of the table names of its own",
        )
    names.add(instance.name)


def _write(instance: Instance, folder: Path) -> Path:
    text = kind_of(instance).text(instance.to_json())
    ending = ".json" if len(text.encode("utf-8")) <= LARGEST_PLAIN_BYTES else ".json.gz"
    path = folder / f"{instance.name}{ending}"
    write_text(text, path)
    return path


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return 0, or 2 for bad input."""
    parser = argparse.ArgumentParser(description="Write the bundled instances of others.")
    parser.add_argument(
        "--published", type=Path, required=True, help="folder with the published files"
    )
    parser.add_argument("--output", type=Path, default=DATA, help="folder of the instance files")
    chosen = parser.parse_args(arguments)
    try:
        count = write_imported(chosen.published, chosen.output)
    except JettisonError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stderr.write(f"{count} instances\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
