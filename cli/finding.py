"""Finding of `jettison verify` about one file, or one part of a folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Finding:
    """Verified statement about a file.

    Attributes
    ----------
    name
        The file, or the part of a folder.
    statement
        The statement in words.
    details
        The same for JSON, with full hashes.
    """

    name: str
    statement: str
    details: Mapping[str, object] = field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        """Return it as a JSON object."""
        return {"name": self.name, "holds": True, "statement": self.statement, **self.details}
