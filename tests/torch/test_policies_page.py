"""The examples of the page on policies, in one folder, from top to bottom."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from jettison.cli.main import main
from tests.docs.code_blocks import code_blocks

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")

pytestmark = pytest.mark.torch

PAGE = Path(__file__).parents[2] / "docs/policies.md"
MODULES = ("small", "sac", "joint", "knapsack")


# Importing Inductor warns of PyTorch's own use of scripts.
@pytest.mark.filterwarnings("ignore:.*script_method:DeprecationWarning")
def test_every_example_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    names: dict[str, Any] = {"__name__": "page"}
    torch.manual_seed(0)
    torch._dynamo.reset()
    try:
        for block in code_blocks(PAGE):
            if block.file is not None:
                Path(block.file).write_text(block.text, encoding="utf-8")
            elif block.language == "python":
                exec(compile(block.text, f"{PAGE}:{block.line}", "exec"), names)
            else:
                for line in block.text.splitlines():
                    with pytest.raises(SystemExit) as end:
                        main(shlex.split(line)[1:])
                    assert end.value.code == 0, line
    finally:
        torch._dynamo.reset()
        for name in MODULES:
            sys.modules.pop(name, None)
    assert set(MODULES) | {"titan"} <= {path.stem for path in tmp_path.glob("*.py")}
    assert names["found"].predicted.peak_bytes <= names["found"].choice.memory_bytes
    assert names["graph"].choice.again
