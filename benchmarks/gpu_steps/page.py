"""Table of steps on a GPU beside what their plans predict, from the record into its page.

python -m benchmarks.gpu_steps.page
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

HERE = Path(__file__).parent
RECORD = HERE / "rows.csv"
PAGE = HERE.parents[1] / "docs" / "on_a_gpu.md"
BEGIN, END = "<!-- gpu_steps: begin -->", "<!-- gpu_steps: end -->"
_MIB = 2**20
_MS = 1e6


def table(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the table of the page, and the means below it."""
    lines = [
        "| step | plan | memory | ms predicted | measured | plain | MiB predicted | measured |",
        "|---|---|---|---|---|---|---|---|",
    ]
    run = [row for row in rows if row["measured_ns"]]
    for row in run:
        times = [
            f"{time_ns / _MS:.1f}" for time_ns in (_predicted_ns(row), int(row["measured_ns"]))
        ]
        peaks = [
            f"{int(row[name]) / _MIB:,.0f}" if row[name] else ""
            for name in ("predicted_bytes", "measured_bytes")
        ]
        plain = f"{int(row['plain_ns']) / _MS:.1f}"
        cells = [row["model"], row["plan"], row["share"], *times, plain, *peaks]
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, "", _means(run)]


def _predicted_ns(row: Mapping[str, str]) -> float:
    """Return the predicted time; a compiled step's plan predicts by how much it is slower."""
    predicted_ns = int(row["predicted_ns"])
    if not row["plan"].startswith("compiled"):
        return predicted_ns
    return int(row["plain_ns"]) * predicted_ns / int(row["base_ns"])


def _means(rows: Sequence[Mapping[str, str]]) -> str:
    sized = [row for row in rows if row["measured_bytes"]]
    still = [row for row in sized if "offload" not in row["plan"]]
    sent = [row for row in sized if "offload" in row["plan"]]
    return (
        f"Predicted peaks are off by {_off(still, 'bytes'):.2%} on average, at most "
        f"{_off(still, 'bytes', max):.2%}; with copies of activations to the host by "
        f"{_off(sent, 'bytes'):.1%}, at most {_off(sent, 'bytes', max):.1%}."
    )


def _off(rows: Sequence[Mapping[str, str]], unit: str, of: object = fmean) -> float:
    assert callable(of)
    return float(
        of(abs(int(row[f"predicted_{unit}"]) / int(row[f"measured_{unit}"]) - 1) for row in rows)
    )


def main() -> None:
    """Replace the table of the page; the file is replaced as a whole."""
    with RECORD.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    beside = PAGE.with_suffix(".new")
    beside.write_text("\n".join([before + BEGIN, *table(rows), END + after]), encoding="utf-8")
    beside.replace(PAGE)


if __name__ == "__main__":
    main()
