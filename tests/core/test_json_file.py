from __future__ import annotations

import gzip
import json
import os
import stat
from pathlib import Path

import pytest

from jettison.instances.core.errors import InputError
from jettison.instances.core.json_file import (
    LARGEST_FILE_BYTES,
    check_header,
    check_schema,
    json_text,
    read_json,
    read_text,
    write_json,
    write_text,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "instance.json"


def _failure(path: Path) -> InputError:
    with pytest.raises(InputError) as info:
        read_json(path)
    assert info.value.source == str(path)
    assert str(info.value).startswith(f"{path}: ")
    assert "\n" not in str(info.value)
    return info.value


def test_a_document_survives_writing_and_reading(path: Path) -> None:
    document = {"b": [1, 2.5, None, True], "a": {"ä": "ω"}}
    write_json(document, path)
    assert read_json(path) == document


def test_written_keys_are_sorted_and_the_text_ends_with_a_newline(path: Path) -> None:
    write_json({"b": 1, "a": 2}, path)
    assert path.read_text(encoding="utf-8") == '{\n "a": 2,\n "b": 1\n}\n'


def test_a_name_that_ends_in_gz_is_compressed_without_a_date_and_read_by_any_name(
    tmp_path: Path,
) -> None:
    packed = tmp_path / "instance.json.gz"
    write_json({"a": list(range(100))}, packed)
    # The four bytes of the time are 0, and the next ones are the level and no system.
    assert packed.read_bytes()[:10] == b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"
    assert gzip.decompress(packed.read_bytes()) == json_text({"a": list(range(100))}).encode()
    renamed = packed.rename(tmp_path / "instance.json")
    assert read_json(renamed) == {"a": list(range(100))}


@pytest.mark.parametrize("length", [5, -12, -1])
def test_a_compressed_file_that_is_cut_short_is_refused(path: Path, length: int) -> None:
    path.write_bytes(gzip.compress(b'{"a": 1}')[:length])
    assert "damaged or cut short" in _failure(path).problem


def test_a_small_file_that_unpacks_to_a_huge_one_is_not_read(path: Path) -> None:
    path.write_bytes(gzip.compress(b" " * (LARGEST_FILE_BYTES + 1), 1))
    assert f"unpacks to more than {LARGEST_FILE_BYTES} bytes" in _failure(path).problem


def test_a_missing_file_is_named(path: Path) -> None:
    assert "No such file" in _failure(path).problem
    assert _failure(path).expected == "check the path"


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    assert "Is a directory" in _failure(tmp_path).problem


def test_a_path_that_no_file_can_have_is_refused() -> None:
    assert "null" in _failure(Path("a\0.json")).problem


def test_a_truncated_file_is_located(path: Path) -> None:
    path.write_text('{"a": 1,\n "b": [1, 2', encoding="utf-8")
    error = _failure(path)
    assert "line 2, column 12" in error.problem
    assert error.expected == "check that the file is complete"


def test_an_empty_file_is_not_json(path: Path) -> None:
    path.touch()
    assert "not JSON at line 1, column 1" in _failure(path).problem


def test_a_huge_file_is_not_read(path: Path) -> None:
    with path.open("wb") as stream:
        stream.truncate(200 * 10**6)
    error = _failure(path)
    assert f"more than {LARGEST_FILE_BYTES} bytes" in error.problem
    assert "up to" in error.expected


def test_a_file_without_an_end_is_not_read_forever() -> None:
    device = Path("/dev/zero")
    if not device.exists():
        pytest.skip("this system has no /dev/zero")
    with pytest.raises(InputError, match="more than"):
        read_text(device)


def test_text_that_is_not_utf_8_is_refused(path: Path) -> None:
    path.write_bytes('{"a": "é"}'.encode("latin-1"))
    assert _failure(path).problem == "the file is not UTF-8 text"


def test_a_key_that_stands_twice_is_named(path: Path) -> None:
    path.write_text('{"a": {"size": 1, "size": 2}}', encoding="utf-8")
    error = _failure(path)
    assert error.problem == "the key 'size' stands twice in one object"
    assert error.expected == "write each key once"


def test_deep_nesting_is_refused(path: Path) -> None:
    path.write_text("[" * 10**5 + "]" * 10**5, encoding="utf-8")
    assert _failure(path).problem == "the JSON nests too deeply"


@pytest.mark.parametrize("depth", range(900, 1000, 7))
def test_nesting_near_the_limit_of_the_interpreter_is_refused_somewhere(
    path: Path, depth: int
) -> None:
    # What can just be parsed may be too deep for the message of the validator.
    path.write_text('{"name": ' + "[" * depth + "]" * depth + "}", encoding="utf-8")
    with pytest.raises(InputError):
        check_schema(read_json(path), "jettison.instances", "chain.schema.json", str(path))


def test_an_integer_of_five_thousand_digits_is_refused(path: Path) -> None:
    path.write_text('{"a": 1' + "0" * 5000 + "}", encoding="utf-8")
    error = _failure(path)
    assert error.problem == "a number is too long"
    assert error.expected == "write integers below 2**53"


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_a_constant_that_is_not_json_is_refused(path: Path, number: str) -> None:
    path.write_text(f'{{"a": {number}}}', encoding="utf-8")
    error = _failure(path)
    assert error.problem == f"{number} is not a number"
    assert "finite" in error.expected


@pytest.mark.parametrize("number", ["1e400", "-1e400"])
def test_a_number_that_overflows_is_refused(path: Path, number: str) -> None:
    path.write_text(f'{{"a": {number}}}', encoding="utf-8")
    assert _failure(path).problem == f"{number} is too large"


def test_writing_into_a_missing_folder_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "instance.json"
    with pytest.raises(InputError, match=r"cannot write the file: .*; check the folder") as info:
        write_json({}, path)
    assert info.value.source == str(path)


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    path.mkdir()
    with pytest.raises(InputError, match="cannot write the file"):
        write_text("text", path)
    assert list(tmp_path.iterdir()) == [path]


def test_a_written_file_has_the_usual_permissions(path: Path) -> None:
    mask = os.umask(0o022)
    try:
        write_text("text", path)
    finally:
        os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


HEADER = {"format": "jettison", "kind": "chain", "version": 1}


def test_a_header_gives_the_kind() -> None:
    assert check_header(HEADER, {"graph": 1, "chain": 1}, "f.json") == "chain"


@pytest.mark.parametrize("document", [[], None, 3, {}, {**HEADER, "format": "networkx"}])
def test_a_foreign_document_is_sent_to_the_importers(document: object) -> None:
    with pytest.raises(InputError, match=r"^f.json: format: this is not a jettison file; .*import"):
        check_header(document, {"chain": 1}, "f.json")


@pytest.mark.parametrize("kind", ["graph", "", None, ["chain"]])
def test_another_kind_is_refused_with_those_that_fit(kind: object) -> None:
    with pytest.raises(InputError, match=r"^f.json: kind: .* give a file of kind chain$"):
        check_header({**HEADER, "kind": kind}, {"chain": 1}, "f.json")


def test_a_version_from_the_future_asks_for_an_update() -> None:
    with pytest.raises(InputError) as info:
        check_header({**HEADER, "version": 2}, {"chain": 1}, "f.json")
    assert str(info.value) == (
        "f.json: version: version 2 is newer than this program; "
        "update jettison, or save the file as version 1"
    )


@pytest.mark.parametrize("version", [0, -1, True, 1.0, "1", None])
def test_what_is_no_version_is_refused(version: object) -> None:
    with pytest.raises(InputError, match=r"^f.json: version: .* is not a version; write a version"):
        check_header({**HEADER, "version": version}, {"chain": 1}, "f.json")


def test_the_first_wrong_field_is_named_by_its_path() -> None:
    stage = {"name": "l", "forward_ns": 1, "backward_ns": 1, "output_bytes": 0, "saved_bytes": "9"}
    document = {**HEADER, "name": "c", "input_bytes": 1, "stages": [stage]}
    with pytest.raises(InputError) as info:
        check_schema(document, "jettison.instances", "chain.schema.json", "f.json")
    assert str(info.value) == (
        "f.json: stages[0].saved_bytes: '9' is not of type 'integer'; "
        "see chain.schema.json for what is allowed"
    )


def test_a_long_value_is_cut_in_the_message() -> None:
    document = {**HEADER, "name": "c" * 10**4, "input_bytes": 1, "stages": []}
    with pytest.raises(InputError, match=r"^f.json: name: ") as info:
        check_schema(document, "jettison.instances", "chain.schema.json", "f.json")
    assert len(str(info.value)) < 300


@pytest.mark.parametrize("name", ["chain", "graph", "provenance"])
def test_each_schema_is_a_valid_schema(name: str) -> None:
    from importlib import resources

    from jsonschema import Draft202012Validator

    file = resources.files("jettison.instances") / "schemas" / f"{name}.schema.json"
    Draft202012Validator.check_schema(json.loads(file.read_text(encoding="utf-8")))
