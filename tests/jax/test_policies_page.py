"""The example of the page on policies of names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jettison.cli.main import main
from tests.docs.code_blocks import code_blocks

jax = pytest.importorskip("jax", reason="JAX is not installed (jettison[jax])")

pytestmark = pytest.mark.jax

PAGE = Path(__file__).parents[2] / "docs/jax_policies.md"


def test_the_example_of_the_page_runs_and_keeps_to_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    names: dict[str, Any] = {"__name__": "page"}
    texts = []
    for block in code_blocks(PAGE):
        if block.language == "python":
            exec(compile(block.text, f"{PAGE}:{block.line}", "exec"), names)
            texts.append(block.text)
        else:
            for line in block.text.splitlines():
                with pytest.raises(SystemExit, match=r"^None$|^0$"):
                    main(line.split()[1:])
    # The page asserts that the limit holds; the gradients are those of the loss.
    assert "compiled_bytes <=" in texts[0]
    gradients = jax.jit(jax.grad(names["loss"]))(names["weights"], names["x"])
    pairs = zip(jax.tree.leaves(names["gradients"]), jax.tree.leaves(gradients), strict=True)
    assert all(jax.numpy.allclose(one, other, atol=1e-5) for one, other in pairs)
    assert names["planned"].plan.overhead > 0
