"""Page of the documentation with the table of real models, written from the recorded rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks.real_models.catalogue.entries import ENTRIES
from benchmarks.real_models.table_row import Key, TableRow

_MIB = 2**20
_HEAD = """# Real models

Training steps of models as people write them (timm, torchvision, transformers, diffusers) that
run by a schedule: what was predicted, what was measured, and what no schedule can avoid. Weights
are random and configurations small, such that a step takes some tens of MiB and less than a
second.

<!-- not run: needs timm, torchvision, transformers and diffusers, and takes an hour -->
```sh
python -m benchmarks.real_models.table                # measures what is missing, writes this page
python -m benchmarks.real_models.table --again llama  # one model anew
```

Each model runs in a process of its own, on one thread of a CPU, in single precision, with limits
of time and memory. What fails has a line below the tables. Peaks are those of PyTorch's
allocator above what is there before the step; gradients of parameters are a part of them. Times
are CPU time: steps by schedule and plain ones take turns, and the median of their ratios counts.
Measured slowdowns of eager steps by schedule include the dispatch of each operator from Python;
predicted ones and bounds are on the costs of the operators alone. *Dispatch* is the measured
slowdown of the same executor where nothing is computed again (the schedule in 100 % of the peak;
under a compiler, what it makes without a plan), in the same turns, and *recomputation* is the
measured slowdown by that: what stands beside the prediction. A *bound* is the least slowdown of any
schedule in the same memory, as proved by the solver, in its time limit, on the measured costs of
the operators. *Gradients* are compared with those of plain PyTorch on the same random numbers.

## How a step is traced

Three ways are tried, from the one that changes least (`step_fronts`):

1. *as it runs*: Python code of the model takes the branches that it takes in plain PyTorch;
2. *exported*: ``torch.export`` runs it once more, and tells it that a compiler is at work;
   models that ask (most of transformers do, before they look into a mask) then read no values of
   tensors. The loss is compared with that of the plain step, and a step that differs is refused;
3. *interpreted*: Dynamo reads the byte code.

