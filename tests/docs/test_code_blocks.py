"""Every code block of the README and the documentation runs, and prints what stands there."""

from __future__ import annotations

import doctest
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.code_blocks import CodeBlock, code_blocks
from tests.docs.warm_command import warm_command

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "docs/tutorials").glob("*.md"),
        *(ROOT / "docs/reference").glob("*.md"),
    ]
)
WITH_CODE = [page for page in PAGES if list(code_blocks(page))]
MATCHING = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def in_repository(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.fixture(scope="session")
def programs() -> Iterator[Path]:
    """The folder with the `jettison` that the pages run."""
    with warm_command() as folder:
        yield folder


@pytest.mark.parametrize("page", WITH_CODE, ids=in_repository)
def test_the_code_of_a_page_runs(
    page: Path, tmp_path: Path, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in code_blocks(page):
        place = f"{in_repository(page)}:{block.line}"
        for name, source in block.given:
            shutil.copy(ROOT / source, tmp_path / name)
        if block.file is not None:
            (tmp_path / block.file).write_text(block.text, encoding="utf-8")
        elif block.not_run is None:
            run(block, place, names, programs)


def run(block: CodeBlock, place: str, names: dict[str, object], programs: Path) -> None:
    match block.language:
        case "python" if ">>> " in block.text:
            run_session(block.text, place, names)
        case "python":
            exec(compile(block.text, place, "exec"), names)
        case "sh":
            done = run_commands(block.text, programs)
            assert done.returncode == 0, f"{place}\n{done.stdout}"
        case "console":
            run_console(block.text, place, programs)
        case "text":
            # A file that is shown, and no code.
            pass
        case language:
            pytest.fail(f"{place}: nothing is known of running {language!r}; say why it is not run")


def run_session(text: str, place: str, names: dict[str, object]) -> None:
    test = doctest.DocTestParser().get_doctest(text, names, place, place, 0)
    report: list[str] = []
    failed, _ = doctest.DocTestRunner(optionflags=MATCHING).run(
        test, out=report.append, clear_globs=False
    )
    names |= test.globs
    assert not failed, "".join(report)


def run_console(text: str, place: str, programs: Path) -> None:
    """Run each command, which follows a dollar, and compare what it prints."""
    for part in text.split("$ ")[1:]:
        command, _, expected = part.partition("\n")
        while command.endswith("\\"):
            more, _, expected = expected.partition("\n")
            command += f"\n{more}"
        done = run_commands(command, programs)
        printed = done.stdout.strip("\n")
        wanted = expected.strip("\n")
        matches = doctest.OutputChecker().check_output(f"{wanted}\n", f"{printed}\n", MATCHING)
        assert matches, f"{place}: {command}\nprinted:\n{printed}\nexpected:\n{wanted}"


def run_commands(commands: str, programs: Path) -> subprocess.CompletedProcess[str]:
    """Run commands in Bash, with the `jettison` of this environment, in 110 columns."""
    path = os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]])
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands],
        env={**os.environ, "PATH": path, "COLUMNS": "110"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def test_pages_are_found() -> None:
    found = {in_repository(page) for page in WITH_CODE}
    assert {"README.md", "docs/hard_instances.md", "docs/tutorials/bound_a_schedule.md"} <= found


def test_what_is_not_run_has_a_reason() -> None:
    reasons = [block.not_run for page in WITH_CODE for block in code_blocks(page) if block.not_run]
    assert all(len(reason) > 10 for reason in reasons)
