"""Autocast settings that are recorded and restored later."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
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

    def casts_nothing_now(self) -> bool:
        """Tell whether nothing is cast in this state, which is also that of the caller."""
        for kind, enabled, dtype in self.settings:
            is_other = torch.is_autocast_enabled(kind) or torch.get_autocast_dtype(kind) != dtype
            if enabled or is_other:
                return False
        return True

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Run the block in this state.

        Weights that are cast without a graph must not be found again by an operation that records
        one: the cache is off where no graph is recorded.

        It is what ``torch.autocast`` does for each kind, without making its objects: a step enters
        this for each stage. Where nothing is cast inside and outside, there is nothing to do.
        """
        if self.casts_nothing_now():
            yield
            return
        before = [
            (kind, torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind))
            for kind, _, _ in self.settings
        ]
        had_cache = torch.is_autocast_cache_enabled()
        torch.autocast_increment_nesting()
        try:
            _set(self.settings)
            torch.set_autocast_cache_enabled(self.cache_enabled and torch.is_grad_enabled())
            yield
        finally:
            # Casts of weights are kept until the outermost block ends.
            if torch.autocast_decrement_nesting() == 0:
                torch.clear_autocast_cache()
            _set(before)
            torch.set_autocast_cache_enabled(had_cache)


def _set(settings: Iterable[tuple[str, bool, torch.dtype]]) -> None:
    for kind, enabled, dtype in settings:
        torch.set_autocast_enabled(kind, enabled)
        torch.set_autocast_dtype(kind, dtype)
