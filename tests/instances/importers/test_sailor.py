from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import jettison as jt
from jettison.instances.core.errors import InputError
from jettison.instances.importers.sailor import import_sailor
from tests.cli.terminal import Terminal

SAMPLES = Path(__file__).parent / "samples"
PROFILE = SAMPLES / "sailor-profile.json"
SIZES = SAMPLES / "sailor-sizes.json"
NAMES = {"model": "OPT-350", "device": "A100-40"}


def test_the_chain_is_worked_out_by_hand() -> None:
    chain = import_sailor(PROFILE, sizes=SIZES, batch=2, **NAMES)
    # Two samples of 3 bytes.
    assert (chain.name, chain.input_bytes) == ("opt-350m-b2-a100-40", 6)
    assert [
        (
            *(stage.name, stage.forward_ns, stage.backward_ns, stage.output_bytes),
            *(stage.saved_bytes, stage.weight_bytes),
        )
        for stage in chain
    ] == [
        # 1.5 us; outputs and saved bytes of two samples, parameters once.
        ("layer 0", 1_500, 0, 16, 16, 50),
        # 4000000.5 ns: half to even.
        ("layer 1", 2_000_000, 4_000_000, 16, 60, 20),
        # The last layer ends with the loss, whose output is not counted.
        ("layer 2", 3_000_000, 5_000_000, 0, 140, 60),
    ]
    assert {stage.forward_overhead_bytes for stage in chain} == {0}
    assert {stage.backward_overhead_bytes for stage in chain} == {0}


def test_what_is_saved_is_never_less_than_the_output() -> None:
    chain = import_sailor(PROFILE, sizes=SIZES, batch=2, tensor_parallel=2, **NAMES)
    # 2 x 6 saved, and 2 x 8 of output.
    assert (chain.name, chain.stage(1).saved_bytes) == ("opt-350m-b2-tp2-a100-40", 16)


def test_the_provenance_says_what_was_measured_repeated_and_scaled() -> None:
    provenance = import_sailor(PROFILE, sizes=SIZES, batch=2, **NAMES).provenance
    assert (provenance.source, provenance.device, provenance.batch) == ("imported", "A100-40", 2)
    note = provenance.note or ""
    assert "3 layers have 3 different times" in note
    # 10 + 20 + 10 us.
    assert "The optimizer takes 40000 ns" in note
    assert "rounded" not in note


def test_times_that_are_rounded_and_updates_that_are_missing_are_told() -> None:
    chain = import_sailor(PROFILE, sizes=SIZES, batch=2, tensor_parallel=2, **NAMES)
    note = chain.provenance.note or ""
    assert "The optimizer was not timed." in note
    assert "Times are rounded to 0.1 ms." in note
    assert "The share of one device" in note


def test_a_file_of_somebody_else_is_not_said_to_be_published() -> None:
    # The names are those of a published profile, and the bytes are not.
    provenance = import_sailor(PROFILE, sizes=SIZES, batch=2, **NAMES).provenance
    assert (provenance.repository, provenance.licence, provenance.sequence) == (None, None, None)


def test_a_published_profile_is_known_by_its_bytes(shared_data: Path) -> None:
    folder = shared_data / "sailor"
    profile = folder / "profiles" / "OPT-350" / "A100-40" / "profile.json"
    chain = import_sailor(profile, sizes=folder / "llm_info.json", batch=4)
    provenance = chain.provenance
    assert chain.name == "opt-350m-b4-a100-40"
    assert provenance.repository == "eth-easl/sailor"
    assert provenance.file == "sailor/Planner/sailor_planner/profiles/OPT-350/A100-40/profile.json"
    assert (provenance.licence, provenance.commit) == ("MIT", "cf2c8e3")
    assert (provenance.device, provenance.dtype) == ("A100-40", "float32")
    assert (provenance.batch, provenance.sequence) == (4, 2048)
    # On another device they would be somebody else's.
    other = import_sailor(profile, sizes=folder / "llm_info.json", batch=4, device="B9")
    assert (other.provenance.device, other.provenance.repository) == ("B9", None)


def test_model_and_device_are_the_folders_of_the_file(tmp_path: Path) -> None:
    folder = tmp_path / "OPT-350" / "GH-96"
    folder.mkdir(parents=True)
    (folder / "profile.json").write_bytes(PROFILE.read_bytes())
    chain = import_sailor(folder / "profile.json", sizes=SIZES, batch=2)
    assert chain.name == "opt-350m-b2-gh-96"


