"""Claims about the time of a chain, and their proofs by tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jettison import Chain, check_certificate
from jettison.solvers.core.clock import Clock
from jettison.solvers.remat_chain.proof.program_steps import PROGRAM_PROOF
from tests.certificates.written_certificate import Header, header_of, written


@dataclass(frozen=True)
class ChainClaims:
    """Claims of one formulation.

    Attributes
    ----------
    formulation
        Its name.
    valid_for
        The class of schedules.
    steps
        What makes the lines of a proof.
    """

    formulation: str
    valid_for: str
    steps: Callable[[Chain, int, int | None, Clock], Any]

    def header(self, chain: Chain, memory_bytes: int, time_ns: int | None) -> Header:
        return header_of(
            "remat-chain",
            chain.to_json(),
            memory_bytes=memory_bytes,
            formulation={"name": self.formulation, "version": 1},
            time_ns=time_ns,
            valid_for=self.valid_for,
        )

    def proof(self, chain: Chain, memory_bytes: int, time_ns: int | None) -> list[str] | None:
        extra_ns = None if time_ns is None else time_ns - chain.base_time_ns
        steps = self.steps(chain, memory_bytes, extra_ns, Clock(None), PROGRAM_PROOF)
        return list(steps.records()) if steps.is_true else None

    def holds(self, path: Path, chain: Chain, memory_bytes: int, time_ns: int | None) -> bool:
        """Tell whether a claim has a proof that is accepted."""
        lines = self.proof(chain, memory_bytes, time_ns)
        if lines is None:
            return False
        check_certificate(written(path / "c", self.header(chain, memory_bytes, time_ns), lines))
        return True
