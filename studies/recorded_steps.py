"""Recorded graphs of training steps, with durations for operators alone and for fused ones."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from jettison.instances.core.compressed import unpacked
from jettison.instances.core.errors import InputError
from jettison.instances.remat_graph.graph import Graph

_LARGEST_BYTES = 2**28


class Pricing(StrEnum):
    """Pricing of the operators of a recorded step: one by one, or with pointwise ones fused."""

    ALONE = "alone"
    """Each operator reads its inputs from memory and writes its output there."""

    FUSED = "fused"
    """Pointwise operators and copies cost nothing, as where a compiler fuses them."""


@dataclass(frozen=True)
class RecordedSteps:
    """Steps of a file that ``tools/trace_planner_steps.py`` has written, by name.

    Attributes
    ----------
    source
        The file, for messages.
    lines
        The line of each step.
    """

    source: str
    lines: Mapping[str, Mapping[str, Any]]

    @classmethod
    def read(cls, path: Path) -> RecordedSteps:
        """Read a file.

        Raises
        ------
        InputError
            If it cannot be read, or is no such file.
        """
        try:
            text = unpacked(path.read_bytes(), _LARGEST_BYTES, str(path)).decode()
            lines = [json.loads(line) for line in text.splitlines()]
            return cls(str(path), {line["graph"]["name"]: line for line in lines})
        except OSError as error:
            raise InputError(
                f"the file cannot be read: {error.strerror}",
                source=str(path),
                expected="run python -m tools.trace_planner_steps in a checkout with PyTorch",
            ) from None
        except (ValueError, KeyError, TypeError):
            raise InputError(
                "it does not have a graph on each line",
                source=str(path),
                expected="run python -m tools.trace_planner_steps in a checkout with PyTorch",
            ) from None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the steps, in the order of the file."""
        return tuple(self.lines)

    def flops(self, name: str) -> tuple[int, ...]:
        """Return the floating-point operations of each node of a step.

        Raises
        ------
        InputError
            If there is no such step.
        """
        return tuple(self._line(name)["flops"])

    def graph(self, name: str, pricing: Pricing | str) -> Graph:
        """Return the graph of a step at a pricing.

        Raises
        ------
        InputError
            If there is no such step.
        """
        line = self._line(name)
        graph = Graph.from_json(line["graph"])
        if Pricing(pricing) is Pricing.ALONE:
            return graph
        priced = zip(graph.nodes, line["fused_durations_ns"], strict=True)
        return replace(
            graph,
            nodes=tuple(replace(node, duration_ns=duration) for node, duration in priced),
            provenance=replace(graph.provenance, note=line["fused_note"]),
        )

    def _line(self, name: str) -> Mapping[str, Any]:
        if name not in self.lines:
            raise InputError(
                f"{name!r} is not recorded",
                source=self.source,
                field="name",
                expected=f"choose from {', '.join(self.lines)}",
            )
        return self.lines[name]
