"""Run of HiGHS in a child process, where limits on time and memory are kept.

HiGHS looks at its clock between steps, and a step (a root relaxation, a presolve) can take many
times the limit; nothing inside a process can end it. `solve_in_child` starts a fresh interpreter
(never a fork, which hangs after HiGHS has used threads) that solves the model, reports every better
point and bound as it goes, and is killed when its time is over.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import astuple, replace

from jettison.formulations.milp.array_model import ArrayModel, Floats
from jettison.instances.core.errors import InputError
from jettison.solvers.core.out_of_memory import is_out_of_memory
from jettison.solvers.core.solver_versions import note_solver
from jettison.solvers.core.status import SolverError, Termination
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_known_answer import require_sound_highs
from jettison.solvers.milp.highs_messages import (
    Arrays,
    Message,
    decode_request,
    decode_solution,
    encode_request,
    encode_solution,
    read_message,
    write_message,
)
from jettison.solvers.milp.highs_options import HighsOptions
from jettison.solvers.milp.solution import ModelSolution, Progress, RunRecord

_CHILD_PROGRAM = "from jettison.solvers.milp.highs_child import serve; serve()"
_ORPHAN_LOOK_S = 0.2


def solve_in_child(
    model: ArrayModel,
    options: HighsOptions | None = None,
    *,
    wall_limit_s: float,
    memory_limit_bytes: int | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    on_incumbent: Callable[[Floats], None] | None = None,
    on_work: Callable[[Progress], None] | None = None,
    stop: threading.Event | None = None,
) -> ModelSolution:
    """Solve `model` with HiGHS in a child process that cannot outstay its limits.

    A child that is killed, or that dies, leaves the best point and bound that it had reported;
    `Termination` says which it was. A time limit in `options` somewhat below `wall_limit_s` lets
    HiGHS end the run itself where it can. Ctrl-C ends the run as in `solve_model`.

    Parameters
    ----------
    model, options, on_progress, on_incumbent, on_work
        As in `solve_model`.
    wall_limit_s
        Seconds, start of the process included (some tenths), after which the child is killed.
    memory_limit_bytes
        Most address space that the child may use (``RLIMIT_AS``; about 120 MiB are taken before the
        model arrives); None for no limit.
    stop
        Ends the run, as Ctrl-C does, at the first report of the child after it was set.

    Raises
    ------
    InputError
        If a limit is not positive, memory cannot be limited on this platform, or the start does not
        fit the model.
    SolverError
        If HiGHS refuses an option or the model, or the child fails to start.
    """
    if not wall_limit_s > 0:
        raise InputError(
            f"{wall_limit_s!r}", field="wall_limit_s", expected="write seconds, above 0"
        )
    if memory_limit_bytes is not None and memory_limit_bytes <= 0:
        raise InputError(
            f"{memory_limit_bytes!r}", field="memory_limit_bytes", expected="write bytes, above 0"
        )
    if memory_limit_bytes is not None and sys.platform == "win32":
        raise InputError(
            "a memory limit on Windows",
            field="memory_limit_bytes",
            expected="leave it out: Windows has no RLIMIT_AS",
        )
    options = options or HighsOptions()
    options.start_for(model)
    child = _Child(model, options, memory_limit_bytes, wall_limit_s)
    record = RunRecord(model, on_progress, on_incumbent, on_work)
    try:
        return child.result(record, stop)
    except KeyboardInterrupt:
        child.ask_to_stop()
        # The child may have ended before it heard of it.
        return replace(child.result(record), termination=Termination.INTERRUPTED)
    finally:
        child.close()


class _Child:
    """Child process, as its parent handles it."""

    def __init__(
        self,
        model: ArrayModel,
        options: HighsOptions,
        memory_limit_bytes: int | None,
        wall_limit_s: float,
    ) -> None:
        require_sound_highs()
        note_solver("highspy")
        request = encode_request(model, options)
        self._started = time.perf_counter()
        self._deadline = self._started + wall_limit_s
        self._memory_limited = memory_limit_bytes is not None
        self._early_end: Termination | None = None
        self._model_sent = threading.Event()
        self._closed = threading.Event()
        self._messages: queue.SimpleQueue[tuple[Message, Arrays] | None] = queue.SimpleQueue()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        # The child finds its modules where this process does. In a session of its own it does not
        # receive a terminal's Ctrl-C: this process passes it on.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _CHILD_PROGRAM, str(memory_limit_bytes or "")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            start_new_session=True,
        )
        self._talk = threading.Thread(target=self._converse, args=request, daemon=True)
        self._talk.start()

    def result(self, record: RunRecord, stop: threading.Event | None = None) -> ModelSolution:
        """Pass reports on to `record` until the child ends; call again if it was left early."""
        is_asked = False
        while not (self._closed.is_set() and self._messages.empty()):
            left_s = None if self._early_end else max(0.0, self._deadline - time.perf_counter())
            try:
                message = self._messages.get(timeout=left_s)
            except queue.Empty:
                self._end_early(Termination.TIME_LIMIT)
                continue
            if message is None:
                continue
            header, arrays = message
            match header["kind"]:
                case "progress":
                    record.add_progress(Progress(*header["state"]))
                case "incumbent":
                    record.add_incumbent(arrays["values"])
                case "refused":
                    raise SolverError(header["reason"])
                case "solution":
                    return decode_solution(header, arrays, record, self._seconds())
            if stop is not None and stop.is_set() and not is_asked:
                self.ask_to_stop()
                is_asked = True
        return record.as_solution(self._early_end or self._cause_of_death(), self._seconds())

    def ask_to_stop(self) -> None:
        """Ask the child to end with the best so far; kill it if it has not received the model."""
        if self._model_sent.is_set() and self._process.stdin is not None:
            self._process.stdin.close()
        else:
            self._end_early(Termination.INTERRUPTED)

    def close(self) -> None:
        """Kill the child, if it runs, and release its resources."""
        self._process.kill()
        self._process.wait()
        self._talk.join()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream is not None:
                # A dead child cannot read the rest.
                with contextlib.suppress(OSError):
                    stream.close()

    def _converse(self, header: Message, arrays: Arrays) -> None:
        """Send the model and queue the answers; in a thread, since both can block."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            write_message(self._process.stdin, header, arrays)
            self._model_sent.set()
            while (message := read_message(self._process.stdout)) is not None:
                self._messages.put(message)
        except OSError:
            # The pipe broke because the child died; its exit status says why.
            pass
        finally:
            self._closed.set()
            self._messages.put(None)

    def _end_early(self, termination: Termination) -> None:
        self._early_end = termination
        self._process.kill()

    def _cause_of_death(self) -> Termination:
        status = self._process.wait()
        self._errors.seek(0)
        complaint = self._errors.read().decode(errors="replace").strip()
        # Linux also kills processes when memory runs out, and does not say why.
        killed = status == -signal.SIGKILL
        if killed or (self._memory_limited and is_out_of_memory(complaint)):
            return Termination.MEMORY_LIMIT
        if status < 0:
            return Termination.ERROR
        last_line = complaint.rpartition("\n")[2]
        raise SolverError(f"the child process ended with status {status}: {last_line}")

    def _seconds(self) -> float:
        return time.perf_counter() - self._started


