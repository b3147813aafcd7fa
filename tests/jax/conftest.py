"""Options of XLA for the tests in this folder."""

from __future__ import annotations

import os

# Each step runs once or twice here: LLVM takes longer to optimise its kernels than they run. The
# graph of kernels and its buffers, which the tests are about, are made before that.
os.environ["XLA_FLAGS"] = " ".join(
    (
        os.environ.get("XLA_FLAGS", ""),
        "--xla_backend_optimization_level=0",
        "--xla_llvm_disable_expensive_passes=true",
    )
).strip()
