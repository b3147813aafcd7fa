"""Sets of generated instances as a user makes and checks them."""

from __future__ import annotations

import hashlib
import json
import random
import re
import shutil
from pathlib import Path
from typing import Any

import highspy
import pytest

from jettison.certificates.checker import check_certificate
from jettison.instances.core.content_hash import content_sha256
from jettison.instances.core.json_file import json_text
from jettison.instances.generators.three_partition_family import FAMILIES
from tests.cli.terminal import CommandLine

COMMON = "--groups 8 --seed 1 --count 2"


@pytest.fixture
def no_set(typed: CommandLine, tmp_path: Path) -> Path:
    """Generate a set of all three formats with the answer no."""
    folder = tmp_path / "no"
    words = "--target 1000 --answer no --format json,mps,lp"
    code, _, err = typed.run(f"generate three-partition {COMMON} {words} -o {folder}")
    assert code == 0, err
    return folder


def seal(folder: Path, **changes: Any) -> None:
    """Write the index again so that all hashes hold, as somebody who wants to cheat would."""
    path = folder / "index.json"
    index = json.loads(path.read_text()) | changes
    del index["sha256"]
    if "files" not in changes:
        for entry in index["files"]:
            data = (folder / entry["name"]).read_bytes()
            entry |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    path.write_text(json_text(index | {"sha256": content_sha256(index)}))


def test_a_generated_set_is_verified_and_every_file_has_its_line(
    typed: CommandLine, no_set: Path
) -> None:
    code, out, err = typed.run(f"verify {no_set}")
    assert (code, err) == (0, "")
    lines = dict(line.split(": ", 1) for line in out.splitlines())
    assert sorted(lines) == sorted(path.name for path in no_set.iterdir())
    assert len(lines) == 2 * 3 + 2
    assert "no 3-partition: by residues mod 5" in lines["residue-m8-v1000-q5-s1-0.json"]
    solutions = (no_set / "residue-m8-v1000-q5-s1.solu").read_text()
    assert solutions == "=inf= residue-m8-v1000-q5-s1-0\n=inf= residue-m8-v1000-q5-s1-1\n"


def test_answers_no_have_certificates_of_their_own_and_they_are_verified(
    typed: CommandLine, tmp_path: Path
) -> None:
    folder = tmp_path / "certified"
    words = "--target 1000 --answer no --format json,certificate"
    code, _, err = typed.run(f"generate three-partition {COMMON} {words} -o {folder}")
    assert code == 0, err
    files = sorted(folder.glob("*.certificate"))
    assert len(files) == 2
    for path in files:
        assert check_certificate(path).claim.time_ns is None
    out = typed.output(f"verify {folder}")
    assert f"{files[0].name}: the same for residue-m8-v1000-q5-s1-0" in out
    files[0].write_text(files[0].read_text().replace("f 0:", "f 1:"))
    seal(folder)
    code, _, err = typed.run(f"verify {folder}")
    assert code == 2
    assert "not what its instance makes of it" in err


def test_answers_yes_have_no_such_files(typed: CommandLine, tmp_path: Path) -> None:
    folder = tmp_path / "yes"
    words = "--target 999 --answer yes --format json,certificate"
    typed.output(f"generate three-partition {COMMON} {words} -o {folder}")
    assert not list(folder.glob("*.certificate"))
    typed.output(f"verify {folder}")


def test_verifying_needs_no_solver(
    typed: CommandLine, no_set: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import highspy

    def refuse(*_: object) -> None:
        raise AssertionError("a solver was called")

    monkeypatch.setattr(highspy, "Highs", refuse)
    typed.output(f"verify {no_set}")


@pytest.mark.parametrize(
    "words",
    [
        "three-partition --target 999 --answer yes",
        "three-partition --target 999 --family split --format json,mps",
        "three-partition --target 999 --family split --moduli 5,11",
        "three-partition --target 192 --family farkas",
        "three-partition --target 192 --family parity --format json,lp",
        "triplets --format json,mps,lp --model triples",
        "three-partition --target 99 --answer no --format json,lp --model led-by-largest",
        "weight-offload --target 1000 --answer yes",
        "weight-offload --target 999 --answer no --family split",
    ],
)
def test_every_kind_of_set_is_verified_and_the_same_words_give_the_same_bytes(
    typed: CommandLine, tmp_path: Path, words: str
) -> None:
    for folder in (tmp_path / "a", tmp_path / "b"):
        code, _, err = typed.run(f"generate {words} {COMMON} -o {folder}")
        assert code == 0, err
        code, _, err = typed.run(f"verify {folder}")
        assert code == 0, err
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "b").iterdir())
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_the_issued_set_has_the_bytes_that_it_had_on_other_machines(no_set: Path) -> None:
    # The index holds the hash of every file. Another hash here means another GENERATOR_VERSION.
    index = json.loads((no_set / "index.json").read_text())
    assert index["sha256"] == "f59a2c5cf1e7ac8e970bad921e146b97f08824592e1c72ee743a3579f1be4343"


