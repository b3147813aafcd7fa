"""Record a result on the page of results: a schedule, a certificate, or both.

    .venv/bin/python -m benchmarks.results.add remat-chain resnet50-b64-224-h200 --memory 50% \
        --schedule plan.json --certificate bound.gz --method mine --by "Ada Lovelace"

The files are those of ``jettison solve --output`` and ``jettison bound --certificate``, or written
by anything else in these formats. They are judged before anything is recorded: the schedule by its
replay, the certificate by `verify`. Then ``python -m benchmarks.results.page`` writes the page.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.results.judge import judge_bound, judge_schedule, read_schedule
from benchmarks.results.record import (
    CERTIFIED,
    LARGEST_BYTES,
    RECORDS,
    read_record,
    sha256_of,
)
from jettison.certificates.checker import check_certificate
from jettison.certificates.errors import CertificateError
from jettison.instances.catalog import load
from jettison.instances.core.errors import InputError
from jettison.instances.core.json_file import write_json, write_text
from jettison.instances.importers.iopddl import import_iopddl
from jettison.schedules.core.schedule_file import save_schedule
from jettison.schedules.sharding.strategy_choice import StrategyChoice
from jettison.solvers.core.bound import Bound
from jettison.solvers.core.pose import pose_problem
from jettison.solvers.core.resources import Resources
from jettison.solvers.core.result import replay_schedule


def add_record(
    problem: str,
    instance: str,
    resources: Resources,
    *,
    schedule: Path | None,
    certificate: Path | None,
    method: str,
    found_by: str,
    uncertified: Bound | None = None,
    published: Path | None = None,
    facts: Mapping[str, object] | None = None,
    root: Path = RECORDS,
) -> Path:
    """Judge files, and record them in a folder of their own, which is returned.

    Parameters
    ----------
    problem, instance, resources
        What they are about; the instance is a bundled one, or a published file in `published`.
    schedule, certificate
        The files; at least one of them.
    method, found_by
        What found the schedule, and who ran it.
    uncertified
        The bound of a method, for want of a certificate.
    published
        The folder of published files.
    facts
        Further keys of the record: seconds, versions, a note.
    root
        Where the folder is made.

    Raises
    ------
    InputError
        If a file is not valid, or about something else.
    CertificateError
        If the certificate proves nothing.
    """
    path = None if published is None else published / instance
    is_published = path is not None and path.is_file()
    loaded = import_iopddl(path) if is_published and path is not None else load(instance)
    posed = pose_problem(problem, loaded, resources)
    provenance = getattr(loaded, "provenance", None)
    document: dict[str, Any] = {
        "format": "jettison",
        "kind": "recorded-result",
        "version": 1,
        "problem": problem,
        "instance": loaded.name if is_published else instance,
        "instance_sha256": posed.instance.sha256,
        "device": getattr(provenance, "device", None) or "",
        "resources": {key: text for key, text in asdict(resources).items() if text is not None},
        "memory_bytes": posed.memory_bytes,
        "found_by": found_by,
        **(facts or {}),
    }
    if is_published:
        document["published_file"] = instance
    with tempfile.TemporaryDirectory(dir=root) as made:
        folder = Path(made)
        if schedule is not None:
            read = read_schedule(schedule, posed)
            replay = replay_schedule(posed, read)
            kept = folder / "schedule.json.gz"
            if isinstance(read, StrategyChoice) and is_published:
                # The names of its nodes would take most of the file.
                write_text(json.dumps(read.strategies) + "\n", kept)
            else:
                save_schedule(read, posed.instance, kept)
            if kept.stat().st_size > LARGEST_BYTES:
                raise InputError(
                    f"{kept.stat().st_size} bytes",
                    field="schedule",
                    source=str(schedule),
                    expected=f"schedules of up to {LARGEST_BYTES} bytes, compressed, are recorded",
                )
            document["schedule"] = {
                "method": method,
                "time_ns": replay.time_ns,
                "peak_bytes": replay.peak_bytes,
                "class": str(replay.schedule_class),
                "sha256": sha256_of(kept),
            }
        if certificate is not None:
            document["bound"] = _certified(certificate, folder / "certificate.gz")
        elif uncertified is not None:
            document["bound"] = {
                "method": uncertified.method,
                "time_ns": uncertified.time_ns,
                "valid_for": str(uncertified.valid_for),
                "evidence": str(uncertified.evidence),
            }
        write_json(document, folder / "record.json")
        record = read_record(folder)
        judge_bound(record)
        judge_schedule(record, published)
        own = "-".join(filter(None, (document["instance"], _words(resources), method)))
        name = re.sub(r"[^A-Za-z0-9.-]+", "-", own)
        target = root / problem / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            shutil.rmtree(target)
        shutil.copytree(folder, target)
    return target


def _certified(certificate: Path, kept: Path) -> dict[str, object]:
    claim = check_certificate(certificate).claim
    if claim.time_ns is None:
        raise InputError(
            "it proves that nothing fits",
            field="certificate",
            source=str(certificate),
            expected="bounds on times are recorded",
        )
    found: dict[str, object] = {
        "method": str(claim.formulation["name"]),
        "time_ns": claim.time_ns,
        "valid_for": claim.valid_for,
        "evidence": CERTIFIED,
        "certificate_sha256": sha256_of(certificate),
    }
    size_bytes = certificate.stat().st_size
    if size_bytes > LARGEST_BYTES:
        return found | {"certificate_bytes": size_bytes}
    shutil.copyfile(certificate, kept)
    return found


def _words(resources: Resources) -> str:
    """Return resources as a part of a name: ``alpha0.5``, ``50pc-12GB``, ``8GiB-devices4``."""
    named = {"memory": "", "bandwidth": ""}
    given = [
        f"{named.get(key, key)}{text}"
        for key, text in asdict(resources).items()
        if text is not None
    ]
    return "-".join(given).replace("%", "pc").replace("/s", "")


def main() -> int:
    """Record what the options say; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("problem")
    parser.add_argument("instance", help="name of a bundled instance, or a file in --published")
    for name in ("memory", "alpha", "bandwidth", "transfers", "host-memory"):
        parser.add_argument(f"--{name}")
    for name in ("models", "devices", "microbatches", "weight-copies", "chunks"):
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--schedule", type=Path)
    parser.add_argument("--certificate", type=Path)
    parser.add_argument("--published", type=Path, help="folder of published files")
    parser.add_argument("--method", required=True, help="what found them")
    parser.add_argument("--by", required=True, help="who found them")
    parser.add_argument("--note")
    given = vars(parser.parse_args())
    fields = (
        "memory", "alpha", "bandwidth", "transfers", "host_memory",
        "models", "devices", "microbatches", "weight_copies", "chunks",
    )  # fmt: skip
    try:
        target = add_record(
            given["problem"],
            given["instance"],
            Resources(**{key: given[key] for key in fields}),
            schedule=given["schedule"],
            certificate=given["certificate"],
            method=given["method"],
            found_by=given["by"],
            published=given["published"],
            facts={} if given["note"] is None else {"note": given["note"]},
        )
    except (InputError, CertificateError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    print(target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
