"""Two checkers that share nothing say the same of stored, fresh and changed certificates."""

from __future__ import annotations

import copy
import gzip
import json
import random
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from jettison import RematChain, check_certificate
from jettison.certificates.claim import instance_sha256
from jettison.core import CertificateError
from jettison.solvers.core.clock import Clock
from jettison.solvers.proof.certificate import Certificate
from jettison.solvers.proof.certify import certify
from jettison.solvers.proof.statement import Statement
from tests.certificates.second_checker import SCRIPT, needs_node, verdicts
from tests.certificates.test_changed_certificates import (
    certificates,
    change,
    change_lines,
    with_another_number,
)
from tests.certificates.test_exchanged_parts import certificates as certificates_of_all
from tests.certificates.test_exchanged_parts import change_header, is_like
from tests.certificates.written_certificate import text_of
from tests.drawing.chains import random_chain
from tests.drawing.graphs import tight

DATA = Path(__file__).parent / "data"
CHANGED = 300
MOST_LINES_OF_CORE = 600
MOST_LINES_OF_A_PROBLEM = 240


def first_says(path: Path) -> str:
    try:
        check_certificate(path)
    except CertificateError:
        return "refused"
    return "proved"


def test_it_is_short_enough_to_be_read() -> None:
    core = [_lines(path) for path in SCRIPT.parent.glob("*.js")]
    problems = [_lines(path) for path in SCRIPT.parent.glob("problems/*.js")]
    assert sum(map(len, core)) <= MOST_LINES_OF_CORE
    assert max(map(len, problems)) <= MOST_LINES_OF_A_PROBLEM
    assert max(len(line) for lines in (*core, *problems) for line in lines) <= 100


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def test_its_core_checks_chains_and_loads_no_other_problem(tmp_path: Path) -> None:
    for path in SCRIPT.parent.glob("*.js"):
        shutil.copy(path, tmp_path)
    chain, graph = (next(DATA.glob(f"{name}-*.gz")) for name in ("remat-chain", "remat-graph"))
    script = tmp_path / SCRIPT.name
    assert verdicts([chain], script) == ["proved"]
    done = subprocess.run([needs_node(), str(script), str(graph)], capture_output=True, check=False)
    assert b"problems/remat_graph.js" in done.stderr


def test_stored_certificates_are_proved_by_both() -> None:
    assert set(verdicts(sorted(DATA.glob("*.gz")))) == {"proved"}


@cache
def fresh() -> tuple[str, ...]:
    """Return texts of certificates that solvers make here, of chains and graphs."""
    made = (*certificates(), *_with_slots(), *_of_cuts())
    return tuple(gzip.decompress(certificate.compressed).decode("ascii") for certificate in made)


def _with_slots() -> Iterator[Certificate]:
    generator = random.Random(71)
    count = 0
    while count < 6:
        problem = tight(generator, 6)
        cut = generator.randrange(1, len(problem.instance) - 1)
        statement = Statement(
            "remat-graph",
            problem.instance.to_json(),
            {"memory_bytes": problem.memory_bytes},
            {
                "name": "windowed-frontier",
                "version": 1,
                "cuts": [cut - 1, cut],
                "slots": [[cut, q] for q in range(cut)],
            },
        )
        found = certify(statement, problem.instance.base_time_ns + 1, Clock(5))
        if found is not None and found.time_ns != problem.instance.base_time_ns:
            count += 1
            yield found


def _of_cuts() -> Iterator[Certificate]:
    generator = random.Random(72)
    count = 0
    while count < 6:
        problem = RematChain(random_chain(generator, 5), f"{generator.randrange(40, 90)}%")
        statement = Statement(
            "remat-chain",
            problem.instance.to_json(),
            {"memory_bytes": problem.memory_bytes},
            {"name": "chain-cut", "version": 1, "stage": len(problem.instance) - 1},
        )
        found = certify(statement, problem.instance.base_time_ns + 1, Clock(5))
        if found is not None and found.time_ns != problem.instance.base_time_ns:
            count += 1
            yield found


def test_fresh_certificates_are_proved_by_both(tmp_path: Path) -> None:
    paths = []
    for number, text in enumerate(fresh()):
        path = tmp_path / f"{number}"
        path.write_text(text, encoding="ascii")
        assert first_says(path) == "proved"
        paths.append(path)
    assert set(verdicts(paths)) == {"proved"}


