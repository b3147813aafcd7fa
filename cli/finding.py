"""What `jettison verify` found to hold of one file, or of one part of a folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that holds.

    Attributes
    ----------
    name
        The file, or the part of a folder.
    statement
        What holds, in words.
    details
        The same for JSON, hashes in full.
    """

    name: str
    statement: str
    details: Mapping[str, object] = field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        """Return it as a JSON object."""
        return {"name": self.name, "holds": True, "statement": self.statement, **self.details}