def test_more_instances_do_not_change_the_first_ones(typed: CommandLine, tmp_path: Path) -> None:
    words = "generate three-partition --groups 5 --target 200 --answer yes"
    typed.run(f"{words} --count 1 -o {tmp_path}/one")
    typed.run(f"{words} --count 3 -o {tmp_path}/three")
    name = "planted-m5-v200-s0-0.json"
    assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "three" / name).read_bytes()


def test_any_changed_byte_of_any_file_is_found(typed: CommandLine, no_set: Path) -> None:
    generator = random.Random(12)
    for path in sorted(no_set.iterdir()):
        data = path.read_bytes()
        places = {0, len(data) - 1, *(generator.randrange(len(data)) for _ in range(8))}
        for place in places:
            changed = bytearray(data)
            changed[place] ^= 1 << generator.randrange(8)
            path.write_bytes(changed)
            code, _, err = typed.run(f"verify {no_set}")
            assert (code, err.count("\n")) == (2, 1), (path.name, place)
            assert err.startswith("error: ")
        for changed_text in (
            data + b"\n",
            data + b" ",
            data[:-1],
            b"",
            data.replace(b"\n", b"\r\n"),
        ):
            path.write_bytes(changed_text)
            assert typed.run(f"verify {no_set}")[0] == 2, (path.name, changed_text[:20])
        path.write_bytes(data)
    typed.output(f"verify {no_set}")


def test_numbers_of_the_index_written_otherwise_are_found(typed: CommandLine, no_set: Path) -> None:
    path = no_set / "index.json"
    text = path.read_text()
    assert '"count": 2' in text
    # Python takes 2.0 for 2, and the hash of the index is over what it says.
    path.write_text(text.replace('"count": 2', '"count": 2.0'))
    code, _, err = typed.run(f"verify {no_set}")
    assert code == 2
    assert "index.json" in err


def test_missing_and_additional_files_are_found(typed: CommandLine, no_set: Path) -> None:
    extra = no_set / "notes.txt"
    extra.write_text("mine")
    assert "notes.txt: the file is not listed" in typed.run(f"verify {no_set}")[2]
    extra.unlink()
    extra.mkdir()
    assert "not listed" in typed.run(f"verify {no_set}")[2]
    extra.rmdir()
    for path in sorted(no_set.iterdir()):
        data = path.read_bytes()
        path.unlink()
        code, _, err = typed.run(f"verify {no_set}")
        assert (code, path.name in err) == (2, True)
        # The same bytes behind a link are not a file of the set.
        other = no_set.parent / "elsewhere"
        other.write_bytes(data)
        path.symlink_to(other)
        assert typed.run(f"verify {no_set}")[0] == 2
        path.unlink()
        path.write_bytes(data)
    typed.output(f"verify {no_set}")


def test_changes_with_all_hashes_made_to_fit_are_found_by_what_they_say(
    typed: CommandLine, no_set: Path
) -> None:
    seal(no_set)
    typed.output(f"verify {no_set}")
    name = "residue-m8-v1000-q5-s1-0"
    for suffix, old, new, message in (
        ("mps", " RHS sum_0 1000", " RHS sum_0 1001", "not what its instance makes of it"),
        ("lp", "y_0_0", "y_0_1", "not what its instance makes of it"),
        ("json", '"number": 0', '"number": 1', "not what the index says"),
        ("json", '"seed": 1', '"seed": 2', "not what the index says"),
        ("json", '"answer": "no"', '"answer": "yes"', "answer: 'yes'"),
        ("json", '"name": "', '"name": "x', "not what its instance|cannot hold the model"),
    ):
        path = no_set / f"{name}.{suffix}"
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))
        seal(no_set)
        code, _, err = typed.run(f"verify {no_set}")
        assert code == 2, (suffix, new)
        assert any(part in err for part in message.split("|")), err
        path.write_text(text)
    path = no_set / "residue-m8-v1000-q5-s1.solu"
    path.write_text(path.read_text().replace("=inf=", "=feas=", 1))
    seal(no_set)
    assert "solu: it is not what its instance makes" in typed.run(f"verify {no_set}")[2]


