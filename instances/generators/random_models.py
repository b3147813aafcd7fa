r"""Random multi-model instances: models of one architecture that share a device.

Both passes have half of the operators each, the backward pass the odd one. Every feature map is
made by an operator at random, and its last forward use is a few operators later; its first backward
use mirrors the last forward use, give or take a few operators, and its last backward use is at most
as many later. It is computed again from some of the feature maps made before it, the one just
before it among them half of the time, so that chains of recomputations arise.

Memory of a pass is what is in use, and at random beside it: transient tensors, the carry from the
forward to the backward pass, and workspace. All amounts of memory are proportional to the number of
models. The time of an operator has a part that fusing saves: of :math:`w` ns for one model a share
:math:`s` is paid once, :math:`s w + k (1 - s) w` for :math:`k`, rounded up; so is a recomputation.

The same parameters give the same bytes on any machine (`SplitMix64`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from jettison.instances.core.link import Link
from jettison.instances.core.provenance import Provenance
from jettison.instances.core.units import check_range
from jettison.instances.generators.splitmix64 import SplitMix64
from jettison.instances.multi_model.feature_map import FeatureMap
from jettison.instances.multi_model.fused_operator import FusedOperator
from jettison.instances.multi_model.instance import LARGEST_MODELS, MultiModel

GENERATOR_VERSION = 1
LARGEST_OPERATORS = 10_000
_LARGEST_AMOUNT = 2**30
_MOST_SOURCES = 3
_LINK = Link(10**9)
# Static memory of a model, in feature maps of the largest size.
_STATIC = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomModels:
    """Parameters of a random multi-model instance.

    Attributes
    ----------
    operators
        Number of operators of both passes together, 2 to 10 000.
    tensors
        Feature maps, 0 to as many as there are operators; half of them where nothing is said.
    models
        How many models, 1 to 64; there is a profile for each number up to that.
    reach
        How many operators later a tensor is read at most.
    most_ns
        Longest operator of one model, at least 1.
    most_bytes
        Largest feature map of one model, at least 1.
    shared_percent
        The share of an operator's time that is paid once for all fused models.
    timed_percent
        The share of the feature maps whose copies have a time of their own, apart from the link.
    bandwidth
        Bandwidth of the link, each way.

    Raises
    ------
    InputError
        If a value is out of range.
    """

    operators: int
    tensors: int | None = None
    models: int = 4
    reach: int = 3
    most_ns: int = 1000
    most_bytes: int = 1000
    shared_percent: int = 30
    timed_percent: int = 0
    bandwidth: Link = _LINK

    def __post_init__(self) -> None:
        check_range("operators", self.operators, 2, LARGEST_OPERATORS)
        check_range("tensors", self._maps, 0, self.operators)
        check_range("models", self.models, 1, LARGEST_MODELS)
        check_range("reach", self.reach, 0, LARGEST_OPERATORS)
        check_range("most_ns", self.most_ns, 1, _LARGEST_AMOUNT)
        check_range("most_bytes", self.most_bytes, 1, _LARGEST_AMOUNT)
        check_range("shared_percent", self.shared_percent, 0, 100)
        check_range("timed_percent", self.timed_percent, 0, 100)

    @property
    def _maps(self) -> int:
        return self.operators // 2 if self.tensors is None else self.tensors

    def draw(self, seed: int) -> MultiModel:
        r"""Return the models of this seed; :math:`O(n)`.

        Parameters
        ----------
        seed
            From 0 to 2**64 - 1.

        Raises
        ------
        InputError
            If the seed is out of range.
        """
        check_range("seed", seed, 0, 2**64 - 1)
        random = SplitMix64(seed)
        forward, backward = self.operators // 2, self.operators - self.operators // 2
        spans = [self._span(random, made, forward, backward) for made in self._makers(random)]
        passes = _Memory(random, self.most_bytes, forward, backward, spans)
        sizes = range(1, self.models + 1)

        def each(amount: int) -> tuple[int, ...]:
            return tuple(size * amount for size in sizes)

        def fused_ns(one_ns: int) -> tuple[int, ...]:
            shared, own = self.shared_percent, 100 - self.shared_percent
            return tuple(-(-one_ns * (shared + size * own) // 100) for size in sizes)

        def operators(mark: str, first: int, count: int) -> tuple[FusedOperator, ...]:
            return tuple(
                FusedOperator(
                    name=f"{mark}{place}",
                    run_ns=fused_ns(random.between(1, self.most_ns)),
                    peak_bytes=each(passes.peak_bytes[first + place]),
                    active_bytes=each(passes.active_bytes[first + place]),
                )
                for place in range(count)
            )

        return MultiModel(
            name=f"random-models-n{self.operators}-t{self._maps}-x{self.models}-s{seed}",
            models=self.models,
            sizes=tuple(sizes),
            static_bytes=each(random.below(_STATIC * self.most_bytes + 1)),
            forward=operators("f", 0, forward),
            backward=operators("b", forward, backward),
            feature_maps=tuple(
                FeatureMap(
                    name=f"t{number}",
                    size_bytes=each(span.size_bytes),
                    made_by=f"f{span.made}",
                    last_forward=f"f{span.last_forward}",
                    first_backward=f"b{span.first_backward}",
                    last_backward=f"b{span.last_backward}",
                    recompute_ns=fused_ns(random.between(1, self.most_ns)),
                    recompute_bytes=each(random.below(self.most_bytes // 2 + 1)),
                    sources=_sources(random, number),
                    swap_ns=each(random.between(1, self.most_ns))
                    if random.below(100) < self.timed_percent
                    else (),
                )
                for number, span in enumerate(spans)
            ),
            bandwidth=self.bandwidth.bytes_per_s,
            provenance=Provenance(
                source="synthetic",
                model="random models",
                model_arguments={
                    **asdict(self),
                    "tensors": self._maps,
                    "bandwidth": self.bandwidth.bytes_per_s,
                    "seed": seed,
                    "version": GENERATOR_VERSION,
                },
            ),
        )

    def _makers(self, random: SplitMix64) -> list[int]:
        return sorted(random.below(self.operators // 2) for _ in range(self._maps))

    def _span(self, random: SplitMix64, made: int, forward: int, backward: int) -> _Span:
        last_forward = min(forward - 1, made + random.below(self.reach + 1))
        mirror = backward - 1 - last_forward
        first = min(backward - 1, max(0, mirror + random.between(-self.reach, self.reach)))
        last = min(backward - 1, first + random.below(self.reach + 1))
        return _Span(random.between(1, self.most_bytes), made, last_forward, first, last)


@dataclass(frozen=True, slots=True)
class _Span:
    """A feature map of one model, and the positions of its operators."""

    size_bytes: int
    made: int
    last_forward: int
    first_backward: int
    last_backward: int


class _Memory:
    """Memory of the two passes of one model, one after the other."""

    def __init__(
        self,
        random: SplitMix64,
        most_bytes: int,
        forward: int,
        backward: int,
        spans: Sequence[_Span],
    ) -> None:
        count = forward + backward
        arrives, leaves, ends = [0] * count, [0] * count, [0] * count
        for span in spans:
            arrives[span.made] += span.size_bytes
            arrives[forward + span.first_backward] += span.size_bytes
            leaves[span.last_forward] += span.size_bytes
            ends[forward + span.last_backward] += span.size_bytes
        self.peak_bytes: list[int] = []
        self.active_bytes: list[int] = []
        used = transient = 0
        for place in range(count):
            used += arrives[place]
            # Values that are read and values that are written are in memory together.
            later = 0 if place == count - 1 else random.below(most_bytes // 2 + 1)
            workspace = random.below(most_bytes // 2 + 1)
            self.peak_bytes.append(used + transient + later + workspace)
            used -= leaves[place] + ends[place]
            transient = later
            self.active_bytes.append(used + transient)


def _sources(random: SplitMix64, number: int) -> tuple[str, ...]:
    """Return some of the feature maps before this one; none of them for the first."""
    found = {number - 1} if number and random.below(2) else set()
    for _ in range(min(number, random.below(_MOST_SOURCES))):
        found.add(random.below(number))
    return tuple(f"t{source}" for source in sorted(found))
