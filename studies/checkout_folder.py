"""Folders of the checkout in or below which a notebook runs."""

from __future__ import annotations

from pathlib import Path

from jettison.instances.core.errors import InputError


def checkout_folder(name: str) -> Path:
    """Return the folder of this name, here or above.

    Raises
    ------
    InputError
        If there is none.
    """
    here = Path.cwd()
    for above in (here, *here.parents):
        if (above / name).is_dir():
            return above / name
    raise InputError(
        f"no folder {name} here or above",
        source=str(here),
        expected="start in the checkout that has it",
    )