@pytest.mark.parametrize("family", FAMILIES)
def test_no_random_change_survives_new_hashes(
    typed: CommandLine, tmp_path: Path, family: str
) -> None:
    """One token of one file is changed, lost or doubled, and the set is sealed again."""
    folder = tmp_path / family
    words = f"--groups 8 --target 999 --seed 1 --family {family} --format json,mps,lp"
    if FAMILIES[family].answer == "no":
        words += ",certificate"
    typed.output(f"generate three-partition {words} -o {folder}")
    draw = random.Random(family)
    paths = sorted(path for path in folder.iterdir() if path.name != "index.json")
    for _ in range(12):
        path = draw.choice(paths)
        text = path.read_text()
        found = draw.choice(list(re.finditer(r"\w+", text)))
        word = found[0]
        changed = draw.choice(("", word + word[-1:], _other_number(word, draw)))
        path.write_text(text[: found.start()] + changed + text[found.end() :])
        seal(folder)
        code, _, err = typed.run(f"verify {folder}")
        assert (code, err.count("\n")) == (2, 1), (path.name, word, changed, err)
        path.write_text(text)
    seal(folder)
    typed.output(f"verify {folder}")


def _other_number(word: str, draw: random.Random) -> str:
    """Return another number near a number, and another word in place of a word."""
    return str(int(word) + draw.choice((-1, 1, 3))) if word.isdecimal() else word.swapcase() + "x"


def test_an_index_that_says_something_else_is_found_although_its_hash_fits(
    typed: CommandLine, no_set: Path
) -> None:
    index = json.loads((no_set / "index.json").read_text())
    for changes in (
        {"answer": "yes"},
        {"count": 3},
        {"family": "parity"},
        {"name": "residue-m8-v1000-q5-s2"},
        {"formats": ["json", "mps"]},
        {"formats": ["lp", "mps", "json"]},
        {"model": "led-by-largest"},
        {"generator_version": 2},
        {"parameters": index["parameters"] | {"groups": 9}},
        {"instances": index["instances"][:1]},
        {"instances": index["instances"][::-1]},
        {"instances": [index["instances"][0]] * 2},
        {"instances": [entry | {"memory_bytes": 1} for entry in index["instances"]]},
        {"files": index["files"][::-1]},
        {"files": index["files"] + index["files"][:1]},
        {"problem": "weight-offload"},
    ):
        seal(no_set, **changes)
        code, _, err = typed.run(f"verify {no_set}")
        assert (code, err.count("\n")) == (2, 1), changes
        seal(no_set, **index)
    typed.output(f"verify {no_set}")


def test_a_planted_triple_that_is_moved_proves_nothing(typed: CommandLine, tmp_path: Path) -> None:
    folder = tmp_path / "yes"
    typed.run(f"generate three-partition {COMMON} --target 300 --answer yes -o {folder}")
    path = folder / "planted-m8-v300-s1-0.json"
    document = json.loads(path.read_text())
    triples = document["certificate"]["triples"]
    triples[0], triples[1] = triples[0][:2] + triples[1][2:], triples[1][:2] + triples[0][2:]
    path.write_text(json_text(document))
    assert "certificate.triples[0]: items" in typed.error(f"verify {path}")
    seal(folder)
    assert typed.run(f"verify {folder}")[0] == 2


def test_a_single_instance_and_an_index_can_be_verified(typed: CommandLine, no_set: Path) -> None:
    path = no_set / "residue-m8-v1000-q5-s1-1.json"
    out = typed.output(f"verify {path}")
    assert out.startswith(f"{path}: no 3-partition")
    out = typed.output(f"verify {no_set}/index.json")
    assert "index.json: 7 files" in out