Where a model takes other kernels for compilers (attention with a mask, where plain PyTorch calls
the kernel for causal attention without one), gradients differ by roundings. Everywhere else they
are equal to the bit.
"""


_BASELINES = (
    (
        "Beside per-block checkpointing",
        "blocks",
        "Each block of the model in `torch.utils.checkpoint` (not reentrant), under the same "
        "executor, and the schedule in the measured peak of that.",
    ),
    (
        "Beside torch's own budget",
        "budget-0.5",
        "`activation_memory_budget = 0.5` under `torch.compile` with the graph run operator by "
        "operator, and the schedule in the measured peak of that.",
    ),
)


def write_page(path: Path, rows: Mapping[Key, TableRow]) -> None:
    """Write the page; the file is replaced as a whole."""
    ordered = [rows[key] for key in sorted(rows, key=lambda key: [*ENTRIES].index(key[0]))]
    ours = [row for row in ordered if row.plan.endswith("%") and not row.error]
    parts = [_HEAD, *_summary(ours)]
    for executor in dict.fromkeys(row.executor for row in ours):
        parts += _shares(executor, [row for row in ours if row.executor == executor])
    for title, plan, text in _BASELINES:
        found = [row for row in ordered if row.plan == plan and not row.error]
        for executor in dict.fromkeys(row.executor for row in found):
            rows_of = [row for row in found if row.executor == executor]
            parts += _others(f"{title}, {executor}", text, rows_of)
    parts += _failures([row for row in ordered if row.error])
    beside = path.with_suffix(".new")
    beside.write_text("\n".join(parts).rstrip() + "\n", encoding="utf-8")
    beside.replace(path)


def _summary(ours: Sequence[TableRow]) -> list[str]:
    held = sum(row.holds for row in ours)
    predicted = sum(row.is_predicted for row in ours)
    equal = sum(row.gradients == "equal" for row in ours)
    lines = [
        "## In figures",
        "",
        f"Of {len(ours)} steps in a share of their peak, {held} stay within 1 % of the limit, the "
        f"peak of {predicted} is predicted within 3 %, and the gradients of {equal} are equal to "
        f"the bit. Eager ones: {_marks(ours, 'eager')}.",
        "",
    ]
    late = [row for row in ours if not row.holds]
    apart = [row for row in ours if not row.is_predicted]
    undispatched = [row for row in ours if row.dispatch_slowdown is None]
    if undispatched:
        lines += [
            f"{len(undispatched)} rows have no figure for dispatch: they were recorded before it "
            "was measured.",
            "",
        ]
    for title, found in (("Above their limit", late), ("Predicted worse", apart)):
        if found:
            named = ", ".join(f"{row.model}, {row.executor} ({_ratio(row)})" for row in found)
            lines += [f"{title}, measured by predicted: {named}.", ""]
    return lines


def _marks(ours: Sequence[TableRow], executor: str) -> str:
    """Return what holds of the models of the table, those that fail included."""
    rows = [row for row in ours if row.executor == executor]
    held, predicted = sum(row.holds for row in rows), sum(row.is_predicted for row in rows)
    return (
        f"{len(rows)} of {len(ENTRIES)} models run, {held} within the limit, {predicted} as "
        "predicted"
    )


def _ratio(row: TableRow) -> str:
    return f"{(row.measured_bytes or 0) / (row.predicted_bytes or 1):.3f}"


def _shares(executor: str, rows: Iterable[TableRow]) -> list[str]:
    head = (
        "model",
        "nodes",
        "traced",
        "solve s",
        "plain ms",
        "plain MiB",
        "limit MiB",
        "predicted MiB",
        "measured MiB",
        "predicted slowdown",
        "measured",
        "dispatch",
        "recomputation",
        "bound",
        "gradients",
    )
    cells = [
        (
            row.model,
            "" if row.nodes is None else str(row.nodes),
            row.front.replace("_", " "),
            _number(row.solve_s, 1),
            _number(row.plain_ms, 0),
            _mib(row.plain_bytes),
            _mib(row.limit_bytes),
            _mib(row.predicted_bytes),
            _mib(row.measured_bytes),
            _number(row.predicted_slowdown, 3),
            _number(row.measured_slowdown, 2),
            _number(row.dispatch_slowdown, 2),
            _number(row.recomputation, 2),
            _number(row.bound_slowdown, 3),
            row.gradients,
        )
        for row in rows
    ]
    title = f"## In 60 % of the peak, {executor}"
    return [title, "", *_table(head, cells), ""]


def _others(title: str, text: str, rows: Sequence[TableRow]) -> list[str]:
    if not rows:
        return []
    head = (
        "model",
        "its peak MiB",
        "its slowdown",
        "our peak MiB",
        "our slowdown",
        "dispatch",
        "recomputation",
        "predicted",
        "bound",
    )
    cells = [
        (
            row.model,
            _mib(row.other_bytes),
            _number(row.other_slowdown, 2),
            _mib(row.measured_bytes),
            _number(row.measured_slowdown, 2),
            _number(row.dispatch_slowdown, 2),
            _number(row.recomputation, 2),
            _number(row.predicted_slowdown, 3),
            _number(row.bound_slowdown, 3),
        )
        for row in rows
    ]
    return [f"## {title}", "", text, "", _beside(rows), "", *_table(head, cells), ""]


def _beside(rows: Sequence[TableRow]) -> str:
    """Return on how many models the schedule takes less time than the other planner."""
    pairs = [
        (row.measured_slowdown, row.recomputation or row.measured_slowdown, row.other_slowdown)
        for row in rows
        if row.measured_slowdown is not None and row.other_slowdown is not None
    ]
    faster = sum(ours < other for ours, _, other in pairs)
    apart = sum(alone < other for _, alone, other in pairs)
    return (
        f"As measured the schedule takes less time on {faster} of {len(pairs)} models, with its "
        f"dispatch taken off on {apart}."
    )


def _failures(rows: Sequence[TableRow]) -> list[str]:
    if not rows:
        return []
    return [
        "## What failed",
        "",
        *_table(
            ("model", "plan", "executor", "reason"),
            [
                (row.model, row.plan, row.executor, row.error.replace("|", "/")[:200])
                for row in rows
            ],
        ),
        "",
    ]


def _table(head: Sequence[str], cells: Sequence[Sequence[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *cells]
    return [f"| {' | '.join(line)} |" for line in lines]


def _mib(size: int | None) -> str:
    return "" if size is None else f"{size / _MIB:.2f}"


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"
