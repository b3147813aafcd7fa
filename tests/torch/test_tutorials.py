"""Tutorials whose blocks need PyTorch: they run as they stand on their pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")

pytestmark = pytest.mark.torch

PAGE = Path(__file__).parents[2] / "docs" / "tutorials" / "train_my_model.md"


def test_the_models_of_the_tutorial_train_by_their_plans() -> None:
    import torch

    from tests.docs.code_blocks import code_blocks

    blocks = [block for block in code_blocks(PAGE) if block.language == "python"]
    assert len(blocks) == 2
    names: dict[str, Any] = {}
    torch.manual_seed(0)
    for block in blocks:
        exec(compile(block.text, str(PAGE), "exec"), names)
    planned, step = names["planned"], names["step"]
    half = planned.problem.instance.store_all_peak_bytes // 2
    assert planned.predicted.peak_bytes <= half
    assert all(parameter.grad is not None for parameter in names["model"].parameters())
    assert step.problem.instance.store_all_peak_bytes * 0.7 >= step.problem.memory_bytes
    # The gradients are those of the plain model.
    gradients = [parameter.grad.clone() for parameter in names["model"].parameters()]
    names["model"].zero_grad()
    plain = torch.nn.functional.cross_entropy(names["model"](names["batch"]), names["labels"])
    plain.backward()
    assert torch.equal(plain, names["loss"])
    for found, parameter in zip(gradients, names["model"].parameters(), strict=True):
        assert torch.equal(found, parameter.grad)
