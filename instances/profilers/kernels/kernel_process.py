"""Process of its own in which kernels run: one that crashes does not take the caller's with it.

Some kernels of PyTorch end the process on calls that autograd never makes, and no exception says
so. Before anything runs here it has run there once, where its memory is measured. The process is a
fresh interpreter (no fork, which would share locks and the context of a GPU), serves all kernels of
all models until the program ends, and is started anew where a kernel has ended it.

A crash is laid at a call that crashes a fresh process by itself. If the call under way does not,
one before it has spoiled the memory of the process, and each is tried alone.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, Any

import torch

from jettison.instances.profilers.kernels.call_memory import (
    CallFailure,
    CallMemory,
    CallOutcome,
    FailureKind,
)
from jettison.instances.profilers.kernels.global_settings import global_settings
from jettison.instances.profilers.kernels.kernel_call import KernelCall

# Calls that are measured together: starting the meter takes as long as a few of them.
BATCH = 32
_MODULE = "jettison.instances.profilers.kernels.kernel_answers"


class KernelProcessError(Exception):
    """Error of a process for kernels that cannot be started."""


class KernelProcess:
    """Process in which calls of operators run once, and are measured.

    It starts at the first request, or with `start`, which does not wait for it.

    Parameters
    ----------
    command
        The program that is started; by default this interpreter with this package.
    """

    def __init__(self, command: Sequence[str] = (sys.executable, "-m", _MODULE)) -> None:
        self._command = tuple(command)
        self._process: subprocess.Popen[str] | None = None
        self._errors: IO[bytes] | None = None
        # By settings and call. Neither what a call takes nor that it crashes changes.
        self._known: dict[tuple[str, str], CallOutcome] = {}

    def memory(
        self,
        calls: Sequence[KernelCall],
        device: torch.device,
        announce: Callable[[KernelCall], None] = lambda call: None,
    ) -> list[CallOutcome]:
        """Return for each call what it allocates, or that it cannot be measured or crashes.

        Raises
        ------
        KernelProcessError
            If the process cannot be started.
        """
        settings = json.dumps({"device": str(device), "settings": global_settings()})
        new = [call for call in dict.fromkeys(calls) if (settings, call.text) not in self._known]
        for first in range(0, len(new), BATCH):
            batch = new[first : first + BATCH]
            for call, outcome in zip(batch, self._measured(batch, device, announce), strict=True):
                self._known[settings, call.text] = outcome
        return [self._known[settings, call.text] for call in calls]

    def start(self) -> None:
        """Start the process, unless it runs.

        Raises
        ------
        KernelProcessError
            If there is no interpreter to start.
        """
        if self._process is not None:
            return
        if not self._command[0]:
            raise KernelProcessError("Python does not know its own interpreter (sys.executable)")
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (as long as the process)
        path = os.pathsep.join(item or str(Path.cwd()) for item in sys.path)
        try:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env={**os.environ, "PYTHONPATH": path},
                text=True,
                encoding="utf-8",
            )
        except OSError as error:
            self._errors.close()
            raise KernelProcessError(f"{self._command[0]}: {error.strerror}") from error

    def close(self) -> None:
        """End the process, if it runs."""
        if self._process is not None:
            self._process.kill()
            self._end()

    def _measured(
        self,
        batch: Sequence[KernelCall],
        device: torch.device,
        announce: Callable[[KernelCall], None],
    ) -> list[CallOutcome]:
        """Return the outcomes of a batch, however often the process has to be started for it."""
        answer = self._ask(batch, device, announce)
        if not isinstance(answer, _Crash):
            return answer
        suspect = answer.number
        alone = self._ask([batch[suspect]], device, announce)
        if isinstance(alone, _Crash):
            outcomes: list[CallOutcome] = [CallFailure(FailureKind.CRASH, alone.message)]
            rest = [call for place, call in enumerate(batch) if place != suspect]
            others = self._measured(rest, device, announce) if rest else []
            return [*others[:suspect], *outcomes, *others[suspect:]]
        found: list[CallOutcome] = []
        for call in batch:
            self.close()
            one = self._ask([call], device, announce)
            if isinstance(one, _Crash):
                found.append(CallFailure(FailureKind.CRASH, one.message))
            else:
                found += one
        return found

    def _ask(
        self,
        batch: Sequence[KernelCall],
        device: torch.device,
        announce: Callable[[KernelCall], None],
    ) -> list[CallOutcome] | _Crash:
        self.start()
        request = {
            "device": str(device),
            "settings": global_settings(),
            "calls": [call.text for call in batch],
        }
        number: int | None = None
        is_answered = False
        try:
            self._say(request)
            while (message := self._hear()) is not None:
                if "begins" in message:
                    number = int(message["begins"])
                    announce(batch[number])
                elif "found" in message:
                    is_answered = True
                    return [_outcome(entry) for entry in message["found"]]
            text = self._end()
        finally:
            if not is_answered:
                # It has ended, or is in the middle of something that nobody waits for any more.
                self.close()
        if number is None:
            raise KernelProcessError(text)
        return _Crash(number, text)

    def _say(self, request: object) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{json.dumps(request)}\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            # It has ended; that nothing is heard says so.
            return

    def _hear(self) -> dict[str, Any] | None:
        assert self._process is not None
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        message: dict[str, Any] | None = json.loads(line) if line else None
        return message

    def _end(self) -> str:
        """Wait for the end of the process, close what led to it, and return how it ended."""
        process, errors = self._process, self._errors
        assert process is not None
        assert errors is not None
        self._process = self._errors = None
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                # Half a request may be still to be written.
                with suppress(BrokenPipeError):
                    stream.close()
        code = process.wait()
        with errors:
            errors.seek(0)
            lines = errors.read().decode(errors="replace").strip().splitlines()
        if code < 0:
            return f"the process ended by signal {-code}"
        return f"the process ended with status {code}" + (f": {lines[-1]}" if lines else "")


class _Crash:
    """End of the process in the middle of a call."""

    def __init__(self, number: int, message: str) -> None:
        self.number = number
        self.message = message


def _outcome(entry: dict[str, Any]) -> CallOutcome:
    if "kind" in entry:
        return CallFailure(FailureKind(entry["kind"]), entry["message"])
    return CallMemory(entry["rise_bytes"], tuple(entry["results_bytes"]))


@cache
def shared_process() -> KernelProcess:
    """Return the process of this program, which ends with it."""
    process = KernelProcess()
    atexit.register(process.close)
    return process
