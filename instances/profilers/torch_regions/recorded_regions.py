"""Recording of a step whose modules are checkpointed regions, on fake tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.checkpoint import checkpoint

from jettison.instances.core.errors import InputError
from jettison.instances.profilers.torch_graphs.tensor_places import first_names
from jettison.instances.profilers.torch_regions.call_recorder import CallRecorder

Contexts = tuple[AbstractContextManager[Any], AbstractContextManager[Any]]


class RecordedRegions:
    """Recording of a step with checkpointed regions.

    Attributes
    ----------
    recorder
        The calls and ends.
    kept
        Numbers of the storages that the step leaves: the loss and the gradients.
    """

    def __init__(self, recorder: CallRecorder, kept: frozenset[int]) -> None:
        self.recorder = recorder
        self.kept = kept


def record_regions(
    step: nn.Module, inputs: tuple[Tensor, ...], modules: Mapping[str, nn.Module]
) -> RecordedRegions:
    """Run a step on fake tensors, with every region checkpointed and nothing of it saved.

    Parameters
    ----------
    step
        Maps the inputs to the loss.
    inputs
        Real or fake.
    modules
        The regions: modules of the step, each called once.

    Raises
    ------
    InputError
        If the step cannot run on fake tensors, or a region is called more than once or never.
    """
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    calls = dict.fromkeys(modules, 0)
    recorder: CallRecorder | None = None

    def contexts(place: int, name: str) -> Callable[[], Contexts]:
        def made() -> Contexts:
            assert recorder is not None
            calls[name] += 1
            return recorder.inside(place, again=False), recorder.inside(place, again=True)

        return made

    with mode, torch.enable_grad():
        fakes = {
            name: mode.from_tensor(tensor)
            for name, tensor in (*step.named_parameters(), *step.named_buffers())
        }
        places = {f"step.{name}": fakes[first] for name, first in first_names(step).items()}
        given = tuple(mode.from_tensor(tensor.detach()) for tensor in inputs)
        recorder = CallRecorder([*fakes.values(), *given])
        wrapped = [
            (module, contexts(place, name)) for place, (name, module) in enumerate(modules.items())
        ]
        try:
            with _checkpointed(wrapped), recorder:
                loss: Tensor = torch.func.functional_call(
                    _WithBackward(step, recorder), places, given, tie_weights=False
                )
                left = [fake.grad for fake in fakes.values() if fake.grad is not None]
                kept = {recorder.number_of(item) for item in (loss, *left)}
                del loss, left
                for fake in fakes.values():
                    fake.grad = None
                ended = recorder.alive
        except (AssertionError, LookupError, RuntimeError, TypeError, ValueError) as error:
            raise InputError(
                "the step cannot run on fake tensors: "
                f"{(str(error) or type(error).__name__).splitlines()[0]}",
                field="model",
                expected="give a scalar loss, trained parameters, and no control flow on values",
            ) from error
    del ended
    for name, count in calls.items():
        if count != 1:
            raise InputError(
                f"{name!r} is called {count} times in a step",
                field="regions",
                expected="choose modules that each step calls once",
            )
    return RecordedRegions(recorder, frozenset(each for each in kept if each is not None))


class _WithBackward(nn.Module):
    """Step with its backward pass: regions run again while their parameters are in place."""

    def __init__(self, step: nn.Module, recorder: CallRecorder) -> None:
        super().__init__()
        self.step = step
        self._recorder = recorder

    def forward(self, *inputs: Tensor) -> Tensor:
        """Return the loss after the backward pass."""
        loss: Tensor = self.step(*inputs)
        self._recorder.backward = True
        loss.backward()
        return loss.detach()


@contextmanager
def _checkpointed(wrapped: list[tuple[nn.Module, Callable[[], Contexts]]]) -> Iterator[None]:
    for module, contexts in wrapped:
        module.forward = _checkpoint(module.forward, contexts)
    try:
        yield
    finally:
        for module, _ in wrapped:
            del module.forward


def _checkpoint(function: Callable[..., Any], contexts: Callable[[], Contexts]) -> Any:
    def run(*arguments: Any, **options: Any) -> Any:
        return checkpoint(
            function,
            *arguments,
            use_reentrant=False,
            preserve_rng_state=False,
            context_fn=contexts,
            **options,
        )

    return run
