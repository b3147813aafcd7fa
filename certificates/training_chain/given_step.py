r"""Training step as the checker reads it: a chain with its optimizer, the memory, the link.

Stages are counted from 1; sizes of stage 0 are those of the input of the chain, which stays. The
link carries :math:`p / q` bytes in a nanosecond in each direction, and :math:`p' / q'` in both
together where they share a total, in lowest terms; :math:`t(x) = \lceil x q / p \rceil`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..errors import CertificateError
from ..header_fields import Fields, integer_field, list_field, only_fields
from ..remat_chain.given_chain import GivenChain

_NS_PER_S = 10**9


@dataclass(frozen=True)
class GivenStep:
    """Training step; index 0 of the lists of the optimizer is not used.

    Attributes
    ----------
    chain
        The chain.
    weights, gradients, states
        Bytes by stage.
    update_ns, host_update_ns
        Durations by stage; None where the host cannot update.
    memory_bytes
        The limit.
    link, total
        :math:`(p, q)` and :math:`(p', q')`; None where no total is shared.
    """

    chain: GivenChain
    weights: tuple[int, ...]
    gradients: tuple[int, ...]
    states: tuple[int, ...]
    update_ns: tuple[int, ...]
    host_update_ns: tuple[int | None, ...]
    memory_bytes: int
    link: tuple[int, int]
    total: tuple[int, int] | None

    @classmethod
    def from_json(cls, instance: Fields, resources: Fields) -> GivenStep:
        """Read the problem; linear time.

        Raises
        ------
        CertificateError
            If the instance is no chain, or the memory or the rates are none.
        """
        only_fields(resources, {"memory_bytes", "bytes_per_s", "total_bytes_per_s"}, "resources")
        chain = GivenChain.from_json(instance)
        rate = integer_field(resources, "bytes_per_s", least=1)
        total = None
        if "total_bytes_per_s" in resources:
            shared = integer_field(resources, "total_bytes_per_s", least=rate)
            if shared >= 2 * rate:
                raise CertificateError("both directions share no less than the rate of each")
            total = _lowest_terms(shared)
        entries = list_field(instance, "stages")
        weights = [stage.weight_bytes for stage in chain.stages]
        return cls(
            chain=chain,
            weights=(0, *weights),
            gradients=(
                0,
                *(
                    integer_field(entry, "weight_gradient_bytes", default=size)
                    for entry, size in zip(entries, weights, strict=True)
                ),
            ),
            states=(0, *(integer_field(e, "optimizer_state_bytes", default=0) for e in entries)),
            update_ns=(0, *(integer_field(entry, "update_ns", default=0) for entry in entries)),
            host_update_ns=(
                None,
                *(
                    integer_field(entry, "host_update_ns") if "host_update_ns" in entry else None
                    for entry in entries
                ),
            ),
            memory_bytes=integer_field(resources, "memory_bytes"),
            link=_lowest_terms(rate),
            total=total,
        )

    @property
    def trained(self) -> list[int]:
        """The stages that are updated: they have weights, a gradient, states or an update."""
        return [
            number
            for number in range(1, len(self.chain) + 1)
            if any(
                amounts[number]
                for amounts in (self.weights, self.gradients, self.states, self.update_ns)
            )
        ]

    def backward_operands(self, number: int) -> int:
        """Return the bytes that a backward operation reads and writes, but weights and input."""
        stage = self.chain.stages[number - 1]
        left = self.chain.gradient_bytes(number - 1) if number > 1 else 0
        running = self.chain.backward_output_bytes(number) + stage.backward_overhead_bytes
        gradients = stage.gradient_bytes + max(running, left) + self.gradients[number]
        return stage.saved_bytes + gradients

    def transfer_ns(self, size_bytes: int) -> int:
        """Return the time of a transfer that is alone on the link, rounded up."""
        p, q = self.link
        return -(-size_bytes * q // p)


def _lowest_terms(bytes_per_s: int) -> tuple[int, int]:
    common = math.gcd(bytes_per_s, _NS_PER_S)
    return bytes_per_s // common, _NS_PER_S // common
