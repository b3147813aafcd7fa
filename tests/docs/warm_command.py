"""The program `jettison` of which every start is a fork of one process that has loaded it.

To load it takes longer than most commands of the documentation. The program itself is started by
`tests/cli/test_streams.py` and by the tests of the distributions.

The program in the folder is a few lines that hand their arguments, folder, environment and streams
over a socket to the process that waits, and end with the status that comes back.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

_ROOT = Path(__file__).parents[2]
# Without the packages of the environment, which it does not need, it starts at once.
_PROGRAM = """#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as line:
    line.connect({address!r})
    start = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(line, [len(start).to_bytes(8, "big")], [0, 1, 2])
    line.sendall(start)
    sys.exit(int(line.recv(16) or b"70"))
"""
_SERVER = "import sys; from tests.docs.warm_command import serve; serve(sys.argv[1])"


@contextlib.contextmanager
def warm_command() -> Iterator[Path]:
    """Give the folder of a program `jettison` as long as the block runs."""
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        address = str(folder / "socket")
        program = folder / "jettison"
        program.write_text(_PROGRAM.format(python=sys.executable, address=address))
        program.chmod(0o755)
        server = subprocess.Popen(
            [sys.executable, "-c", _SERVER, address],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert server.stdout is not None
        try:
            assert server.stdout.readline() == b"ready\n"
            yield folder
        finally:
            server.kill()
            server.communicate()


def serve(address: str) -> None:
    """Run a command for each line to `address`, in a process each, until this one is killed."""
    import jettison.cli.main as loaded

    # Ended children leave nothing behind.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(address)
        door.listen()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while True:
            line, _ = door.accept()
            with line:
                if os.fork() == 0:
                    door.close()
                    _run(line, loaded.main)


def _run(line: socket.socket, main: Callable[[list[str]], None]) -> None:
    # A child that cannot be waited for is none that the command expects.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    size, streams, _, _ = socket.recv_fds(line, 8, 3)
    arguments, folder, environment = json.loads(_received(line, int.from_bytes(size, "big")))
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    # The names of messages.
    sys.argv = ["jettison", *arguments]
    status: object = 1
    try:
        main(arguments)
    except SystemExit as stop:
        status = 0 if stop.code is None else stop.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        line.sendall(str(status).encode())
        os._exit(0)


def _received(line: socket.socket, size: int) -> bytes:
    parts = b""
    while len(parts) < size:
        parts += line.recv(size - len(parts))
    return parts
