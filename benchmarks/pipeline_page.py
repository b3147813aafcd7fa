"""Table of pipelines, written from the record into its page.

.venv/bin/python -m benchmarks.pipeline_page
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

HERE = Path(__file__).parent
RECORD = HERE / "pipeline.csv"
PAGE = HERE.parent / "docs" / "pipelines.md"
BEGIN, END = "<!-- pipeline: begin -->", "<!-- pipeline: end -->"
_SHOWN = (
    "exact",
    "bottleneck",
    "interleaved",
    "equal-time",
    "equal-stages",
    "pipedream",
    "megatron-full",
    "megatron-interleaved",
)
_PROBLEM = ("chain", "devices", "memory", "chunks")


def table(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the table of the page, from the lines of the record: a line for each problem."""
    problems: dict[tuple[str, ...], dict[str, Mapping[str, str]]] = {}
    for row in rows:
        problems.setdefault(tuple(row[key] for key in _PROBLEM), {})[row["method"]] = row
    lines = [
        f"| chain | devices | memory | chunks | bound | gap | {' | '.join(_SHOWN)} | CPU |",
        "|" + "---|" * (len(_SHOWN) + 7),
    ]
    for problem, methods in problems.items():
        best = methods["exact"]
        bound, gap = _seconds(best["bound_ms"]), ""
        if best["step_ms"]:
            gap = f"{1 - float(best['bound_ms']) / float(best['step_ms']):.2%}"
        elif best["status"].startswith("infeasible"):
            bound = "nothing fits"
        steps = [_seconds(methods[name]["step_ms"]) if name in methods else "" for name in _SHOWN]
        cells = [*problem, bound, gap, *steps, f"{float(best['cpu_seconds']):.1f} s"]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _seconds(step_ms: str) -> str:
    return f"{float(step_ms) / 1e3:.2f} s" if step_ms else ""


def write_table(page: Path, record: Path) -> None:
    """Replace the table of the page; the file is replaced as a whole."""
    with record.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    beside = page.with_suffix(".new")
    parts = [before + BEGIN, "", *table(rows), "", END + after]
    beside.write_text("\n".join(parts), encoding="utf-8")
    beside.replace(page)


if __name__ == "__main__":
    write_table(PAGE, RECORD)