def test_weight_offload_says_what_the_period_is_and_what_memory_it_takes(
    typed: CommandLine, tmp_path: Path
) -> None:
    for answer, word, value in (("yes", "opt", 16_000), ("no", "bestdual", 16_001)):
        folder = tmp_path / answer
        words = f"--groups 8 --target 1000 --answer {answer}"
        typed.output(f"generate weight-offload {words} -o {folder}")
        [entry] = json.loads((folder / "index.json").read_text())["instances"]
        # M = (m + 1) V bytes, one byte per ns, T = 2 m V ns.
        assert entry["memory_bytes"] == 9000
        assert entry["bandwidth_bytes_per_s"] == 10**9
        assert entry["shortest_period_ns"] == 16_000
        [solutions] = folder.glob("*.solu")
        assert solutions.read_text() == f"={word}= {entry['name']} {value}\n"
        out = typed.output(f"show {folder}/{entry['name']}.json")
        assert "chain" in out
        code, out, _ = typed.run(f"show {folder}/{entry['name']}.three-partition.json")
        assert (code, f"answer           {answer}" in out) == (0, True)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--groups 0 --target 9 --answer yes", "groups: 0; write 1 to 1000"),
        ("--groups 3 --target 8 --answer yes", "target: 8: no three integers"),
        ("--groups 3 --target -8 --answer yes", "target: -8 is negative"),
        ("--groups 3 --target 99", "answer: neither an answer nor a family is given"),
        ("--groups 3 --target 99 --answer perhaps", "answer: 'perhaps'"),
        (
            "--groups 3 --target 99 --answer yes --family residue",
            "answer: yes, but every instance of family residue has the answer no",
        ),
        ("--groups 3 --target 99 --family sat", "family: 'sat' is not a family"),
        ("--groups 3 --target 99 --answer no --moduli x", "moduli: 'x'"),
        (
            "--groups 3 --target 99 --answer yes --format json,xml",
            "format: 'json,xml'; write json,mps,lp",
        ),
        ("--groups 3 --target 99 --answer yes --format mps", "format: 'mps' leaves out json"),
        ("--groups 3 --target 99 --answer yes --count 0", "count: 0"),
        ("--groups 3 --target 99 --answer yes --seed -1", "seed: -1"),
        (
            "--groups 201 --target 99 --answer yes --format json,lp",
            "format: the model of 201 groups",
        ),
    ],
)
def test_bad_options_are_one_error_and_write_nothing(
    typed: CommandLine, tmp_path: Path, words: str, message: str
) -> None:
    assert message in typed.error(f"generate three-partition {words} -o {tmp_path}/new")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_holds_something_is_left_alone(typed: CommandLine, tmp_path: Path) -> None:
    words = "generate three-partition --groups 3 --target 99 --answer yes"
    kept = tmp_path / "mine"
    kept.mkdir()
    (kept / "thesis.txt").write_text("mine")
    assert "is not empty" in typed.run(f"{words} -o {kept}")[2]
    assert [path.name for path in kept.iterdir()] == ["thesis.txt"]
    assert "is a file" in typed.run(f"{words} -o {kept}/thesis.txt")[2]
    assert "does not exist" in typed.run(f"{words} -o {tmp_path}/no/where")[2]
    empty = tmp_path / "empty"
    empty.mkdir()
    typed.output(f"{words} -o {empty}")
    typed.output(f"verify {empty}")


def test_the_bound_of_weight_offload_is_written_beside_the_chain(
    typed: CommandLine, tmp_path: Path
) -> None:
    for answer, line in (("yes", "=opt= {}-bound 0\n"), ("no", "=unkn= {}-bound\n")):
        folder = tmp_path / answer
        words = f"--groups 3 --target 99 --answer {answer} --format json,mps,lp"
        code, _, err = typed.run(f"generate weight-offload {words} -o {folder}")
        assert code == 0, err
        [entry] = json.loads((folder / "index.json").read_text())["instances"]
        [solutions] = folder.glob("*.solu")
        assert solutions.read_text().endswith(line.format(entry["name"]))
        out = typed.output(f"verify {folder}")
        assert f"{entry['name']}-bound.mps: the model offload-bound of {entry['name']}\n" in out
        path = folder / f"{entry['name']}-bound.lp"
        path.write_text(path.read_text().replace("+ 1 ", "+ 2 ", 1))
        seal(folder)
        assert "not what its instance makes of it" in typed.run(f"verify {folder}")[2]


@pytest.mark.parametrize("variant", ["", "-strengthened"])
def test_the_exact_model_of_weight_offload_is_written_with_its_answer(
    typed: CommandLine, tmp_path: Path, variant: str
) -> None:
    for answer, line, status in (
        ("yes", "=feas= {}-events\n", "Optimal"),
        ("no --moduli 4", "=inf= {}-events\n", "Infeasible"),
    ):
        folder = tmp_path / status
        words = f"--groups 2 --target 99 --answer {answer} --format json,mps,lp"
        typed.output(f"generate weight-offload {words} --model offload-events{variant} -o {folder}")
        [entry] = json.loads((folder / "index.json").read_text())["instances"]
        [solutions] = folder.glob("*.solu")
        assert solutions.read_text().endswith(line.format(entry["name"]))
        assert "all as listed, and no others" in typed.output(f"verify {folder}")
        for suffix in ("mps", "lp"):
            solver = highspy.Highs()
            solver.setOptionValue("output_flag", False)
            solver.readModel(str(folder / f"{entry['name']}-events.{suffix}"))
            solver.run()
            assert solver.modelStatusToString(solver.getModelStatus()) == status


