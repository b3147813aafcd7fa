"""Standard output that is full, closed, left by its reader, or short of letters."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from jettison.cli import main as main_module
from jettison.instances.catalog import save
from jettison.instances.profilers.profile_warning import ProfileWarning
from jettison.instances.remat_chain.chain import Chain, Stage

COMMAND = (sys.executable, "-c", "from jettison.cli.main import main; main()")


@pytest.mark.parametrize(
    "words",
    [
        # Short texts fail when they are flushed at the end, long ones and tables before.
        ("--help",),
        ("show", "resnet18-b4-224-cpu"),
        ("list", "methods", "--json"),
        ("list", "instances"),
    ],
)
def test_a_reader_that_has_left_is_no_error(words: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ended = subprocess.run(
            [*COMMAND, *words], stdout=writing, stderr=subprocess.PIPE, check=False
        )
    finally:
        os.close(writing)
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_a_warning_about_a_profile_is_one_line_and_others_are_as_python_has_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def show(*_: object) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning(ProfileWarning("the load was 9"), ProfileWarning, "file.py", 1)
            warnings.showwarning(UserWarning("of a library"), UserWarning, "file.py", 2)

    before = []
    monkeypatch.setattr(warnings, "showwarning", lambda message, *_: before.append(str(message)))
    kept = warnings.showwarning
    with main_module._plain_warnings():
        show()
    assert capsys.readouterr().err == "warning: the load was 9\n"
    assert before == ["of a library"]
    assert warnings.showwarning is kept


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="there is no full device")
@pytest.mark.parametrize("words", [("--help",), ("list", "methods", "--json"), ("list", "methods")])
def test_a_full_disk_is_one_line_and_status_2(words: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [*COMMAND, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert ended.returncode == 2
    assert ended.stderr.startswith("error: standard output: cannot be written: ")
    assert ended.stderr.count("\n") == 1


@pytest.mark.skipif(os.name == "nt", reason="a shell closes the stream")
def test_closed_streams_get_nothing() -> None:
    line = '"$@" >&- 2>&-'
    ended = subprocess.run(["sh", "-c", line, "sh", *COMMAND, "list", "problems"], check=False)
    assert ended.returncode == 0


def test_letters_that_the_locale_lacks_are_escaped(tmp_path: Path) -> None:
    stage = Stage(name="s", forward_ns=1, backward_ns=1, output_bytes=0, saved_bytes=0)
    save(Chain("Zürich", 1, (stage,)), tmp_path / "chain.json")
    ended = subprocess.run(
        [*COMMAND, "show", str(tmp_path / "chain.json")],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "Z\\xfcrich" in ended.stdout


def test_ctrl_c_while_the_command_line_loads_is_one_line_and_status_130() -> None:
    code = """
import sys
class Interrupter:
    def find_spec(self, name, path=None, target=None):
        if name == "jettison.cli.main":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupter())
from jettison.cli import run
run()
"""
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "interrupted\n")
