"""Page of the documentation with the table of real models, written from the recorded rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from benchmarks.real_models.catalogue.entries import ENTRIES
from benchmarks.real_models.page_text import BESIDE, COLUMNS, COMPILED, DETAILS, HEAD, TRACED
from benchmarks.real_models.table_row import Key, TableRow

_MIB = 2**20
_BLOCKS, _BUDGET = "blocks", "budget-0.5"


def write_page(path: Path, rows: Mapping[Key, TableRow]) -> None:
    """Write the page; the file is replaced as a whole."""
    ordered = [rows[key] for key in sorted(rows, key=lambda key: [*ENTRIES].index(key[0]))]
    found = [row for row in ordered if not row.error]
    shares = [row for row in found if row.plan.endswith("%")]
    eager = [row for row in shares if row.executor == "eager"]
    compiled = [row for row in shares if row.executor != "eager"]
    parts = [HEAD, *_summary(eager, compiled), "## In 60 % of the peak", "", COLUMNS, ""]
    parts += [*_shares(eager), ""]
    beside = [row for row in found if not row.plan.endswith("%")]
    parts += ["## Beside other planners", "", BESIDE, ""]
    for executor in dict.fromkeys(row.executor for row in beside):
        parts += _beside(executor, [row for row in beside if row.executor == executor])
    if compiled:
        parts += ["## Under torch.compile", "", COMPILED, "", *_shares(compiled), ""]
    parts += ["## How a step is traced", "", TRACED, "", *_details(eager), ""]
    parts += _failures([row for row in ordered if row.error])
    replaced = path.with_suffix(".new")
    replaced.write_text("\n".join(parts).rstrip() + "\n", encoding="utf-8")
    replaced.replace(path)


def _summary(eager: Sequence[TableRow], compiled: Sequence[TableRow]) -> list[str]:
    """Return what holds of the models, with those named for which it does not."""
    lines = ["## In figures", ""]
    others = [
        f"{row.model} (in {row.plan.replace('%', ' %')})" for row in eager if row.plan != "60%"
    ]
    lines.append(
        f"- Operator by operator {len(eager)} of {len(ENTRIES)} models run in 60 % of their peak"
        + (f", or a little more: {', '.join(others)}. " if others else ". ")
        + _held("Of these", eager)
    )
    if compiled:
        lines.append("- " + _held(f"Of {len(compiled)} compiled steps", compiled))
    late = [row for row in (*eager, *compiled) if not row.holds]
    apart = [row for row in (*eager, *compiled) if not row.is_predicted]
    for title, rows in (("Above their limit", late), ("Predicted worse", apart)):
        if rows:
            named = ", ".join(f"{row.model}, {row.executor} ({_ratio(row)})" for row in rows)
            lines.append(f"- {title}, measured by predicted: {named}.")
    rounded = [row for row in eager if row.gradients != "equal"]
    if rounded:
        named = ", ".join(f"{row.model} {row.gradients}" for row in rounded)
        lines.append(f"- Gradients that are not equal differ by roundings: {named}, relative.")
    return [*lines, ""]


def _held(start: str, rows: Sequence[TableRow]) -> str:
    return (
        f"{start}, {sum(row.holds for row in rows)} stay within 1 % of the limit, the peak of "
        f"{sum(row.is_predicted for row in rows)} is predicted within 3 %, and the gradients of "
        f"{sum(row.gradients == 'equal' for row in rows)} are equal to the bit."
    )


def _ratio(row: TableRow) -> str:
    return f"{(row.measured_bytes or 0) / (row.predicted_bytes or 1):.3f}"


def _name(row: TableRow) -> str:
    name = row.model if row.plan in {"60%", _BLOCKS, _BUDGET} else f"{row.model}, {row.plan}"
    return name if row.executor == "eager" else f"{name}, {row.executor}"


def _shares(rows: Sequence[TableRow]) -> list[str]:
    return _table(
        (
            "model",
            "limit MiB",
            "predicted",
            "measured",
            "slowdown, predicted",
            "measured",
            "without dispatch",
            "least possible",
        ),
        [
            (
                _name(row),
                _mib(row.limit_bytes),
                _mib(row.predicted_bytes),
                _mib(row.measured_bytes),
                _number(row.predicted_slowdown, 3),
                _number(row.measured_slowdown, 2),
                _number(row.recomputation, 2),
                _number(row.bound_slowdown, 3),
            )
            for row in rows
        ],
    )


def _beside(executor: str, rows: Sequence[TableRow]) -> list[str]:
    """Return one line for each model, with both planners beside the schedules in their peaks."""
    found = {(row.model, row.plan): row for row in rows}
    cells = []
    for name in dict.fromkeys(row.model for row in rows):
        line = [name]
        for plan in (_BLOCKS, _BUDGET):
            row = found.get((name, plan))
            if row is None:
                line += [""] * 4
                continue
            line += [
                _mib(row.other_bytes),
                _number(row.other_slowdown, 2),
                _number(row.measured_slowdown, 2),
                _number(row.recomputation, 2),
            ]
        cells.append(tuple(line))
    head = ("model",)
    for planner in ("blocks", "budget"):
        head += (f"{planner}: peak MiB", "its slowdown", "ours", "without dispatch")
    title = "Operator by operator" if executor == "eager" else f"Compiled by {executor}"
    lines = [f"### {title}", ""]
    for plan, title in ((_BLOCKS, "per-block checkpointing"), (_BUDGET, "torch's budget")):
        lines += _faster(title, [row for row in rows if row.plan == plan])
    return [*lines, "", *_table(head, cells), ""]


def _faster(title: str, rows: Sequence[TableRow]) -> list[str]:
    """Return on how many models the schedule takes less time than the other planner."""
    pairs = [
        (row.measured_slowdown, row.other_slowdown)
        for row in rows
        if row.measured_slowdown is not None and row.other_slowdown is not None
    ]
    if not pairs:
        return []
    return [
        f"- In the peak of {title} the schedule takes less time on "
        f"{sum(ours < other for ours, other in pairs)} of {len(pairs)} models, dispatch included: "
        f"the median slowdown is {median(ours for ours, _ in pairs):.2f} where that of {title} is "
        f"{median(other for _, other in pairs):.2f}."
    ]


def _details(rows: Sequence[TableRow]) -> list[str]:
    undispatched = [row.model for row in rows if row.dispatch_slowdown is None]
    lines = [DETAILS]
    if undispatched:
        lines += [
            f"{len(undispatched)} rows were recorded before dispatch was measured: "
            f"{', '.join(undispatched)}."
        ]
    head = ("model", "nodes", "traced", "solve s", "plain ms", "plain MiB", "gradients")
    cells = [
        (
            row.model,
            str(row.nodes or ""),
            row.front.replace("_", " "),
            _number(row.solve_s, 1),
            _number(row.plain_ms, 0),
            _mib(row.plain_bytes),
            row.gradients,
        )
        for row in rows
    ]
    return ["## Details", "", *lines, "", *_table(head, cells)]


def _failures(rows: Sequence[TableRow]) -> list[str]:
    if not rows:
        return []
    cells = [(row.model, row.plan, row.executor, _reason(row)) for row in rows]
    return ["## What failed", "", *_table(("model", "plan", "executor", "reason"), cells), ""]


def _reason(row: TableRow) -> str:
    text = row.error.replace("|", "/")
    # Words end where the reason is cut.
    return text if len(text) <= 220 else f"{text[:220].rpartition(' ')[0]} ..."


def _table(head: Sequence[str], cells: Sequence[Sequence[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *cells]
    return [f"| {' | '.join(line)} |" for line in lines]


def _mib(size: int | None) -> str:
    return "" if size is None else f"{size / _MIB:.2f}"


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"
