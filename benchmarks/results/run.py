"""Runs that the page of results records: each case of ``cases.toml`` is solved and certified.

    .venv/bin/python -m benchmarks.results.run [--only PATTERN] [--published FOLDER] [--again]

A line for each case, with its schedule, its bound and its certificate. Cases that are recorded are
left out, unless ``--again`` says otherwise, so that a run that was stopped goes on where it was.
FOLDER holds the files of the ASPLOS 2025 contest. Limits are CPU seconds of one thread.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from benchmarks.cpu_clock import CpuLimit, cpu_seconds
from benchmarks.results.add import add_record
from benchmarks.results.record import HERE, read_records
from jettison.certificates.errors import CertificateError
from jettison.instances.catalog import load
from jettison.instances.core.errors import InputError
from jettison.instances.importers.iopddl import import_iopddl
from jettison.schedules.core.schedule_file import save_schedule
from jettison.solvers.core.bound import Bound
from jettison.solvers.core.certified import certificate_for
from jettison.solvers.core.outcome import SolveOptions
from jettison.solvers.core.pose import pose_problem
from jettison.solvers.core.problem import Problem
from jettison.solvers.core.resources import Resources
from jettison.solvers.core.result import versions_key
from jettison.solvers.core.solve import solve_with
from jettison.solvers.proof.certificate import Certificate

# Wall-clock seconds for each CPU second, after which a busy machine is given up.
_PATIENCE = 20.0
BY = "the jettison developers"


@dataclass(frozen=True, kw_only=True)
class Case:
    """Case of ``cases.toml``: a problem, an instance, its resources, a method and its limit."""

    problem: str
    instance: str
    is_published: bool
    resources: Resources
    method: str
    cpu_seconds: float

    @property
    def name(self) -> str:
        """Its words for ``--only``."""
        given = self.resources
        memory = given.memory_text if given.says_memory else "its own memory"
        return f"{self.problem} {self.instance} {memory}"


def cases(path: Path = HERE / "cases.toml") -> Iterator[Case]:
    """Yield all cases of a file, in its order."""
    for entry in tomllib.loads(path.read_text(encoding="utf-8"))["case"]:
        shared: dict[str, Any] = {
            "problem": entry["problem"],
            "resources": Resources(**{"memory": None, **entry["resources"]}),
            "method": entry["method"],
            "cpu_seconds": float(entry["cpu_seconds"]),
        }
        for instance in entry.get("instances", []):
            yield Case(instance=instance, is_published=False, **shared)
        for instance in entry.get("published", []):
            yield Case(instance=instance, is_published=True, **shared)


def run(case: Case, published: Path | None) -> str:
    """Solve, certify and record a case; return what was found, in words."""
    if case.is_published:
        if published is None or not (published / case.instance).is_file():
            return f"left out: there is no {case.instance}"
        loaded: Any = import_iopddl(published / case.instance)
    else:
        loaded = load(case.instance)
    problem = pose_problem(case.problem, loaded, case.resources)
    options = SolveOptions(time_limit_s=_PATIENCE * case.cpu_seconds, gap=0)
    started_s = cpu_seconds()
    with CpuLimit(case.cpu_seconds):
        result = solve_with(problem, case.method, options)
    solved_s = cpu_seconds()
    if result.schedule is None:
        return f"no schedule: {result.status}"
    certificate = _certificate(case, problem, result.bounds)
    certified_s = cpu_seconds()
    with tempfile.TemporaryDirectory() as made:
        schedule = Path(made) / "schedule.json"
        save_schedule(result.schedule, problem.instance, schedule)
        proof = None
        if certificate is not None and certificate.time_ns is not None:
            proof = Path(made) / "certificate.gz"
            certificate.save(proof)
        target = add_record(
            case.problem,
            case.instance,
            case.resources,
            schedule=schedule,
            certificate=proof,
            method=case.method,
            found_by=BY,
            uncertified=result.bound,
            published=published,
            facts={
                "cpu_seconds": round(solved_s - started_s, 2),
                "certificate_cpu_seconds": round(certified_s - solved_s, 2),
                "versions": versions_key(result.solver_versions),
            },
        )
    proved = "none" if certificate is None else f"{certificate.time_ns} ({certificate.valid_for})"
    size = 0 if certificate is None else len(certificate.compressed)
    return (
        f"{result.time_ns} ns, bound {result.lower_bound_ns}, certified {proved}, {size} B, "
        f"{solved_s - started_s:.1f} + {certified_s - solved_s:.1f} CPU s -> {target.name}"
    )


def _certificate(case: Case, problem: Problem, bounds: Sequence[Bound]) -> Certificate | None:
    """Return a certificate that was found and checked within the limit, or None."""
    options = SolveOptions(time_limit_s=_PATIENCE * case.cpu_seconds, gap=0)
    limit = CpuLimit(case.cpu_seconds)
    try:
        with limit:
            return certificate_for(problem, bounds, None, options)
    except KeyboardInterrupt:
        if not limit.is_reached:
            raise
        return None
    except CertificateError:
        # The model of the contest's largest instances has more coefficients than are checked.
        return None


def main() -> int:
    """Run the cases that are not recorded; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", default="*", help="such as 'remat-chain *h200 50%%'")
    parser.add_argument("--published", type=Path, help="folder of the contest's files")
    parser.add_argument("--again", action="store_true", help="also what is recorded already")
    arguments = parser.parse_args()
    done = {
        (record.problem, record.published_file or record.instance, record.resources)
        for record in read_records()
    }
    for case in cases():
        is_done = (case.problem, case.instance, case.resources) in done
        if not fnmatch(case.name, arguments.only) or (is_done and not arguments.again):
            continue
        try:
            said = run(case, arguments.published)
        except InputError as error:
            said = f"not recorded: {error}"
        print(f"{case.name}: {said}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
