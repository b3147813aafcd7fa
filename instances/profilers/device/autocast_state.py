"""Autocast settings that are recorded and restored later."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

import torch


@dataclass(frozen=True, slots=True)
class AutocastState:
    """Autocast settings around the forward pass, restored where parts of it run again."""

    settings: tuple[tuple[str, bool, torch.dtype], ...]
    cache_enabled: bool

    @classmethod
    def current(cls, device: torch.device) -> AutocastState:
        """Return the state for the CPU and `device`."""
        kinds = sorted({"cpu", device.type})
        return cls(
            settings=tuple(
                (kind, torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind))
                for kind in kinds
            ),
            cache_enabled=torch.is_autocast_cache_enabled(),
        )

    @property
    def is_off(self) -> bool:
        """Whether nothing is cast."""
        return not any(enabled for _, enabled, _ in self.settings)

    def switched_off(self) -> AutocastState:
        """Return the state in which nothing is cast."""
        return replace(
            self, settings=tuple((kind, False, dtype) for kind, _, dtype in self.settings)
        )

    def casts_like(self, other: AutocastState) -> bool:
        """Whether operations run in the same types in both states."""
        return self == other or (self.is_off and other.is_off)

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Run the block in this state.

        Weights that are cast without a graph must not be found again by an operation that records
        one: the cache is off where no graph is recorded.
        """
        cache_enabled = self.cache_enabled and torch.is_grad_enabled()
        with ExitStack() as stack:
            for kind, enabled, dtype in self.settings:
                stack.enter_context(
                    torch.autocast(kind, dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)
                )
            yield