def test_the_exact_model_of_many_groups_is_refused(typed: CommandLine, tmp_path: Path) -> None:
    words = "--groups 7 --target 99 --answer yes --format json,mps --model offload-events"
    err = typed.error(f"generate weight-offload {words} -o {tmp_path}/new")
    assert "format: the model of 7 groups; mps and lp are written for up to 6" in err


def test_the_bound_of_many_groups_is_refused(typed: CommandLine, tmp_path: Path) -> None:
    words = "--groups 21 --target 99 --answer yes --format json,mps"
    err = typed.error(f"generate weight-offload {words} -o {tmp_path}/new")
    assert "format: the model of 21 groups; mps and lp are written for up to 20" in err


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "[" * 100_000,
        '{"format": "jettison"}',
        '{"format": "jettison", "kind": "chain", "version": 1}',
        '{"format": "jettison", "kind": "three-partition", "version": 2}',
        '{"format": "jettison", "kind": "three-partition", "version": 1, "name": "x", '
        f'"target": {"9" * 5000}, "values": [3, 3, 4]}}',
        '{"format": "jettison", "kind": "three-partition", "version": 1, "name": "x", '
        f'"target": 10, "values": [{"3, " * 3000}3]}}',
        '{"format": "jettison", "kind": "three-partition", "version": 1, "name": "x", '
        '"target": 10, "values": [3, 3, 4]}',
        '{"format": "jettison", "kind": "three-partition", "version": 1, "name": "x", '
        '"target": 10, "values": [3, 3, 4], "answer": "no", '
        f'"certificate": {{"kind": "triple-weights", "weights": [[3, {"9" * 4000}], [4, -1]]}}}}',
        '{"format": "jettison", "kind": "three-partition", "version": 1, "name": "x", '
        '"target": 10, "values": [3, 3, 4], "answer": "no", '
        '"certificate": {"kind": "triple-weights", "weights": [[3, 1e300], [4, -1e400]]}}',
    ],
)
def test_hostile_files_are_one_error(typed: CommandLine, tmp_path: Path, text: str) -> None:
    path = tmp_path / "file.json"
    path.write_text(text)
    err = typed.error(f"verify {path}")
    assert len(err) < 700
    folder = tmp_path / "set"
    folder.mkdir()
    shutil.copy(path, folder / "index.json")
    assert typed.run(f"verify {folder}")[0] == 2


def test_a_path_that_is_not_there_is_one_error(typed: CommandLine, tmp_path: Path) -> None:
    assert "cannot read the file" in typed.run(f"verify {tmp_path}/nothing")[2]
    assert "the folder has no index.json" in typed.run(f"verify {tmp_path}")[2]


def test_a_three_partition_is_no_instance_of_the_other_problems(
    typed: CommandLine, no_set: Path
) -> None:
    path = no_set / "residue-m8-v1000-q5-s1-0.json"
    err = typed.error(f"solve remat-chain {path} --memory 50%")
    assert (
        "is a three-partition; give a chain to remat-chain; a three-partition is for no problem"
        in err
    )


def test_a_layered_graph_is_drawn_and_solved(typed: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "layered.json"
    code, _, told = typed.run(f"generate layered-graph --nodes 12 --seed 3 -o {path}")
    assert code == 0
    assert "12 nodes" in told
    first = path.read_bytes()
    typed.run(f"generate layered-graph --nodes 12 --seed 3 -o {path}")
    assert path.read_bytes() == first
    assert typed.json(f"solve remat-graph {path} --memory 100%")["status"] == "optimal"


def test_a_training_graph_is_written_and_solved(typed: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "step.json"
    code, _, told = typed.run(f"generate training-graph --network encoder-2 --batch 1 -o {path}")
    assert code == 0
    assert "graph encoder-2, 32 nodes" in told
    out = typed.output(f"solve remat-graph {path} --memory 90% --json")
    assert json.loads(out)["gap"] == 0


@pytest.mark.parametrize(
    ("arguments", "field"),
    [("--network lenet", "network"), ("--network vgg-16 --batch 0", "batch")],
)
def test_a_training_graph_that_cannot_be_is_refused(
    typed: CommandLine, tmp_path: Path, arguments: str, field: str
) -> None:
    path = tmp_path / "g.json"
    assert field in typed.error(f"generate training-graph {arguments} -o {path}")
    assert not path.exists()


def test_a_layered_graph_of_too_few_nodes_is_refused(typed: CommandLine, tmp_path: Path) -> None:
    assert "nodes" in typed.error(f"generate layered-graph --nodes 3 -o {tmp_path}/g.json")
