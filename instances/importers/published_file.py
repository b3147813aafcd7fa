"""Published files that importers know by their bytes, each with the origin of its numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from jettison.instances.core.provenance import Provenance


def origin_of(text: str, published: Mapping[str, Provenance], note: str) -> Provenance:
    """Return where the numbers of a file come from.

    Parameters
    ----------
    text
        Contents of the file.
    published
        Origins of published files by the SHA-256 of their bytes, since any file can have their
        name.
    note
        What holds for every file of the format.
    """
    sha256 = hashlib.sha256(text.encode("utf-8")).hexdigest()
    if sha256 in published:
        return published[sha256]
    return Provenance(source="imported", note=f"{note} Model, batch and device are unknown.")
