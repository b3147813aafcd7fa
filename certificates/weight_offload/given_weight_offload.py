r"""Weight offloading as the checker reads it: the cycle of operations, the memory, the link.

Operations :math:`k = 0, \dots, 2L-1` are :math:`B_L, \dots, B_1, F_1, \dots, F_L` of the layers
:math:`1, \dots, L`, so that :math:`B_i` stands at :math:`b_i = L - i` and :math:`F_i` at
:math:`f_i = L + i - 1`. Besides weights they need :math:`e_k` bytes:

.. math::
    e(F_i) &= a_0 + \sum_{j \le i} \bar a_j + o_{F_i}, \\
    e(B_i) &= a_0 + \sum_{j \le i} \bar a_j + |\delta_i|
              + \max(|\delta_{i-1}| + o_{B_i}, |\delta_{i-1}|) + |w_i| ,

where :math:`|\delta_{i-1}|` is left out of the first term of the maximum if the instance says that
the overhead holds it, and out of the second one for the first layer, whose input has no gradient
afterwards, and the last term is the gradient of the weights.

The link carries :math:`p / q` bytes in a nanosecond in each direction, in lowest terms. A transfer
of :math:`|w|` bytes takes at least :math:`|w| q / p` ns. Where the resources have
``total_bytes_per_s``, both directions together carry no more than that, :math:`p' / q'` in lowest
terms, from the rate of one to less than twice that rate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..errors import CertificateError
from ..header_fields import Fields, integer_field, only_fields
from ..remat_chain.given_chain import GivenChain

_NS_PER_S = 10**9


@dataclass(frozen=True)
class GivenWeightOffload:
    """Weight offloading problem; layers are counted from 1, and index 0 of `weights` is 0.

    Attributes
    ----------
    weights
        Bytes of the weights of each layer.
    layer_of, durations_ns, needs_bytes
        Layer, time and :math:`e_k` of each operation.
    memory_bytes
        The limit.
    link_bytes, link_ns
        :math:`p` and :math:`q`.
    shared_bytes, shared_ns
        The same of the total that both directions share; 0 and 1 where they do not.
    """

    weights: tuple[int, ...]
    layer_of: tuple[int, ...]
    durations_ns: tuple[int, ...]
    needs_bytes: tuple[int, ...]
    memory_bytes: int
    link_bytes: int
    link_ns: int
    shared_bytes: int = 0
    shared_ns: int = 1

    @classmethod
    def from_json(cls, instance: Fields, resources: Fields, most_layers: int) -> GivenWeightOffload:
        """Read the problem; linear time.

        Raises
        ------
        CertificateError
            If the instance is no chain or has more than `most_layers`, or the memory or the bytes
            per second are none.
        """
        only_fields(resources, {"memory_bytes", "bytes_per_s", "total_bytes_per_s"}, "resources")
        chain = GivenChain.from_json(instance)
        if len(chain) > most_layers:
            raise CertificateError(f"{len(chain)} layers; at most {most_layers} are checked")
        bytes_per_s = integer_field(resources, "bytes_per_s", least=1)
        # Both directions of the link may share a total.
        total_per_s = 0
        if "total_bytes_per_s" in resources:
            total_per_s = integer_field(resources, "total_bytes_per_s", least=bytes_per_s)
            if total_per_s >= 2 * bytes_per_s:
                raise CertificateError("both directions share no less than the rate of each")
        shared = math.gcd(total_per_s, _NS_PER_S)
        weights = tuple(stage.weight_bytes for stage in chain.stages)
        forward, backward, saved = [], [], chain.input_bytes
        for number, stage in enumerate(chain.stages, start=1):
            saved += stage.saved_bytes
            forward.append(saved + stage.saving_overhead_bytes)
            leaves = chain.gradient_bytes(number - 1) if number > 1 else 0
            running = chain.backward_output_bytes(number) + stage.backward_overhead_bytes
            gradients = stage.gradient_bytes + max(running, leaves)
            backward.append(saved + gradients + stage.weight_bytes)
        layers = range(1, len(chain) + 1)
        common = math.gcd(bytes_per_s, _NS_PER_S)
        return cls(
            weights=(0, *weights),
            layer_of=(*reversed(layers), *layers),
            durations_ns=(
                *(stage.backward_ns for stage in reversed(chain.stages)),
                *(stage.forward_ns for stage in chain.stages),
            ),
            needs_bytes=(*reversed(backward), *forward),
            memory_bytes=integer_field(resources, "memory_bytes"),
            link_bytes=bytes_per_s // common,
            link_ns=_NS_PER_S // common,
            shared_bytes=total_per_s // shared,
            shared_ns=_NS_PER_S // shared,
        )

    @property
    def num_layers(self) -> int:
        """The number of layers."""
        return len(self.weights) - 1

    @property
    def base_time_ns(self) -> int:
        """Time of all operations."""
        return sum(self.durations_ns)

    @property
    def total_bytes(self) -> int:
        """Size of all weights."""
        return sum(self.weights)

    def backward_of(self, layer: int) -> int:
        """Return the place of the layer's backward operation."""
        return self.num_layers - layer

    def forward_of(self, layer: int) -> int:
        """Return the place of the layer's forward operation."""
        return self.num_layers + layer - 1

    def transfer_ns(self, size_bytes: int) -> int:
        """Return the time of a transfer on the link, rounded up."""
        return -(-size_bytes * self.link_ns // self.link_bytes)

    def excess_bytes(self, operation: int) -> int:
        """Return the bytes of weights to be absent when an operation starts; may be negative."""
        return self.total_bytes + self.needs_bytes[operation] - self.memory_bytes
