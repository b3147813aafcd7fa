"""The process of one job: ``python -m jettison.studies.job_process``, started by `run_job`.

It reads one line of JSON, the request, and writes lines of JSON: better times and bounds as they
come, and at last the result. Its input stays open as long as whoever started it lives; when it ends
the process ends as well, with all that it has started.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jettison.instances.errors import InputError
from jettison.schedules.schedule_file import save_schedule
from jettison.solvers.outcome import Progress
from jettison.solvers.solve import solve_with
from jettison.studies.job import Job
from jettison.studies.result_folder import ResultFolder


def main() -> None:
    """Serve one request."""
    request = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_the_caller, daemon=True).start()
    limit = request["memory_limit_bytes"]
    if limit is not None:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    try:
        answer = _solved(Job.from_json(request["job"]), Path(request["folder"]))
    except MemoryError:
        answer = {"failed": "out of memory"}
    except InputError as error:
        answer = {"failed": f"bad input: {error}"}
    _say(answer)


def _solved(job: Job, path: Path) -> dict[str, object]:
    folder = ResultFolder(path)
    posed = job.posed(folder.instance(job.instance_sha256))
    options = job.options(on_progress=_report)
    result = solve_with(posed, job.method, options)
    if result.schedule is not None:
        save_schedule(result.schedule, posed.instance, folder.schedule_path(job.key))
    usage = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    replay = result.replay
    return {
        "result": result.to_json(),
        "bounds": [
            {
                "time_ns": bound.time_ns,
                "valid_for": str(bound.valid_for),
                "evidence": str(bound.evidence),
                "method": bound.method,
            }
            for bound in result.bounds
        ],
        "schedule_class": None if replay is None else str(replay.schedule_class),
        "cpu_s": round(usage.ru_utime + usage.ru_stime + children.ru_utime + children.ru_stime, 3),
        "peak_memory_bytes": 1024 * max(usage.ru_maxrss, children.ru_maxrss),
    }


def _report(progress: Progress) -> None:
    _say({"progress": [round(progress.seconds, 4), progress.time_ns, progress.lower_bound_ns]})


def _say(message: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def _end_with_the_caller() -> None:
    # Nothing more is ever written to the input: reading returns when the other end is gone.
    sys.stdin.read()
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main()
