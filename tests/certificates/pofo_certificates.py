"""Certificates of POFO's class on random tiny chains, with what the recurrence says of each."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from jettison import Chain, RematOffloadChain
from jettison.solvers.core.clock import Clock
from jettison.solvers.proof.certificate import Certificate
from jettison.solvers.remat_offload.proof.params import POFO_PROOF
from jettison.solvers.remat_offload.proof.pofo_claims import PofoClaims
from tests.remat_offload.oracles.recurrence import OffloadRecurrence
from tests.remat_offload.oracles.samples import OffloadSample, offload_samples

# Two grids on which next to nothing is on the grid, and next to everything is.
GRIDS = (
    replace(POFO_PROOF, coarse_slots=3, fine_slots=3),
    replace(POFO_PROOF, coarse_slots=64, fine_slots=64),
)


class JudgedCertificate(NamedTuple):
    """A certificate that a prover made, and its sample."""

    sample: OffloadSample
    certificate: Certificate


def optimum_ns(sample: OffloadSample) -> int | None:
    """Return the least time of the class in whole nanoseconds; None if none fits."""
    found = OffloadRecurrence(sample.chain, sample.memory_bytes, sample.bytes_per_ns).fastest()
    return None if found is None else math.ceil(found)


def claims(sample: OffloadSample, number: int) -> PofoClaims:
    """Return the prover of a sample, on one of the grids."""
    problem = RematOffloadChain(sample.chain, sample.memory_bytes, sample.bytes_per_s)
    return PofoClaims(problem, Clock(None), GRIDS[number % len(GRIDS)])


@cache
def pofo_certificates() -> tuple[JudgedCertificate, ...]:
    """Return certificates of the optimum, and of no schedule at all; the same in every run."""
    return tuple(_made())


def _made() -> Iterator[JudgedCertificate]:
    for number, sample in enumerate(offload_samples(40, 90)):
        optimum = optimum_ns(sample)
        prover = claims(sample, number)
        certificate = prover.none_fits() if optimum is None else prover.best(optimum)
        assert certificate is not None
        # A proof of nothing is changed in vain.
        if certificate.lines and (optimum is None or optimum > sample.chain.base_time_ns):
            yield JudgedCertificate(sample, certificate)


def truth_of(header: dict[str, Any]) -> int | None:
    """Return the optimum of what a header is about; None if no schedule of the class fits."""
    resources = header["resources"]
    chain = Chain.from_json(header["instance"])
    return optimum_ns(OffloadSample(chain, resources["memory_bytes"], resources["bytes_per_s"]))
