"""Chain with a link to the host, in units of which the link moves one in a tick."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from ..claim import Claim
from ..errors import CertificateError
from ..header_fields import integer_field, only_fields
from ..remat_chain.given_chain import GivenChain

_MOST_STAGES = 2_000
_NS_PER_S = 10**9


class Run(NamedTuple):
    """Run of forward operations that keeps its input only: ticks, and units beside the input.

    Attributes
    ----------
    ticks
        Duration.
    most
        What the widest of them needs.
    early
        The same if a unit becomes free with every tick from the start of the run.
    late
        The same if a unit is taken with every tick until the end of the run.
    """

    ticks: int
    most: int
    early: int
    late: int


class LinkedChain:
    """Chain, memory and link in ticks and units; stages are counted from 1, and 0 is the input.

    The link moves `link_bytes` in `link_ns`, which is at least what is given as bytes per second: a
    nanosecond has `link_bytes` ticks, and a byte `link_ns` units. For a claim that there is no
    schedule nothing takes time.

    Raises
    ------
    CertificateError
        If the instance is no chain, has too many stages, or the resources or the link are not what
        the program needs.
    """

    def __init__(self, claim: Claim) -> None:
        only_fields(claim.resources, {"memory_bytes", "bytes_per_s"}, "resources")
        known = {"name", "version", "link_bytes", "link_ns"}
        only_fields(claim.formulation, known, "the formulation")
        ticks = integer_field(claim.formulation, "link_bytes", least=1)
        units = integer_field(claim.formulation, "link_ns", least=1)
        if ticks * _NS_PER_S < integer_field(claim.resources, "bytes_per_s", least=1) * units:
            raise CertificateError("the link of the formulation is slower than the one given")
        chain = GivenChain.from_json(claim.instance)
        if len(chain) > _MOST_STAGES:
            raise CertificateError(f"{len(chain)} stages; at most {_MOST_STAGES} are checked")
        stages = chain.stages
        self.count = len(chain)
        self.memory = integer_field(claim.resources, "memory_bytes") * units
        takes_time = claim.time_ns is not None
        per_ns = ticks if takes_time else 0
        self.forward = [0, *(stage.forward_ns * per_ns for stage in stages)]
        self.backward = [0, *(stage.backward_ns * per_ns for stage in stages)]
        # Of stages 1 to k, all operations once.
        self.once = [0]
        for forward, backward in zip(self.forward[1:], self.backward[1:], strict=True):
            self.once.append(self.once[-1] + forward + backward)
        self.output = [chain.input_bytes * units, *(stage.output_bytes * units for stage in stages)]
        # What a part below waits with: as in `persistent_chain`, no more than the output counts.
        self.waiting = [0] + [
            min(stage.output_bytes, stage.gradient_bytes) * units for stage in stages
        ]
        self.saved = [0, *(stage.saved_bytes * units for stage in stages)]
        # What F_all of a stage needs beside its input, and what its backward needs.
        self.saving = [0] + [
            (stage.saved_bytes + stage.saving_overhead_bytes) * units for stage in stages
        ]
        self.back = [0] + [
            units
            * (
                stage.saved_bytes
                + stage.gradient_bytes
                + chain.backward_output_bytes(number)
                + stage.backward_overhead_bytes
            )
            for number, stage in enumerate(stages, start=1)
        ]
        self._overhead = [0, *(stage.forward_overhead_bytes * units for stage in stages)]
        self._moves = takes_time
        if claim.time_ns is None:
            self.goal = 1
        else:
            # Whole nanoseconds: what takes more than T - 1 takes at least T.
            self.goal = (claim.time_ns - 1 - chain.base_time_ns) * ticks + 1
        self.runs = cache(self._runs_from)

    def inputs(self, stage: int, is_saved: int) -> tuple[int, int]:
        """Return the units of the input of a stage, and the ticks in which the link moves it."""
        size = self.saved[stage - 1] if is_saved else self.output[stage - 1]
        return size, size if self._moves else 0

    def first_needs(self, stage: int) -> int:
        """Return what the first forward of a stage needs at least, beside its input."""
        return self.output[stage] + self._overhead[stage]

    def _runs_from(self, first: int) -> list[Run]:
        """Return the runs of stages `first` to k, for k = `first`, `first` + 1, ..."""
        need = self.first_needs(first)
        found = [Run(self.forward[first], need, need, need)]
        for k in range(first + 1, self.count + 1):
            ticks, most, early, late = found[-1]
            need = self.output[k - 1] + self.output[k] + self._overhead[k]
            found.append(
                Run(
                    ticks + self.forward[k],
                    max(most, need),
                    max(early, need - ticks),
                    max(late - self.forward[k], need),
                )
            )
        return found
