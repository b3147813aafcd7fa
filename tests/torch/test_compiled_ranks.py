"""Ranks that compile the same model make the same plan, byte for byte, however busy one is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed (jettison[torch])")
pytest.importorskip("jettison.torch", exc_type=ImportError)

from jettison.torch.compilation.plan_store import forget_plans  # noqa: E402
from tests.torch.rank_plan import rank_plan  # noqa: E402

pytestmark = pytest.mark.torch

ROOT = Path(__file__).parents[2]


def test_two_processes_make_one_plan_while_the_machine_of_one_is_busy() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.torch.rank_plan", "mlp", "75%"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=ROOT,
        # Sets are in another order there.
        env={**os.environ, "PYTHONHASHSEED": "7"},
    ) as other:
        forget_plans()
        mine = rank_plan("mlp", "75%")
        theirs, _ = other.communicate()
        assert other.returncode == 0
    torch._dynamo.reset()
    assert theirs == mine
