"""Resources of a step as a user typed them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

from jettison.instances.core.card import card_text
from jettison.instances.core.errors import InputError


@dataclass(frozen=True, slots=True)
class Resources:
    """Memory and link of a step as a user typed them; None where nothing is given.

    Attributes
    ----------
    memory, alpha
        One of the two, or `card`, says how much memory there is.
    bandwidth, transfers
        The link, for problems that have one.
    models
        Number of models of an instance that are trained.
    devices, microbatches, weight_copies, chunks
        A pipeline: its devices, the micro-batches of a step, how many times the weights of a
        device stay there, and how many parts a device may have.
    host_memory
        The memory of the host, for problems that move tensors there and may run out of it.
    card, resident
        In place of a memory: the bytes or the name of a card, and what is resident on it, if it is
        not what the instance records.
    """

    memory: str | None
    alpha: str | None = None
    bandwidth: str | None = None
    transfers: str | None = None
    models: int | None = None
    devices: int | None = None
    microbatches: int | None = None
    weight_copies: int | None = None
    chunks: int | None = None
    host_memory: str | None = None
    card: str | None = None
    resident: str | None = None

    @property
    def memory_text(self) -> str:
        """The memory as text.

        Raises
        ------
        InputError
            If nothing says so, or more than one of `memory`, `alpha` and `card` do.
        """
        if self.card is not None:
            self._check_alone()
            return card_text(self.card, self.resident)
        if self.memory is not None and self.alpha is None:
            return self.memory
        if self.alpha is not None and self.memory is None:
            return f"alpha={self.alpha}"
        if self.memory is not None:
            raise InputError("alpha is given as well", field="memory", expected="keep one of them")
        raise InputError(
            "no amount is given",
            field="memory",
            expected="give an amount (4GiB), a share (40%), a ratio alpha, or a card",
        )

    def _check_alone(self) -> None:
        """Check that a card is the only memory."""
        for field in ("memory", "alpha"):
            if getattr(self, field) is not None:
                raise InputError(
                    f"the card {self.card} is given, and {field} {getattr(self, field)} as well",
                    field="card",
                    expected="keep one of them: a card less its resident bytes is a memory",
                )

    @property
    def says_memory(self) -> bool:
        """Whether memory is given at all."""
        return any(item is not None for item in (self.memory, self.alpha, self.card))

    def each(self) -> Iterator[Resources]:
        """Yield one set of resources for every memory, card and bandwidth of lists."""
        memories = [None] if self.memory is None else self.memory.split(",")
        alphas = [None] if self.alpha is None else self.alpha.split(",")
        bandwidths = [None] if self.bandwidth is None else self.bandwidth.split(",")
        cards = [None] if self.card is None else self.card.split(",")
        residents = [None] if self.resident is None else self.resident.split(",")
        axes = (memories, alphas, cards, residents, bandwidths)
        for memory, alpha, card, resident, bandwidth in itertools.product(*axes):
            yield replace(
                self,
                memory=memory,
                alpha=alpha,
                card=card,
                resident=resident,
                bandwidth=bandwidth,
            )