def serve() -> None:
    """Run the child: read a model from standard input, solve it, report on standard output."""
    # What a library prints goes to standard error, so that it cannot break a message.
    reports = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    # Libraries load before the limit is set, so that only the model can run out of memory.
    importlib.import_module("highspy")
    if sys.argv[1]:
        _limit_memory(int(sys.argv[1]))
    request = read_message(sys.stdin.buffer)
    if request is None:
        return
    stop = threading.Event()
    threading.Thread(target=_set_at_end_of_input, args=(stop,), daemon=True).start()

    def report_progress(progress: Progress) -> None:
        write_message(reports, {"kind": "progress", "state": astuple(progress)}, {})

    def report_incumbent(values: Floats) -> None:
        write_message(reports, {"kind": "incumbent"}, {"values": values})

    try:
        model, options = decode_request(*request)
        solution = solve_model(
            model,
            options,
            report_progress,
            on_incumbent=report_incumbent,
            on_work=report_progress,
            stop=stop,
        )
    except SolverError as error:
        write_message(reports, {"kind": "refused", "reason": str(error)}, {})
    else:
        write_message(reports, *encode_solution(solution))


def _limit_memory(size_bytes: int) -> None:
    if sys.platform != "win32":
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        soft = size_bytes if hard == resource.RLIM_INFINITY else min(size_bytes, hard)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _set_at_end_of_input(stop: threading.Event) -> None:
    parent = os.getppid()
    # The parent sends nothing after the model, so that the next event is the end of the input: the
    # parent closed it or died. Python's buffer is bypassed: its lock would block the exit.
    os.read(0, 1)
    stop.set()
    # HiGHS may look at `stop` much later. The child of a dead parent exits at once.
    while os.getppid() == parent:
        time.sleep(_ORPHAN_LOOK_S)
    os._exit(1)
