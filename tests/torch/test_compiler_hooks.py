"""Hooks of PyTorch that plans need: an installed version that lacks some is refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from jettison import InputError

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
executor: Any = pytest.importorskip("jettison.torch", exc_type=ImportError)

from torch._inductor import config  # noqa: E402
from torch._inductor.graph import GraphLowering  # noqa: E402
from torch._inductor.virtualized import V  # noqa: E402

from jettison.torch.compilation.compiler_hooks import (  # noqa: E402
    INDUCTOR_HOOKS,
    PARTITIONER_HOOKS,
    check_hooks,
    missing_hooks,
)

pytestmark = pytest.mark.torch


def test_the_installed_version_has_all_hooks() -> None:
    assert missing_hooks(PARTITIONER_HOOKS + INDUCTOR_HOOKS) == []


@pytest.mark.parametrize(
    ("holder", "attribute", "name"),
    [
        (config, "_post_fusion_custom_pass", "torch._inductor.config._post_fusion_custom_pass"),
        (GraphLowering, "save_output_code", "torch._inductor.graph.GraphLowering.save_output_code"),
        (type(V), "set_choices_handler", "torch._inductor.virtualized.V.set_choices_handler"),
    ],
)
def test_a_hook_of_inductor_that_is_gone_is_named_before_anything_is_compiled(
    holder: Any, attribute: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(holder, attribute)
    model = torch.nn.Linear(2, 2)
    with pytest.raises(InputError, match=r"install PyTorch 2\.13 or 2\.14") as caught:
        executor.compiled(model, memory="60%")
    assert f"PyTorch {torch.__version__} has no {name};" in str(caught.value)
    # What does without Inductor does without its hooks.
    executor.compiled(model, memory="60%", backend="aot_eager")
    executor.partitioner("60%")


def test_all_hooks_that_are_gone_stand_in_one_error() -> None:
    gone = (("torch.gone", "this"), ("torch._inductor.config", "that"), ("torch", "nn.Linear"))
    both = r"no torch\.gone\.this, no torch\._inductor\.config\.that;"
    with pytest.raises(InputError, match=both):
        check_hooks(gone)
