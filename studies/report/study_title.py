"""Title of a folder of results."""

from __future__ import annotations

import tomllib

from jettison.instances.core.errors import InputError
from jettison.instances.core.json_file import read_text
from jettison.studies.result_folder import ResultFolder

_MOST_NAMES = 3


def study_title(folder: ResultFolder) -> str:
    """Return the names of the studies that were run into a folder; else that of the folder.

    Raises
    ------
    InputError
        If a file of a study that is kept there cannot be read.
    """
    names = {}
    for path in sorted((folder.path / "studies").glob("*.toml")):
        try:
            # A copy is called by the name of its file and the beginning of its hash.
            name = path.stem.rpartition("-")[0] or path.stem
            names[str(tomllib.loads(read_text(path)).get("name", name))] = True
        except tomllib.TOMLDecodeError as error:
            raise InputError(
                f"not TOML: {error}", source=str(path), expected="delete it: it is a copy"
            ) from None
    if 0 < len(names) <= _MOST_NAMES:
        return ", ".join(names)
    return folder.path.resolve().name
