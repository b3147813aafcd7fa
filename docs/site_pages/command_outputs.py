"""Outputs of commands on their pages: each is run when the pages are made.

Commands run one after the other in one folder, so that a later one reads what an earlier one wrote.
What needs PyTorch is recorded here, and a test that has PyTorch runs it again.
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

ROOT = Path(__file__).parent.parent.parent
# Lines that are shown of a long output.
MOST_LINES = 40
# The study that `sweep` runs: two methods in two memories.
STUDY = """\
name = "two methods"
memory_limit = "2GiB"

[[grid]]
problem = "remat-chain"
instances = "opt-350m-b4-a100-40"
memory = ["30%", "50%"]
methods = ["rotor", "chen-sqrt"]
time_limit_s = 60
"""
# A tiny file of another project, which the commands find in their folder.
IMPORTED = "tests/instances/importers/samples/residual.graph.txt"
# A line that begins with `cat` shows a file of the folder. Most take about a second.
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
    "import": (
        "jettison import pipedream residual.graph.txt --output residual.json",
        "jettison show residual.json",
    ),
    "sweep": (
        "cat study.toml",
        "jettison sweep study.toml --output results",
    ),
    "report": ("jettison report results --table table.csv --json",),
    "largest-batch": ("jettison largest-batch perceptron-12 --memory 600KiB",),
    "generate": (
        "jettison generate three-partition --groups 8 --target 1000 --answer no --output hard",
        "jettison verify hard",
    ),
    "throughput": (
        "jettison throughput remat-chain opt-350m-b1-a100-40 opt-350m-b2-a100-40 "
        "opt-350m-b4-a100-40 --memory 4GiB --method rotor",
    ),
}
# A profile without measurements: sizes are exact and durations modelled, so that it is the same on
# every machine.
PROFILED = (
    "jettison profile resnet18 --batch 4 --input 3x64x64 --costs roofline --output resnet18.json",
    "jettison solve remat-chain resnet18.json --memory 75%",
)
RECORDED: dict[str, tuple[str, ...]] = {
    "profile": (
        """\
$ jettison profile resnet18 \\
    --batch 4 --input 3x64x64 --costs roofline --output resnet18.json
wrote resnet18.json: chain resnet18-b4-3x64x64-roofline, 11 stages""",
        """\
$ jettison solve remat-chain resnet18.json --memory 75%
problem      remat-chain resnet18-b4-3x64x64-roofline
memory       5.26 MiB (5514816 bytes)
method       unrestricted
status       optimal (completed)
time         922.7 us (922686 ns, +2.65 % over no recomputation)
peak         4.44 MiB (4654592 bytes)
lower bound  922.7 us (922686 ns, unrestricted)
valid for    all schedules, by exact arithmetic
gap          0.00 %
seconds      ...""",
    )
}


def outputs(folder: Path) -> dict[str, list[str]]:
    """Run all examples in a folder; return for each command what a reader would see.

    Raises
    ------
    RuntimeError
        If an example fails: its page would show an error.
    """
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    sample = ROOT / IMPORTED
    (folder / sample.name).write_bytes(sample.read_bytes())
    with _inside(folder):
        run = {name: [shown(line) for line in lines] for name, lines in EXAMPLES.items()}
    return run | {name: list(texts) for name, texts in RECORDED.items()}


def shown(line: str) -> str:
    """Run a command in this folder; return the command and what a reader would see.

    Raises
    ------
    RuntimeError
        If it fails.
    """
    if line.startswith("cat "):
        return "\n".join([f"$ {line}", Path(line[4:]).read_text(encoding="utf-8").rstrip()])
    result = CliRunner().invoke(app, shlex.split(line)[1:])
    if result.exit_code != 0:
        raise RuntimeError(f"{line}: exit status {result.exit_code}\n{result.output}")
    printed = result.output.rstrip().splitlines()
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
