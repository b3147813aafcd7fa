"""Table of compiled plans beside PyTorch's budgets, written from the record into its page."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

HERE = Path(__file__).parent
RECORD = HERE / "compiled_budgets.csv"
PAGE = HERE.parent / "docs" / "torch_compile.md"
BEGIN, END = "<!-- compiled_budgets: begin -->", "<!-- compiled_budgets: end -->"
_MIB = 2**20


def table(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the table of the page, from the lines of the record."""
    lines = [
        f"PyTorch {rows[0]['torch_version']}; slowdowns are by `torch.compile`, in turns.",
        "",
        "| compiled by | limit MiB | predicted | measured peak | CPU time of a step | slowdown |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        sizes = [
            f"{int(row[name]) / _MIB:.2f}" if row[name] else ""
            for name in ("limit_bytes", "predicted_bytes", "measured_bytes")
        ]
        times = [f"{float(row['cpu_ms']):.1f} ms", f"{float(row['slowdown']):.2f}"]
        lines.append(f"| {' | '.join([row['name'], *sizes, *times])} |")
    again = [
        f"{float(row['overhead']):.2%} (no plan of its limit less than "
        f"{float(row['least_overhead']):.2%})"
        for row in rows
        if row["overhead"] and row["least_overhead"]
    ]
    return [*lines, "", f"The plans compute again, by the assumed rates: {', '.join(again)}."]


def write_table(page: Path, record: Path) -> None:
    """Replace the table of the page; the file is replaced as a whole."""
    with record.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    beside = page.with_suffix(".new")
    beside.write_text("\n".join([before + BEGIN, *table(rows), END + after]), encoding="utf-8")
    beside.replace(page)
