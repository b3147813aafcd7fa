"""Training tasks of the zoo: batches, labels and losses of the right kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

from jettison.instances.core.provenance import Scalar
from jettison.instances.zoo.workload import IGNORED, CrossEntropy, Workload

Builder = Callable[..., nn.Module]

# BERT's pre-training predicts this share of the words.
_MASKED_SHARE = 0.15


def classify_images(
    builder: Builder,
    arguments: Mapping[str, Scalar],
    *,
    model_name: str,
    batch: int,
    input_size: int,
    seed: int,
) -> Workload:
    """Return a workload on images of shape (batch, 3, input_size, input_size)."""
    generator = torch.Generator().manual_seed(seed)
    images = torch.randn(batch, 3, input_size, input_size, generator=generator)
    labels = torch.randint(int(arguments["classes"]), (batch,), generator=generator)  # type: ignore[arg-type]
    return _workload(builder, arguments, model_name, seed, images, labels)


def classify_pixels(
    builder: Builder,
    arguments: Mapping[str, Scalar],
    *,
    model_name: str,
    batch: int,
    input_size: int,
    seed: int,
) -> Workload:
    """Return a workload on images of shape (batch, 3, input_size, input_size), a label a pixel."""
    generator = torch.Generator().manual_seed(seed)
    shape = (input_size, input_size)
    images = torch.randn(batch, 3, *shape, generator=generator)
    labels = torch.randint(int(arguments["classes"]), (batch, *shape), generator=generator)  # type: ignore[arg-type]
    return _workload(builder, arguments, model_name, seed, images, labels)


def predict_words(
    builder: Builder,
    arguments: Mapping[str, Scalar],
    *,
    model_name: str,
    batch: int,
    input_size: int,
    seed: int,
) -> Workload:
    """Return a workload on token ids of shape (batch, input_size): each predicts the next."""
    tokens = _tokens(arguments, (batch, input_size + 1), seed)
    # Copies, so that the batch is a dense tensor of its own.
    before, after = tokens[:, :-1].clone(), tokens[:, 1:].clone()
    return _workload(builder, arguments, model_name, seed, before, after)


def predict_masked_words(
    builder: Builder,
    arguments: Mapping[str, Scalar],
    *,
    model_name: str,
    batch: int,
    input_size: int,
    seed: int,
) -> Workload:
    """Return a workload on token ids of shape (batch, input_size): 15 % are to be predicted."""
    tokens = _tokens(arguments, (batch, input_size), seed)
    generator = torch.Generator().manual_seed(seed)
    masked = torch.rand(tokens.shape, generator=generator) < _MASKED_SHARE
    # At least one in each sequence, or the mean loss would be one over no words.
    masked[:, 0] = True
    labels = tokens.masked_fill(~masked, IGNORED)
    return _workload(builder, arguments, model_name, seed, tokens, labels)


def _tokens(arguments: Mapping[str, Scalar], shape: tuple[int, int], seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(int(arguments["vocabulary"]), shape, generator=generator)  # type: ignore[arg-type]


def _workload(
    builder: Builder,
    arguments: Mapping[str, Scalar],
    model_name: str,
    seed: int,
    sample_input: Tensor,
    labels: Tensor,
) -> Workload:
    # Layers draw their weights from the global generator; only the CPU's is touched.
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        model = builder(**arguments)
    return Workload(
        model=model,
        sample_input=sample_input,
        loss=CrossEntropy(labels),
        model_name=model_name,
        model_arguments={**arguments, "seed": seed},
    )
