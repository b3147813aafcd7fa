"""Memory requirements of a chain in the recurrences of persistent schedules."""

from __future__ import annotations

from functools import cache

from ..errors import CertificateError
from ..header_fields import Fields
from .given_chain import GivenChain

_MOST_STAGES = 2_000


class PersistentChain:
    """Chain with the memory requirements of its sub-chains; stages are counted from 1.

    Raises
    ------
    CertificateError
        If the instance is no chain, or has too many stages.
    """

    def __init__(self, instance: Fields) -> None:
        chain = GivenChain.from_json(instance)
        if len(chain) > _MOST_STAGES:
            raise CertificateError(f"{len(chain)} stages; at most {_MOST_STAGES} are checked")
        self.count = len(chain)
        self.base_ns = chain.base_time_ns
        self.forward_ns = [0, *(stage.forward_ns for stage in chain.stages)]
        self.output_bytes = [chain.input_bytes, *(stage.output_bytes for stage in chain.stages)]
        # What waits while forward operations run below it: no more than the output counts, because
        # persistent schedules may run them before a larger gradient is there.
        self._waiting_bytes = [0, *(min(s.output_bytes, s.gradient_bytes) for s in chain.stages)]
        self.saved_bytes = [0, *(stage.saved_bytes for stage in chain.stages)]
        self._forward_bytes = [0, *(stage.forward_overhead_bytes for stage in chain.stages)]
        self._saving_bytes = [0, *(stage.saving_overhead_bytes for stage in chain.stages)]
        self.backward_bytes = [0] + [
            stage.gradient_bytes
            + stage.saved_bytes
            + chain.backward_output_bytes(number)
            + stage.backward_overhead_bytes
            for number, stage in enumerate(chain.stages, start=1)
        ]
        self._room_without = cache(self._widest_without)

    def saving_needs(self, s: int, t: int) -> int:
        r"""Return :math:`m_{all}(s,t)`."""
        return max(self.forward_bytes(s, t), self.backward_bytes[s])

    def forward_bytes(self, s: int, t: int) -> int:
        """Return the bytes to save stage s beside its input, while t waits for its backward."""
        return self._waiting_bytes[t] + self.saved_bytes[s] + self._saving_bytes[s]

    def passing_needs(self, s: int, t: int) -> int:
        r"""Return :math:`m_\emptyset(s,t)`, for s < t."""
        return self._waiting_bytes[t] + self._room_without(s)[t - s - 1]

    def _widest_without(self, s: int) -> list[int]:
        r"""Return for t = s+1, ... the maximum in :math:`m_\emptyset(s,t)`."""
        widest = [self.output_bytes[s] + self._forward_bytes[s]]
        for j in range(s + 1, self.count):
            passing = self.output_bytes[j - 1] + self.output_bytes[j] + self._forward_bytes[j]
            widest.append(max(widest[-1], passing))
        return widest
