"""Check of the recorded results: schedules by their replay, certificates by `verify`.

    .venv/bin/python -m benchmarks.results.judge [--published FOLDER] [--only PATTERN]

A line for each record; the exit status is 1 if one does not hold. FOLDER holds the files of the
ASPLOS 2025 contest, without which records about them are left out, and the lines say so.
"""

from __future__ import annotations

import argparse
import sys
from fnmatch import fnmatch
from pathlib import Path

from benchmarks.results.record import CERTIFIED, LARGEST_BYTES, Record, read_records, sha256_of
from jettison.certificates.errors import CertificateError
from jettison.cli.verify.certificate import verify_certificate
from jettison.instances.core.errors import InputError
from jettison.instances.core.json_file import read_json
from jettison.schedules.core.any_schedule import Schedule
from jettison.schedules.core.schedule_class import ScheduleClass
from jettison.schedules.core.schedule_file import load_schedule
from jettison.schedules.sharding.strategy_choice import StrategyChoice
from jettison.solvers.core.problem import Problem
from jettison.solvers.core.result import replay_schedule


def judge_schedule(record: Record, published: Path | None = None) -> None:
    """Replay the schedule of a record, and compare what it says with what the replay says.

    Raises
    ------
    InputError
        If there is a difference, a rule is broken, or the file is not the one of the record.
    """
    if record.schedule is None:
        return
    _check_file(record, record.schedule_path, record.schedule.sha256)
    problem = record.posed(published)
    replay = replay_schedule(problem, read_schedule(record.schedule_path, problem))
    if not replay.valid:
        _refuse(record, "schedule", f"it breaks a rule: {replay.violations[0]}")
    found = (replay.time_ns, replay.peak_bytes, str(replay.schedule_class))
    stated = (
        record.schedule.time_ns,
        record.schedule.peak_bytes,
        record.schedule.schedule_class,
    )
    if stated != found:
        _refuse(record, "schedule", f"the record says {stated}, and the replay says {found}")


def judge_bound(record: Record) -> None:
    """Check the certificate of a record, and compare what it says with what the file proves.

    A bound without a certificate is only compared with the schedule beside it.

    Raises
    ------
    InputError
        If there is a difference, or the certificate is about another problem.
    CertificateError
        If the certificate proves nothing.
    """
    bound, schedule = record.bound, record.schedule
    if bound is None:
        return
    if schedule is not None and bound.time_ns > schedule.time_ns:
        covered = ScheduleClass(bound.valid_for).covers(ScheduleClass(schedule.schedule_class))
        if covered:
            _refuse(record, "bound", f"{bound.time_ns} ns is above the schedule's time")
    if (bound.evidence == CERTIFIED) != (bound.certificate_sha256 is not None):
        _refuse(record, "bound.evidence", f"{bound.evidence!r} does not fit certificate_sha256")
    if not bound.is_kept:
        return
    _check_file(record, record.certificate_path, bound.certificate_sha256)
    names = [record.instance] if record.published_file is None else []
    finding = verify_certificate(record.certificate_path, names, record.resources)
    found = (
        finding.details["problem"],
        finding.details["instance_sha256"],
        finding.details["time_ns"],
        finding.details["valid_for"],
    )
    stated = (record.problem, record.instance_sha256, bound.time_ns, bound.valid_for)
    if stated != found:
        _refuse(record, "bound", f"the record says {stated}, and the certificate proves {found}")


def read_schedule(path: Path, problem: Problem) -> Schedule:
    """Read a schedule file, or a bare list of strategies, in the order of the nodes.

    A choice for an instance with tens of thousands of nodes, whose names nobody needs, is short
    that way.

    Raises
    ------
    InputError
        If it is neither, or for another instance.
    """
    if problem.problem == "sharding":
        listed = read_json(path)
        if isinstance(listed, list):
            if not all(isinstance(item, int) for item in listed):
                raise InputError(
                    "an entry is no number", source=str(path), expected="list strategies from 0"
                )
            return StrategyChoice(tuple(listed))
    return load_schedule(path, problem.instance)


def _check_file(record: Record, path: Path, sha256: str | None) -> None:
    if not path.is_file():
        _refuse(record, path.name, "there is no such file")
    if path.stat().st_size > LARGEST_BYTES:
        _refuse(record, path.name, f"it has more than {LARGEST_BYTES} bytes")
    if sha256_of(path) != sha256:
        _refuse(record, path.name, f"its SHA-256 is {sha256_of(path)}, not {sha256}")


def _refuse(record: Record, field: str, value: str) -> None:
    raise InputError(
        value, field=field, source=str(record.folder), expected="record what the file says"
    )


def main() -> int:
    """Judge all records, or those of one pattern; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--published", type=Path, help="folder of the contest's files")
    parser.add_argument("--only", default="*", help="such as 'remat-chain/*'")
    arguments = parser.parse_args()
    wrong = 0
    for record in read_records():
        name = f"{record.problem}/{record.folder.name}"
        if not fnmatch(name, arguments.only):
            continue
        try:
            judge_bound(record)
            if record.published_file is None or arguments.published is not None:
                judge_schedule(record, arguments.published)
                said = "holds"
            else:
                said = f"its schedule needs {record.published_file}: left out"
        except (InputError, CertificateError) as error:
            wrong += 1
            said = f"WRONG: {error}"
        print(f"{name}: {said}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
