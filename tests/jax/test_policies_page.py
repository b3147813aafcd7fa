"""The example of the page on policies of names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.docs.code_blocks import code_blocks

jax = pytest.importorskip("jax", reason="JAX is not installed (jettison[jax])")

pytestmark = pytest.mark.jax

PAGE = Path(__file__).parents[2] / "docs/jax_policies.md"


def test_the_example_of_the_page_runs_and_keeps_to_its_limit() -> None:
    blocks = [block for block in code_blocks(PAGE) if block.language == "python"]
    names: dict[str, Any] = {"__name__": "page"}
    for block in blocks:
        exec(compile(block.text, f"{PAGE}:{block.line}", "exec"), names)
    (block,) = blocks
    # The page asserts that the limit holds; the gradients are those of the loss.
    assert "compiled_bytes <=" in block.text
    gradients = jax.jit(jax.grad(names["loss"]))(names["weights"], names["x"])
    pairs = zip(jax.tree.leaves(names["gradients"]), jax.tree.leaves(gradients), strict=True)
    assert all(jax.numpy.allclose(one, other, atol=1e-5) for one, other in pairs)
    assert names["planned"].plan.overhead > 0
