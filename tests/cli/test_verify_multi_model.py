"""`jettison verify` of multi-model schedules, in the resources that their files hold."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

import jettison as jt
from jettison import save, save_schedule
from tests.cli.terminal import Terminal
from tests.tiny import UNIFORM
from tests.tiny_models import mirrored_models

# Four layers of 2 + 3 ns and 10 bytes; b2 needs 42 bytes, the other operators 12. Copies are
# measured: 6 ns each.
MODELS = mirrored_models(peaks={"b2": 42}, models=4)
# The same without measured copies: 10 bytes over 1 GB/s take 10 ns.
UNMEASURED = replace(
    MODELS,
    name="unmeasured",
    feature_maps=tuple(replace(tensor, swap_ns=()) for tensor in MODELS.feature_maps),
)
LINK = "2GB/s:total=3GB/s"


@pytest.fixture
def models(terminal: Terminal) -> Terminal:
    save(MODELS, terminal.folder / "models.json")
    save(UNMEASURED, terminal.folder / "unmeasured.json")
    return terminal


def rewritten(terminal: Terminal, changes: dict[str, Any]) -> None:
    """Change keys of the claim in the file."""
    path = terminal.folder / "plan.json"
    document = json.loads(path.read_text())
    document["claim"] |= changes
    path.write_text(json.dumps(document))


@pytest.mark.parametrize("link", ["", "--bandwidth 2GB/s", f"--bandwidth {LINK}"])
@pytest.mark.parametrize("instance", ["models.json", "unmeasured.json"])
def test_a_file_is_verified_in_what_it_was_made_for(
    models: Terminal, instance: str, link: str
) -> None:
    words = f"--memory 62B --models 3 {link} -o plan.json"
    answer = models.json(f"solve multi-model {instance} {words}")
    (found,) = models.json(f"verify plan.json --instance {instance}")["files"]
    assert found["holds"]
    for key in ("time_ns", "peak_bytes"):
        assert found[key] == answer[key]
    assert found["limit_bytes"] == 62
    line = models.output(f"verify plan.json --instance {instance}")
    assert f"{answer['time_ns']} ns" in line
    assert "the limit 62" in line


def test_the_file_says_memory_models_link_time_and_peak(models: Terminal) -> None:
    words = f"--memory 62B --models 3 --bandwidth {LINK} -o plan.json"
    answer = models.json(f"solve multi-model models.json {words}")
    assert json.loads((models.folder / "plan.json").read_text())["claim"] == {
        "memory_bytes": 62,
        "link": {"bytes_per_s": 2 * 10**9, "total_bytes_per_s": 3 * 10**9},
        "transfer_times": "link",
        "models": 3,
        "time_ns": answer["time_ns"],
        "peak_bytes": answer["peak_bytes"],
    }


def test_measured_copies_are_told_from_those_of_the_link(models: Terminal) -> None:
    for instance, source in (("models.json", "profile"), ("unmeasured.json", "link")):
        models.json(f"solve multi-model {instance} --memory 90B -o plan.json")
        claim = json.loads((models.folder / "plan.json").read_text())["claim"]
        assert claim["transfer_times"] == source
        assert claim["link"] == {"bytes_per_s": 10**9, "total_bytes_per_s": 2 * 10**9}


def test_options_may_repeat_what_the_file_says(models: Terminal) -> None:
    words = f"--memory 62B --models 3 --bandwidth {LINK}"
    models.json(f"solve multi-model models.json {words} -o plan.json")
    again = f"--memory 62B --models 3 --bandwidth {LINK}"
    assert "a valid schedule" in models.output(f"verify plan.json --instance models.json {again}")


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--memory 61B", "memory: the schedule was made for 62 bytes, and --memory is 61 bytes"),
        ("--models 2", "models: the schedule was made for 3 models, and --models is 2 models"),
        (
            "--bandwidth 2GB/s",
            "bandwidth: the schedule was made for 2000000000 bytes/s each way and 3000000000 both "
            "ways, and --bandwidth is 2000000000 bytes/s each way and 4000000000 both ways",
        ),
    ],
)
def test_an_option_that_contradicts_the_file_is_refused_with_both_values(
    models: Terminal, option: str, message: str
) -> None:
    words = f"--memory 62B --models 3 --bandwidth {LINK}"
    models.json(f"solve multi-model models.json {words} -o plan.json")
    error = models.error(f"verify plan.json --instance models.json {option}")
    assert message in error
    assert "leave the option out" in error


def test_a_link_contradicts_measured_copies(models: Terminal) -> None:
    models.json("solve multi-model models.json --memory 62B -o plan.json")
    error = models.error("verify plan.json --instance models.json --bandwidth 1GB/s")
    assert "made for the measured transfers of its instance, and --bandwidth is 1000000000" in error


def test_a_file_without_a_claim_needs_the_memory(models: Terminal) -> None:
    path = models.folder / "plan.json"
    models.json("solve multi-model models.json --memory 62B -o plan.json")
    document = json.loads(path.read_text())
    claim = document.pop("claim")
    path.write_text(json.dumps(document))
    error = models.error("verify plan.json --instance models.json")
    assert "claim: the file does not say for which memory the schedule was made; add --memory" in (
        error
    )
    (found,) = models.json("verify plan.json --instance models.json --memory 62B")["files"]
    assert (found["time_ns"], found["limit_bytes"]) == (claim["time_ns"], 62)


@pytest.mark.parametrize("key", ["time_ns", "peak_bytes"])
def test_a_claimed_time_or_peak_that_the_replay_does_not_have_is_refused(
    models: Terminal, key: str
) -> None:
    answer = models.json("solve multi-model models.json --memory 62B -o plan.json")
    rewritten(models, {key: answer[key] - 1})
    error = models.error("verify plan.json --instance models.json")
    assert f"claim.{key}: {answer[key] - 1}, and the replay has {answer[key]}" in error


def test_a_memory_in_which_it_does_not_fit_is_refused(models: Terminal) -> None:
    answer = models.json("solve multi-model models.json --memory 62B -o plan.json")
    rewritten(models, {"memory_bytes": answer["peak_bytes"] - 1})
    assert "out of memory" in models.error("verify plan.json --instance models.json")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"models": 3}, "trained"),
        ({"models": 9}, "models: 9; mirrored has 1 to 4 models"),
        ({"link": {"bytes_per_s": 4, "total_bytes_per_s": 3}}, "claim.link"),
        ({"memory_bytes": "62"}, "claim.memory_bytes"),
        ({"transfer_times": "none"}, "claim.transfer_times"),
    ],
)
def test_a_claim_that_makes_no_sense_is_one_error(
    models: Terminal, changes: dict[str, Any], message: str
) -> None:
    models.json("solve multi-model models.json --memory 62B -o plan.json")
    rewritten(models, changes)
    assert message in models.error("verify plan.json --instance models.json")


def test_a_kind_whose_files_hold_no_claim_refuses_one(models: Terminal) -> None:
    made = jt.solve(jt.MultiModelTraining(MODELS, "90B"))
    chain = jt.solve(jt.RematChain(UNIFORM, "100%"))
    assert chain.claim is None
    assert chain.schedule is not None
    with pytest.raises(TypeError, match="holds no claim"):
        save_schedule(chain.schedule, UNIFORM, models.folder / "chain-plan.json", made.claim)