def _change(path: tuple[str, ...], value: object) -> Callable[[Any], None]:
    def change(document: Any) -> None:
        for key in path[:-1]:
            document = document[key]
        document[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("changed", "path", "value", "message"),
    [
        (PROFILE, ("2",), [], "2: '[]' is not an object; a profile is {microbatch"),
        (PROFILE, ("2", "1"), {}, "2.1: there is no layer; give at least one"),
        (PROFILE, ("2", "1", "0"), [1.0, 2.0], "2.1.0: [1.0, 2.0] are not three times; write"),
        (PROFILE, ("2", "1", "0"), [1.0, -2.0, 0], "2.1.0[1]: -2.0 is negative or infinite; write"),
        (PROFILE, ("2", "1", "0"), ["1", 1, 0], "2.1.0[0]: '1' is not a number; write"),
        (PROFILE, ("2", "1", "4"), [1, 1, 0], "2.1: there are 4 layers, and none is 3; number"),
        (PROFILE, ("2", "1", "3"), [1, 1, 0], "2.1: 4 layers have times, and 3 of OPT-350 have"),
        (SIZES, ("OPT-350", "1", "1"), {}, "OPT-350.1.1.act_output_bytes: the field is missing"),
        (
            SIZES,
            ("OPT-350", "1", "1", "act_mem_bytes"),
            1.25,
            "OPT-350.1.1.act_mem_bytes: 2.5 is not a whole number of bytes; write",
        ),
        (SIZES, ("OPT-350", "1"), {}, "OPT-350.1: there is no layer; give at least one"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(
    tmp_path: Path, changed: Path, path: tuple[str, ...], value: object, message: str
) -> None:
    document = copy.deepcopy(json.loads(changed.read_text()))
    _change(path, value)(document)
    files = {file: tmp_path / file.name for file in (PROFILE, SIZES)}
    for file, copied in files.items():
        copied.write_bytes(file.read_bytes())
    files[changed].write_text(json.dumps(document))
    with pytest.raises(InputError) as caught:
        import_sailor(files[PROFILE], sizes=files[SIZES], batch=2, **NAMES)
    assert f"{files[changed]}: {message}" in str(caught.value)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"batch": 3}, "profile: there is no microbatch '3'; choose one of: '2', '16'"),
        ({"tensor_parallel": 8}, "2: there is no tensor parallel '8'; choose one of: '1', '2'"),
        ({"model": "GPT"}, "sizes: there is no model 'GPT'; choose one of: 'OPT-350'"),
    ],
)
def test_what_the_files_do_not_have_is_told_with_what_they_have(
    words: dict[str, Any], message: str
) -> None:
    arguments: dict[str, Any] = {"batch": 2, **NAMES, **words}
    with pytest.raises(InputError) as caught:
        import_sailor(PROFILE, sizes=SIZES, **arguments)
    assert message in str(caught.value)


def test_the_command_writes_a_chain(terminal: Terminal) -> None:
    words = f"import sailor {PROFILE} --sizes {SIZES} --batch 2 --model OPT-350 --device A100-40"
    assert terminal.run(*words.split(), "-o", "out.json")[0] == 0
    chain = jt.load(terminal.folder / "out.json")
    assert chain.sha256 == import_sailor(PROFILE, sizes=SIZES, batch=2, **NAMES).sha256


@pytest.mark.parametrize(
    ("model", "device", "layers", "base_time_ns", "time_ns"),
    [
        ("OPT-350", "A100-40", 26, 773_946_000, 929_822_000),
        ("OPT-30", "GH-96", 50, 7_992_723_000, 9_680_210_000),
    ],
)
def test_published_profiles_have_the_optimum_that_was_found_by_hand(
    shared_data: Path, model: str, device: str, layers: int, base_time_ns: int, time_ns: int
) -> None:
    folder = shared_data / "sailor"
    chain = import_sailor(
        folder / "profiles" / model / device / "profile.json",
        sizes=folder / "llm_info.json",
        batch=4,
    )
    assert (len(chain), chain.base_time_ns) == (layers, base_time_ns)
    result = jt.solve(jt.RematChain(chain, "30%"), method="rotor-exact")
    assert result.time_ns == time_ns


def test_the_published_profile_that_is_a_copy_of_another_is_refused(shared_data: Path) -> None:
    folder = shared_data / "sailor"
    profile = folder / "profiles" / "GPT-Neo-2.7" / "GH-96" / "profile.json"
    with pytest.raises(InputError, match=r"26 layers have times, and 34 of GPT-Neo-2\.7"):
        import_sailor(profile, sizes=folder / "llm_info.json", batch=1)


def test_every_other_published_profile_is_read(shared_data: Path) -> None:
    folder = shared_data / "sailor"
    sizes = folder / "llm_info.json"
    sized = {model: set(degrees) for model, degrees in json.loads(sizes.read_text()).items()}
    read = 0
    for path in sorted((folder / "profiles").glob("*/*/profile.json")):
        model, device = path.parts[-3:-1]
        for batch, degrees in json.loads(path.read_text()).items():
            # Some degrees that were timed have no sizes.
            for degree in set(degrees) & sized[model]:
                if (model, device) != ("GPT-Neo-2.7", "GH-96"):
                    chain = import_sailor(
                        path, sizes=sizes, batch=int(batch), tensor_parallel=int(degree)
                    )
                    assert chain.provenance.licence == "MIT"
                    read += 1
    assert read > 100
