"""Regions of a model that PyTorch checkpoints selectively, with one decision for each call.

A policy file begins with this module, so it needs PyTorch and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
)


class OperatorMismatchError(RuntimeError):
    """Error of a region that does not call the operators that its policy was made for."""


@dataclass(frozen=True)
class SelectiveRegion:
    """Region of a model, with its decisions.

    Attributes
    ----------
    module
        Path of the module in the model.
    operators
        The operators that it calls, in order, as ``str`` shows them; without views.
    saved
        Positions of the calls whose results are saved; the others run again.
    draws
        Whether it draws random numbers, whose state is then kept for the second run.
    """

    module: str
    operators: tuple[str, ...]
    saved: frozenset[int]
    draws: bool


class CountedCalls:
    """Policy function of one run of a region: it counts the calls, and checks each.

    Parameters
    ----------
    region
        The region.

    Raises
    ------
    OperatorMismatchError
        In a call, if the operator is not the one that the region has there.
    """

    def __init__(self, region: SelectiveRegion) -> None:
        self._region = region
        self._count = 0

    def __call__(self, _context: Any, operator: Any, *_: Any, **__: Any) -> CheckpointPolicy:
        """Return the decision for the next call; views are not counted, and made again."""
        if _is_view(operator):
            return CheckpointPolicy.MUST_RECOMPUTE
        place = self._count
        self._count += 1
        planned = self._region.operators[place] if place < len(self._region.operators) else None
        if str(operator) != planned:
            raise OperatorMismatchError(
                f"{self._region.module}: call {place} is {operator}, and the policy was made for "
                f"{planned or 'no further call'}; make the policy again for this model, with this "
                "version of PyTorch"
            )
        if place in self._region.saved:
            return CheckpointPolicy.MUST_SAVE
        return CheckpointPolicy.MUST_RECOMPUTE

    def finish(self) -> None:
        """Check that all calls have come."""
        if self._count < len(self._region.operators):
            raise OperatorMismatchError(
                f"{self._region.module}: {self._count} calls, and the policy was made for "
                f"{len(self._region.operators)}, the next of them "
                f"{self._region.operators[self._count]}; make the policy again for this model"
            )


def _is_view(operator: Any) -> bool:
    schema = getattr(operator, "_schema", None)
    return schema is not None and any(
        result.alias_info is not None and not result.alias_info.is_write
        for result in schema.returns
    )


def apply_regions(model: nn.Module, regions: Sequence[SelectiveRegion]) -> None:
    """Checkpoint the regions of a model, from its next call on.

    Names of parameters and hooks of modules stay as they are. A buffer that a region writes to
    (statistics of a batch normalisation) is written once: the second run leaves it as it was.
    Where gradients are disabled, the model runs as it is.

    Raises
    ------
    LookupError
        If a module is missing, or is checkpointed already.
    """
    modules = dict(model.named_modules())
    for region in regions:
        if region.module not in modules:
            raise LookupError(f"the model has no module {region.module!r}")
        if "forward" in vars(modules[region.module]):
            raise LookupError(
                f"{region.module!r} has a forward of its own already; call remove_regions first"
            )
    for region in regions:
        module = modules[region.module]
        module.forward = _checkpointed(module, module.forward, region)


def remove_regions(model: nn.Module) -> None:
    """Undo `apply_regions`: the model saves what autograd saves."""
    for module in model.modules():
        if getattr(vars(module).get("forward"), "is_checkpointed", False):
            del module.forward


def _checkpointed(
    module: nn.Module, forward: Callable[..., Any], region: SelectiveRegion
) -> Callable[..., Any]:
    def run(*arguments: Any, **options: Any) -> Any:
        if not torch.is_grad_enabled():
            return forward(*arguments, **options)
        calls = CountedCalls(region)

        def contexts() -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
            first, second = create_selective_checkpoint_contexts(calls)
            return first, _second_run(module, second)

        result = checkpoint(
            forward,
            *arguments,
            use_reentrant=False,
            preserve_rng_state=region.draws,
            context_fn=contexts,
            **options,
        )
        calls.finish()
        return result

    run.is_checkpointed = True  # type: ignore[attr-defined]
    return run


def _second_run(
    module: nn.Module, mode: AbstractContextManager[Any]
) -> AbstractContextManager[Any]:
    has_buffers = next(module.buffers(), None) is not None
    return _with_buffers_as_they_were(module, mode) if has_buffers else mode


@contextmanager
def _with_buffers_as_they_were(
    module: nn.Module, mode: AbstractContextManager[Any]
) -> Iterator[None]:
    before = [(buffer, buffer.detach().clone()) for buffer in module.buffers()]
    try:
        with mode:
            yield
    finally:
        with torch.no_grad():
            for buffer, content in before:
                buffer.copy_(content)
