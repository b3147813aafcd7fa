"""Names that a shell offers to complete."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from jettison.cli.main import app


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("solve remat-g", ["remat-graph"]),
        ("solve remat-chain resnet18", ["resnet18-b256-gpu", "resnet18-b4-224-cpu"]),
        ("solve sharding resnet18", []),
        ("solve remat-chain x --method rot", ["rotor-exact", "rotor", "rotor-drops"]),
        ("bound remat-chain x --memory 4G --method rotor-", ["rotor-exact", "rotor-drops"]),
        ("solve nothing x --method rot", []),
        ("bound remat-chain x --card h1", ["h100-80", "h100-nvl-94"]),
        ("solve weight-offload x --bandwidth a100", ["a100-sxm4-40gb-x8"]),
        ("verif", ["verify"]),
    ],
)
def test_names_are_completed_by_what_was_typed_before(typed: str, offered: list[str]) -> None:
    words = ["jettison", *typed.split()]
    shell = {
        "_JETTISON_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }
    done = CliRunner().invoke(app, prog_name="jettison", env=shell)
    assert done.stdout.split()[: max(1, len(offered))] == offered
