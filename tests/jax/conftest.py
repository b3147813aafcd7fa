"""Tests of JAX: XLA takes less time for machine code, and the same buffers."""

from __future__ import annotations

import os

# Buffers are assigned before machine code is made, so that no figure here depends on this. It is
# read when JAX first compiles something.
_FAST = "--xla_backend_optimization_level=0"
if _FAST not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {_FAST}".strip()
