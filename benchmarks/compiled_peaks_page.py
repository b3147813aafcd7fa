"""Table of predicted and measured peaks under Inductor, written from the record into its page."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

HERE = Path(__file__).parent
RECORD = HERE / "compiled_peaks.csv"
PAGE = HERE.parent / "docs" / "torch_compile.md"
BEGIN, END = "<!-- compiled_peaks: begin -->", "<!-- compiled_peaks: end -->"


def read_record(path: Path) -> list[dict[str, str]]:
    """Return the lines of the record; none where there is no file."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def table(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the table of the page: a line for each limit, with all plans in the last columns."""
    apart = [_apart(row) for row in rows]
    lines = [
        f"PyTorch {rows[0]['torch_version']}. Of all {len(rows)} plans that were compiled, chosen"
        f" or not, the code predicts the measured peak to {max(apart):.2%}.",
        "",
        "| model | share | limit | by the plan | predicted | measured | measured / limit"
        " | recomputation | plans compiled |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    limits: dict[tuple[str, str], list[Mapping[str, str]]] = {}
    for row in rows:
        limits.setdefault((row["model"], row["share"]), []).append(row)
    for (model, share), found in limits.items():
        chosen = [row for row in found if row["is_chosen"] == "True"]
        row = chosen[0] if chosen else min(found, key=lambda row: int(row["measured_bytes"]))
        sizes = [
            f"{int(row[name]):,}"
            for name in ("limit_bytes", "plan_bytes", "predicted_bytes", "measured_bytes")
        ]
        used = int(row["measured_bytes"]) / int(row["limit_bytes"])
        cells = [
            model,
            share.replace("%", " %"),
            *sizes,
            f"{used:.3f}" if chosen else f"refused ({used:.3f})",
            f"{float(row['slowdown']) - 1:.1%}",
            str(len(found) - 1),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def write_table(page: Path, record: Path) -> None:
    """Replace the table of the page; the file is replaced as a whole."""
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    beside = page.with_suffix(".new")
    lines = table(read_record(record))
    beside.write_text("\n".join([before + BEGIN, *lines, END + after]), encoding="utf-8")
    beside.replace(page)


def _apart(row: Mapping[str, str]) -> float:
    return abs(int(row["predicted_bytes"]) / int(row["measured_bytes"]) - 1)