def test_the_same_is_said_of_changed_certificates(tmp_path: Path) -> None:
    generator = random.Random(73)
    paths = []
    for number in range(CHANGED):
        magic, head, *lines = generator.choice(fresh()).splitlines()
        header = json.loads(head)
        if header["formulation"]["name"] == "chain-cut" and generator.random() < 0.3:
            header["formulation"]["stage"] += generator.choice([-1, 1])
        else:
            change(header, lines, generator)
        path = tmp_path / f"{number}"
        path.write_text("".join(f"{line}\n" for line in (magic, json.dumps(header), *lines)))
        paths.append(path)
    counts: Counter[str] = Counter()
    for path, second in zip(paths, verdicts(paths), strict=True):
        first = first_says(path)
        assert (first == "proved") == (second == "proved"), path.read_text()
        counts[first] += 1
    assert min(counts["proved"], counts["refused"]) > 50


def test_the_same_is_said_of_changed_certificates_of_every_formulation(tmp_path: Path) -> None:
    generator = random.Random(77)
    paths = []
    for number in range(CHANGED):
        path = tmp_path / f"{number}"
        path.write_text(altered(generator), encoding="ascii")
        paths.append(path)
    counts: Counter[str] = Counter()
    for path, second in zip(paths, verdicts(paths), strict=True):
        first = first_says(path)
        assert first == second, path.read_text()
        counts[first] += 1
    assert min(counts["proved"], counts["refused"]) > 50


def altered(generator: random.Random) -> str:
    """Return a certificate of any formulation of which the proof, or what it is about, changed."""
    base = generator.choice(certificates_of_all())
    header = copy.deepcopy(dict(base.header))
    kind = generator.choice(("number", "line", "proof", "claim", "given", "entries", "numbers"))
    if kind == "proof":
        base = generator.choice([item for item in certificates_of_all() if is_like(item, header)])
        header["scale_bits"] = base.header["scale_bits"]
    lines = gzip.decompress(base.lines).decode("ascii").splitlines()
    if kind == "number":
        place = generator.randrange(len(lines))
        lines[place] = with_another_number(lines[place], generator)
    elif kind == "line":
        change_lines(lines, generator)
    elif kind != "proof":
        change_header(header, kind, generator)
    header["instance_sha256"] = instance_sha256(header["instance"])
    return text_of(header, lines)


def test_the_same_is_said_of_changed_bytes(tmp_path: Path) -> None:
    generator = random.Random(74)
    paths = []
    for number in range(CHANGED // 2):
        data = bytearray(generator.choice(fresh()).encode("ascii"))
        for _ in range(generator.randint(1, 2)):
            place = generator.randrange(len(data))
            match generator.randrange(3):
                case 0:
                    data[place] = generator.choice(b'0123456789-:,"{}[] \n\r.eEpblfx|=\\\x80')
                case 1:
                    del data[place]
                case _:
                    data.insert(place, generator.choice(b"019- \n:"))
        path = tmp_path / f"{number}"
        path.write_bytes(data)
        paths.append(path)
    for path, second in zip(paths, verdicts(paths), strict=True):
        assert (first_says(path) == "proved") == (second == "proved"), path.read_bytes()


def test_the_same_is_said_of_texts_that_no_instance_has(tmp_path: Path) -> None:
    """Hashes of names with any letters: both write the same canonical text."""
    generator = random.Random(75)
    letters = [chr(code) for code in (*range(0, 0x180), 0x2028, 0xD7FF, 0xE000, 0xFFFF, 0x1F600)]
    source = next(text for text in fresh() if '"kind":"chain"' in text)
    paths = []
    for number in range(60):
        magic, head, *lines = source.splitlines()
        header = json.loads(head)
        for stage in header["instance"]["stages"]:
            stage["name"] = "".join(generator.choices(letters, k=9))
        header["instance_sha256"] = instance_sha256(header["instance"])
        path = tmp_path / f"{number}"
        path.write_text("".join(f"{line}\n" for line in (magic, json.dumps(header), *lines)))
        paths.append(path)
        assert first_says(path) == "proved"
    assert set(verdicts(paths)) == {"proved"}
