"""Outputs of commands on their pages: each is run when the pages are made.

Commands run one after the other in one folder, so that a later one reads what an earlier one wrote.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from typer.testing import CliRunner

from jettison.cli.main import app

# Lines that are shown of a long output.
MOST_LINES = 40
# Each of them takes about a second at most. Where files, measurements or many processes are needed,
# the page shows the help alone.
EXAMPLES: dict[str, tuple[str, ...]] = {
    "solve": (
        "jettison solve remat-chain opt-350m-b4-a100-40 --memory 30% --output plan.json",
        "jettison solve weight-offload gpt2-38-b16-table1 --memory 60% --bandwidth 12GB/s "
        "--method greedy",
    ),
    "bound": (
        "jettison bound remat-chain opt-350m-b4-a100-40 --memory 30% --schedule plan.json "
        "--certificate bound.gz",
    ),
    "verify": ("jettison verify plan.json bound.gz",),
    "compare": (
        "jettison compare remat-chain opt-350m-b4-a100-40 --memory 30%,50% "
        "--methods rotor,periodic,chen-sqrt",
    ),
    "show": ("jettison show opt-350m-b4-a100-40",),
    "list": (
        "jettison list methods sharding",
        "jettison list cards",
    ),
    "export": (
        "jettison export remat-graph alexnet-graph-b256-gpu --memory 75% --output model.lp --json",
    ),
    "export-policy": (
        "jettison export-policy gpt2-tiny-graph-b4-64-cpu --memory 97% --to joint-graph "
        "--output joint.py",
    ),
    "generate": (
        "jettison generate three-partition --groups 8 --target 1000 --answer no --output hard",
        "jettison verify hard",
    ),
    "throughput": (
        "jettison throughput remat-chain opt-350m-b1-a100-40 opt-350m-b2-a100-40 "
        "opt-350m-b4-a100-40 --memory 4GiB --method rotor",
    ),
}


def outputs(folder: Path) -> dict[str, list[str]]:
    """Run all examples in a folder; return for each command what a reader would see.

    Raises
    ------
    RuntimeError
        If an example fails: its page would show an error.
    """
    with _inside(folder):
        return {name: [_shown(line) for line in lines] for name, lines in EXAMPLES.items()}


def _shown(line: str) -> str:
    result = CliRunner().invoke(app, shlex.split(line)[1:])
    if result.exit_code != 0:
        raise RuntimeError(f"{line}: exit status {result.exit_code}\n{result.output}")
    printed = result.stdout.rstrip().splitlines()
    if len(printed) > MOST_LINES:
        printed = [*printed[:MOST_LINES], f"... {len(printed) - MOST_LINES} more lines"]
    # The times of this machine are not those of the reader.
    printed = [re.sub(r"^(seconds +)[\d.]+$", r"\g<1>...", text.rstrip()) for text in printed]
    wrapped = line.replace(" --", " \\\n    --", 1) if len(line) > 78 else line
    return "\n".join([f"$ {wrapped}", *printed])


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        os.chdir(before)
