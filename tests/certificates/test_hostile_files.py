"""Files that are meant to do harm: one line that says what is wrong, soon, and in bounded memory.

All of them are checked by one child process, which may not have more than a gibibyte of address
space.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from jettison.certificates import integer_model
from jettison.certificates.certificate_file import MAGIC
from jettison.certificates.checker import check_certificate
from jettison.certificates.claim import instance_sha256
from jettison.certificates.errors import CertificateError
from jettison.certificates.remat_chain import bellman
from tests.certificates.test_persistent_bellman import THREE, header
from tests.certificates.written_certificate import text_of, written

# What a child is given, and what no check here comes close to needing.
MOST_BYTES = 1 << 30
SECONDS = 60
CHILD = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({MOST_BYTES}, {MOST_BYTES}))
from jettison.cli.main import main
main(["verify", *sys.argv[1:]])
"""


def verified(*words: str | Path) -> tuple[int, str, str]:
    """Run ``jettison verify`` in a child."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD, *map(str, words)],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def gzip_bomb(path: Path) -> None:
    # Megabytes of zeros in a few kilobytes: one line without an end.
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(40):
            file.write(bytes(1 << 20))


def graph_header() -> dict[str, object]:
    node = {"name": "a", "duration_ns": 1, "output_bytes": 1, "inputs": []}
    other = {"name": "b", "duration_ns": 1, "output_bytes": 1, "inputs": ["a"]}
    instance = {
        "format": "jettison",
        "kind": "graph",
        "version": 1,
        "name": "two",
        "nodes": [node, other],
    }
    return {
        **header(THREE, 28, 17),
        "problem": "remat-graph",
        "instance": instance,
        "instance_sha256": instance_sha256(instance),
        "formulation": {"name": "windowed-frontier", "version": 1, "cuts": [0]},
        "valid_for": "in-order",
    }


def growing_numbers(path: Path) -> None:
    # Each row is the one before, times a number of 400 digits.
    # The model of two nodes and a cut has two rows.
    lines = ["G 1 0:" + "9" * 399, *(f"G 1 {2 + k}:" + "9" * 399 for k in range(500))]
    path.write_text(text_of(graph_header(), lines))


def text(content: str) -> Callable[[Path], None]:
    return lambda path: path.write_text(content, encoding="utf-8") and None


def data(content: bytes) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(content) and None


def steps(count: int) -> str:
    return text_of(
        header(THREE, 28, 17),
        [f"p 3 4 {' '.join(f'{k}:{count - k}' for k in range(count))}"],
    )


HEADER = json.dumps(header(THREE, 28, 17))
HOSTILE: dict[str, tuple[Callable[[Path], None], str]] = {
    "empty": (data(b""), "not JSON"),
    "binary": (data(bytes(range(256)) * 9), "UTF-8"),
    "not gzip": (data(b"\x1f\x8b" + bytes(99)), "the compressed file is broken"),
    "cut gzip": (data(gzip.compress(steps(9).encode())[:-30]), "the compressed file is broken"),
    "gzip of nothing": (data(gzip.compress(b"")), "a certificate begins with"),
    "bomb": (gzip_bomb, "the line or the file is too long"),
    "growing numbers": (growing_numbers, "numbers of more than 400 digits"),
    "no header": (text(f"{MAGIC}\n"), "line 2"),
    "deep header": (text(f"{MAGIC}\n" + '{"a":' * 200_000 + "\n"), "nested too deeply"),
    "deep JSON": (text("[" * 200_000), "nests too deeply"),
    "long number": (text(f'{MAGIC}\n{{"problem": {"9" * 1_000_000}}}\n'), "line 2"),
    "long in the proof": (text(f"{MAGIC}\n{HEADER}\np 1 2 3:{'9' * 1_000_000}\n"), "400 digits"),
    "no end": (text(f"{MAGIC}\n{HEADER}\np 3 4 12:2"), "the last line has no end"),
    "not ASCII": (text(f"{MAGIC}\n{HEADER}\np 3 4 ١٢:2\n"), "only ASCII characters"),
    "key twice": (text(f'{MAGIC}\n{{"problem": 1, "problem": 2}}\n'), "stands twice"),
    "infinite": (text(f'{MAGIC}\n{{"problem": Infinity}}\n'), "Infinity is not a number"),
    # The long text is made when the test runs, and not when it is collected.
    "many steps": (lambda path: text(steps(1_500_000))(path), "too long"),  # noqa: PLW0108
    "other version": (text("jettison certificate 2\n{}\n"), "not JSON"),
}  # fmt: skip


CHANGES: list[dict[str, object]] = [
    {"resources": {"memory_bytes": 10**9, "slots": 10**9}},
    {"resources": {"memory_bytes": 10**99}},
    {"formulation": {"name": "persistent-bellman", "version": 10**9}},
    {"scale_bits": 10**9},
    {"claim": {"time_ns": 10**300}},
    {"valid_for": "persistent\nproved: all"},
    {"problem": "\x1b[2J"},
]


def test_a_hostile_file_is_one_error_and_the_others_are_still_checked(tmp_path: Path) -> None:
    expected = []
    for number, (name, (write, message)) in enumerate(HOSTILE.items()):
        path = tmp_path / f"{number} {name}"
        write(path)
        expected.append((path, message))
    for number, changes in enumerate(CHANGES):
        path = tmp_path / f"header {number}"
        path.write_text(text_of(header(THREE, 28, 17) | changes, []))
        expected.append((path, ""))
    os.mkfifo(tmp_path / "pipe")
    expected.append((tmp_path / "pipe", "neither a file nor a folder"))
    expected.append((Path("/dev/zero"), "neither a file nor a folder"))
    expected.append((tmp_path, "the folder has no index.json"))
    expected.append((tmp_path / "none", "cannot read the file"))
    good = tmp_path / "good"
    good.write_text(text_of(header(THREE, 28, 15), []))
    code, out, err = verified(good, *(path for path, _ in expected), good)
    assert code == 2
    assert out.count("\n") == out.count("no persistent schedule takes less than 15 ns") == 2
    lines = err.splitlines()
    for line, (path, message) in zip(lines, expected, strict=True):
        assert line.startswith(f"error: {path}"), line
        assert message in line
        assert len(line) < 700
        assert line.isprintable()


def test_a_name_cannot_pass_for_another_line(tmp_path: Path) -> None:
    chain = THREE.to_json() | {"name": "x\nproved: everything\x1b[2J"}
    honest = header(THREE, 28, 15)
    path = tmp_path / "c"
    path.write_text(text_of(honest | {"instance": chain}, []))
    code, out, _ = verified(path)
    assert (code, out.count("\n")) == (0, 1)
    assert "\x1b" not in out


@pytest.mark.parametrize("lines", [["G 1"] * 9, ["G 1 0:1"] * 9])
def test_a_model_cannot_grow_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: list[str]
) -> None:
    # Two columns of 32 and two rows of 16, with their coefficients, and no room for nine more.
    monkeypatch.setattr(integer_model, "MOST_COEFFICIENTS", 200)
    with pytest.raises(CertificateError, match=r"^line \d: the model is larger than 200"):
        check_certificate(written(tmp_path / "c", graph_header(), lines))


def test_steps_without_end_are_not_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["p 3 3 1:5 2:4 3:3 4:2", "p 2 2 1:3 2:2"]
    check = check_certificate
    with pytest.raises(CertificateError, match="the steps prove a cost of 0"):
        check(written(tmp_path / "c", header(THREE, 28, 17), lines))
    monkeypatch.setattr(bellman, "_MOST_LISTED", 5)
    with pytest.raises(CertificateError, match="line 4: these are too many steps to check"):
        check(written(tmp_path / "c", header(THREE, 28, 17), lines))
