"""Backend of ``torch.compile`` as an object of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import fx
from torch._dynamo.backends.registry import lookup_backend

Backend = Callable[[fx.GraphModule, list[Any]], Callable[..., Any]]


def own_backend(name: str) -> Backend:
    """Return a backend whose code Dynamo shares with no other.

    Dynamo gives all that has one backend the code that was compiled first, whatever the settings
    of the partitioner were then.
    """
    backend = lookup_backend(name)

    def compile_graph(graph: fx.GraphModule, inputs: list[Any]) -> Callable[..., Any]:
        return backend(graph, inputs)  # type: ignore[no-any-return]

    return compile_graph
