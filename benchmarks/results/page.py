"""Page of results, written from the records: one command, and a test that it is up to date.

.venv/bin/python -m benchmarks.results.page
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.marks import graphs
from benchmarks.results.board import Standing, standings
from benchmarks.results.record import CERTIFIED, HERE, RECORDS, Record, read_records
from jettison.instances.core.errors import InputError
from jettison.instances.core.json_file import write_text
from jettison.instances.core.units import format_bytes, format_ns
from jettison.solvers.core.registry import PROBLEM_KINDS, find_kind

ROOT = HERE.parent.parent
PAGE = ROOT / "docs" / "results.md"
PARTS = ("counts", "results", "published", "papers")
_PROBLEM_COLUMNS = (
    "instance",
    "resources",
    "time",
    "bound",
    "gap",
    "holds for",
    "method, CPU s",
    "certificate",
    "device",
)


def page_text(page: str, records: Sequence[Record]) -> str:
    """Return the text of the page with its parts written anew from records."""
    parts = {
        "counts": _counts(standings(records)),
        "results": _results(records),
        "published": _published(records),
        "papers": _papers(),
    }
    for name in PARTS:
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        before, found, rest = page.partition(begin)
        _, found_end, after = rest.partition(end)
        if not found or not found_end:
            raise InputError(f"there is no {begin}", field="page", expected="write it, and its end")
        page = "\n".join([before + begin, "", *parts[name], "", end + after])
    return page


def _counts(cases: Sequence[Standing]) -> list[str]:
    certified = [case for case in cases if _is_certified(case)]
    proved = [case for case in certified if case.gap == 0]
    kept = [case for case in certified if case.tightest.bound.is_kept]
    return [
        f"{len(cases)} cases, of {len({case.record.problem for case in cases})} problems. "
        f"{len(certified)} have a certified bound, of which {len(kept)} stand here with the "
        f"certificate. In {len(proved)} of the {len(certified)} the schedule meets the bound, so "
        "that no schedule of its class is faster."
    ]


def _is_certified(case: Standing) -> bool:
    tightest = case.tightest
    return (
        tightest is not None
        and tightest.bound is not None
        and (tightest.bound.evidence == CERTIFIED)
    )


def _results(records: Sequence[Record]) -> list[str]:
    lines = []
    for kind in PROBLEM_KINDS:
        cases = standings(record for record in records if record.problem == kind.name)
        if not cases:
            continue
        lines += ["", f"### {kind.name}", "", f"{kind.summary[:1].upper()}{kind.summary[1:]}", ""]
        lines += [f"| {' | '.join(_PROBLEM_COLUMNS)} |", "|" + "---|" * len(_PROBLEM_COLUMNS)]
        lines += [f"| {' | '.join(_row(case))} |" for case in cases]
    return lines[1:]


def _row(case: Standing) -> list[str]:
    record, fastest, tightest = case.record, case.fastest, case.tightest
    schedule = None if fastest is None else fastest.schedule
    bound = None if tightest is None else tightest.bound
    cpu_s = None if fastest is None else fastest.cpu_seconds
    time = bound_text = method = holds_for = certificate = ""
    if schedule is not None and fastest is not None:
        time = _linked(_amount(record, schedule.time_ns), fastest.schedule_path)
        method = f"`{schedule.method}`"
    if bound is not None and tightest is not None:
        bound_text = _amount(record, bound.time_ns)
        holds_for = bound.valid_for
        certificate = _certificate(tightest)
    return [
        f"`{record.instance}`",
        _resources(record),
        time,
        bound_text,
        _gap(case),
        holds_for,
        method if cpu_s is None else f"{method}, {cpu_s:.1f}",
        certificate,
        record.device or "-",
    ]


def _gap(case: Standing) -> str:
    """Return the gap in words, which claim no more than what is certified."""
    if case.gap is None:
        return ""
    said = "0" if case.gap == 0 else f"{case.gap:.2%}"
    if not _is_certified(case):
        return f"{said}, not certified"
    return f"{said}, proved" if case.gap == 0 else said


def _certificate(record: Record) -> str:
    bound = record.bound
    assert bound is not None
    if bound.certificate_sha256 is None:
        return f"none: {bound.evidence}"
    short = f"`{bound.certificate_sha256[:12]}`"
    if bound.certificate_bytes is not None:
        return f"{short}, {bound.certificate_bytes // 1000} kB, not kept"
    return _linked(bound.certificate_sha256[:12], record.certificate_path)


def _linked(text: str, path: Path) -> str:
    """Return a link by which the reader downloads a file of the repository."""
    if not path.is_relative_to(ROOT):
        return text
    return f"{{download}}`{text} <../{path.relative_to(ROOT)}>`"


def _amount(record: Record, time_ns: int) -> str:
    """Return a time; what the contest calls a cost has no unit."""
    return str(time_ns) if record.problem == "sharding" else format_ns(time_ns)


def _resources(record: Record) -> str:
    given = record.resources
    shown = [format_bytes(record.memory_bytes)]
    # A share or a ratio is what was asked for; an amount says nothing more.
    if (given.says_memory and given.memory_text.startswith("alpha")) or "%" in (given.memory or ""):
        shown[0] += f" ({given.memory_text.replace('=', ' ')})"
    texts = (getattr(given, key) for key in ("bandwidth", "transfers", "host_memory"))
    shown += [text for text in texts if text is not None]
    counts = ("models", "devices", "microbatches", "weight_copies", "chunks")
    shown += [
        f"{getattr(given, key)} {key.replace('_', ' ')}"
        for key in counts
        if getattr(given, key) is not None
    ]
    return ", ".join(shown)


def published(path: Path = HERE / "published.toml") -> list[dict[str, str]]:
    """Return what others published, each with its case, number and source."""
    entries: list[dict[str, str]] = tomllib.loads(path.read_text(encoding="utf-8"))["published"]
    for entry in entries:
        find_kind(entry["problem"])
        if sum(key in entry for key in ("record", "mark", "ours")) != 1:
            raise InputError(
                f"{entry['case']} has not one of record, mark and ours",
                field="published",
                source=str(path),
                expected="say by one of them what is here",
            )
    return entries


def _published(records: Sequence[Record]) -> list[str]:
    by_name = {f"{record.problem}/{record.folder.name}": record for record in records}
    marks = {f"{mark.graph} {mark.memory}": mark for mark in graphs.PUBLISHED}
    lines = ["| problem | case | published | here | source |", "|" + "---|" * 5]
    for entry in published():
        ours = entry.get("ours", "")
        if "record" in entry:
            ours = _said(by_name[entry["record"]])
        elif "mark" in entry:
            mark = marks[entry["mark"]]
            ours = (
                f"overhead {mark.overhead:.4f} %, at least {mark.proved:.4f} % proved, in less "
                f"than {mark.cpu_limit_s:g} CPU s of one thread"
            )
        cells = [entry["problem"], entry["case"], entry["said"], ours, entry["source"]]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _said(record: Record) -> str:
    parts = []
    if record.schedule is not None:
        parts.append(f"cost {record.schedule.time_ns}")
    if record.bound is not None:
        parts.append(f"bound {record.bound.time_ns} ({record.bound.evidence})")
    if record.cpu_seconds is not None:
        parts.append(f"in {record.cpu_seconds:.1f} CPU s")
    return ", ".join(parts)


def _papers() -> list[str]:
    """Return the numbers of the papers that are computed here as well, from their lists."""
    lines = ["| paper | statement | its number | ours |", "|---|---|---|---|"]
    for path in sorted((ROOT / "docs" / "papers").glob("*.toml")):
        listed: Mapping[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
        for entry in listed["entry"]:
            if entry.get("paper") and entry.get("ours"):
                cells = (
                    f"[{path.stem}](generated/papers/{path.stem}.rst)",
                    entry["title"],
                    entry["paper"],
                    entry["ours"],
                )
                lines.append(f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |")
    return lines


def main() -> None:
    """Write the page."""
    write_text(page_text(PAGE.read_text(encoding="utf-8"), read_records(RECORDS)), PAGE)


if __name__ == "__main__":
    main()
