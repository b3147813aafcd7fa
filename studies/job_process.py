"""Program of a job's process: ``python -m jettison.studies.job_process``, started by `run_job`.

It reads one line of JSON, the request, and writes lines of JSON: better times and bounds as they
come, and at last the result. Its input stays open as long as whoever started it lives; when it ends
the process ends as well, with all that it has started.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import signal
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jettison.instances.core.errors import InputError, JettisonError
from jettison.schedules.core.schedule_file import save_schedule
from jettison.solvers.core.certified import certificate_for, certified_bound, proof_to_certify
from jettison.solvers.core.outcome import Progress
from jettison.solvers.core.registry import find_method
from jettison.solvers.core.result import Result
from jettison.solvers.core.solve import solve_with
from jettison.studies.job import Job, present_versions
from jettison.studies.result_folder import ResultFolder


class JobProcess:
    """Server of one request, and the stream on which it reports."""

    def __init__(self) -> None:
        # Whatever a library prints goes to standard error, not between two messages. The line is
        # only closed by the end of the process, after its status is settled.
        self._reports = os.fdopen(os.dup(1), "wb", closefd=False)
        os.dup2(2, 1)

    def serve(self) -> None:
        """Serve one request."""
        request = json.loads(sys.stdin.readline())
        threading.Thread(target=_end_with_the_caller, daemon=True).start()
        try:
            _limit_memory(request["memory_limit_bytes"])
            answer = self._solved(Job.from_json(request["job"]), Path(request["folder"]))
        except MemoryError:
            answer = {"failed": "out of memory"}
        except InputError as error:
            answer = {"failed": f"bad input: {error}"}
        except JettisonError as error:
            answer = {"failed": f"internal error: {error}"}
        self._say(answer)

    def _solved(self, job: Job, path: Path) -> dict[str, object]:
        if (present := present_versions()) != job.versions:
            return {"failed": f"this worker has other versions than the sweep: {_listed(present)}"}
        folder = ResultFolder(path)
        posed = job.posed(folder.instance(job.instance_sha256))
        options = job.options(on_progress=self._report)
        result = solve_with(posed, job.method, options, job.params)
        params = find_method(job.problem, job.method).with_params(job.params).params
        if result.schedule is not None:
            written = folder.schedule_path(job.key)
            save_schedule(result.schedule, posed.instance, written, result.claim)
        certificate: dict[str, object] = {}
        if job.certify:
            result, certificate = _certified(result, job, folder.certificate_path(job.key))
        usage = resource.getrusage(resource.RUSAGE_SELF)
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu_s = usage.ru_utime + usage.ru_stime + children.ru_utime + children.ru_stime
        replay = result.replay
        return {
            "result": result.to_json(),
            **certificate,
            "bounds": [
                {
                    "time_ns": bound.time_ns,
                    "valid_for": str(bound.valid_for),
                    "evidence": str(bound.evidence),
                    "method": bound.method,
                }
                for bound in result.bounds
            ],
            "params_sha256": params.sha256,
            "schedule_class": None if replay is None else str(replay.schedule_class),
            "cpu_s": round(cpu_s, 3),
            "peak_memory_bytes": _rss_unit() * max(usage.ru_maxrss, children.ru_maxrss),
        }

    def _report(self, progress: Progress) -> None:
        state = [round(progress.seconds, 4), progress.time_ns, progress.lower_bound_ns]
        self._say({"progress": state})

    def _say(self, message: Mapping[str, Any]) -> None:
        self._reports.write(json.dumps(message).encode() + b"\n")
        self._reports.flush()


def _certified(result: Result, job: Job, path: Path) -> tuple[Result, dict[str, object]]:
    """Write a certificate of the best bound, and return the result with what it says.

    Nothing is written where nothing was proved in the time and the memory of the job.
    """
    posed, refuted = result.problem, proof_to_certify([result])
    try:
        certificate = certificate_for(posed, result.bounds, refuted, job.options())
    except MemoryError:
        certificate = None
    if certificate is None:
        return result, {}
    bound = certified_bound(posed, certificate)
    certificate.save(path)
    said = {
        "time_ns": certificate.time_ns,
        "valid_for": str(certificate.valid_for),
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
    }
    return result if bound is None else result.with_bounds((bound,)), {"certificate": said}


def _limit_memory(limit_bytes: int | None) -> None:
    """Limit the address space; processes that are started from here on inherit the limit."""
    if limit_bytes is not None:
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        most = limit_bytes if hard == resource.RLIM_INFINITY else min(limit_bytes, hard)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _rss_unit() -> int:
    return 1 if sys.platform == "darwin" else 1024


def _listed(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _end_with_the_caller() -> None:
    # Nothing more is ever written to the input: reading returns when the other end is gone. Read
    # below Python's buffer, whose lock would be held while the process ends.
    os.read(0, 1)
    os.killpg(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    JobProcess().serve()
