"""Content hash (SHA-256) by which schedules, results and certificates name their instance."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping


def content_sha256(content: Mapping[str, object]) -> str:
    """Hash parsed JSON in its canonical text: sorted keys, no blanks, ASCII."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()
