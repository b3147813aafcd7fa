"""Measure all marks, and fail if one is lost: `benchmarks/marks.py` says how."""

from __future__ import annotations

import argparse
import sys
from fnmatch import fnmatch
from pathlib import Path

from benchmarks.marks import graphs, kiwi, multi_model, sharding
from benchmarks.marks.table import lines_of, read_table, record_of, write_table
from jettison.instances.core.errors import InputError

QUICK_CPU_S = 15.0


def main(given: list[str] | None = None) -> int:
    """Measure what the options choose; return 1 if a mark is lost, or else 0."""
    parser = argparse.ArgumentParser(
        prog="marks.py", description="Measure all marks, and fail if one is lost."
    )
    parser.add_argument("--data", type=Path, help="folder with the folders moccasin and iopddl")
    parser.add_argument("--only", default="*", help="such as 'remat-graph ResNet50* 30%%*'")
    parser.add_argument(
        "--quick", action="store_true", help=f"marks of at most {QUICK_CPU_S:g} CPU s"
    )
    parser.add_argument("--list", action="store_true", help="list the marks, and measure nothing")
    parser.add_argument("--record", type=Path, help="CSV file; what it has is not measured again")
    arguments = parser.parse_args(given)
    folders = [
        None if arguments.data is None else arguments.data / name for name in ("moccasin", "iopddl")
    ]
    if arguments.data is not None and not any(
        folder is not None and folder.is_dir() for folder in folders
    ):
        raise InputError(
            f"{arguments.data} has neither moccasin nor iopddl",
            field="data",
            expected="a folder that has one of them",
        )
    jobs = [
        job
        for job in (
            *graphs.jobs(folders[0]),
            *sharding.jobs(folders[1]),
            *kiwi.jobs(),
            *multi_model.jobs(),
        )
        if fnmatch(job.key, arguments.only)
        and (not arguments.quick or job.cpu_limit_s <= QUICK_CPU_S)
    ]
    if not jobs:
        raise InputError(
            f"no mark is called {arguments.only!r}",
            field="only",
            expected="a pattern of what --list shows",
        )
    if arguments.list:
        print("\n".join(job.key for job in jobs))
        return 0
    known = {} if arguments.record is None else read_table(arguments.record)
    held: list[str] = []
    for job in jobs:
        # What lacked a file before is tried again.
        if job.key not in known or known[job.key]["held"] == "left out":
            known[job.key] = record_of(job, job.measure())
            if arguments.record is not None:
                write_table(arguments.record, known)
        held.append(known[job.key]["held"])
        print("\n".join(lines_of(known[job.key])), flush=True)
    lost = held.count("LOST")
    print(f"{held.count('held')} held, {lost} lost, {held.count('left out')} left out")
    return 1 if lost else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except InputError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(2)
