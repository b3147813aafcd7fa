"""Models that share a device, from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from jettison import Link, MultiModel, MultiModelTraining, load, save
from jettison.cli.posed_problem import make_problem
from jettison.instances.generators.random_models import RandomModels
from jettison.solvers.core.resources import Resources
from tests.cli.terminal import Terminal

MODELS = RandomModels(operators=6, tensors=2, models=3).draw(1)


@pytest.fixture
def models_file(tmp_path: Path) -> str:
    path = tmp_path / "models.json"
    save(MODELS, path)
    return str(path)


def test_random_models_are_those_of_the_generator(terminal: Terminal) -> None:
    words = ["--operators", "12", "--models", "3", "--tensors", "5", "--seed", "7"]
    words += ["--timed-percent", "50", "--shared-percent", "10", "--bandwidth", "2GB/s"]
    code, out, err = terminal.run("generate multi-model", *words, "-o", "drawn.json")
    assert (code, out) == (0, "")
    assert "multi-model random-models-n12-t5-x3-s7, 12 operators" in err
    drawn = RandomModels(
        operators=12,
        tensors=5,
        models=3,
        timed_percent=50,
        shared_percent=10,
        bandwidth=Link(2 * 10**9),
    ).draw(7)
    assert load(terminal.folder / "drawn.json") == drawn


def test_half_of_the_operators_have_a_feature_map_by_default(terminal: Terminal) -> None:
    terminal.run("generate multi-model --operators 9 -o drawn.json")
    found = load(terminal.folder / "drawn.json")
    assert isinstance(found, MultiModel)
    assert (len(found.feature_maps), found.models) == (4, 4)


def test_a_network_is_written_with_any_batch_and_number_of_models(terminal: Terminal) -> None:
    words = "--network mobilenet --batch 2 --models 3"
    code, _, err = terminal.run(f"generate fused-network {words} -o net.json")
    assert code == 0
    assert "multi-model mobilenet-b2-x3, 410 operators" in err
    found = load(terminal.folder / "net.json")
    assert isinstance(found, MultiModel)
    assert (found.sizes, found.provenance.batch) == ((1, 2, 3), 2)


def test_an_instance_is_shown_with_a_line_for_each_number_of_fused_models(
    terminal: Terminal, models_file: str
) -> None:
    out = terminal.output(f"show {models_file}")
    for size in (1, 2, 3):
        peak = MODELS.sub_array(size).store_all_peak_bytes
        (line,) = [line for line in out.splitlines() if line.startswith(f"{size} fused ")]
        assert f"no-saving peak {peak / 1024:.2f} KiB ({peak} bytes)" in line
    assert "1 GB/s (1000000000 bytes per second)" in out


def test_the_facts_of_an_instance_are_json(terminal: Terminal, models_file: str) -> None:
    found = terminal.json(f"show {models_file}")
    assert (found["kind"], found["models"], found["feature_maps"]) == ("multi-model", 3, 2)
    assert found["bandwidth_bytes_per_s"] == 10**9
    array = MODELS.sub_array(2)
    assert found["profiles"][1] == {
        "models": 2,
        "compute_ns": array.compute_ns,
        "store_all_peak_bytes": array.store_all_peak_bytes,
        "feature_map_bytes": array.idle_bytes,
        "static_bytes": array.static_bytes,
        "largest_peak_bytes": array.largest_peak_bytes,
    }


def test_the_problem_and_the_bundled_instances_are_listed(terminal: Terminal) -> None:
    kinds = {entry["name"]: entry["kind"] for entry in terminal.json("list instances")["instances"]}
    assert kinds["bert-x8"] == "multi-model"
    assert "multi-model" in {entry["name"] for entry in terminal.json("list problems")["problems"]}


def test_what_is_typed_becomes_the_problem(models_file: str) -> None:
    problem = make_problem(
        "multi-model", models_file, Resources("9kB", bandwidth="2GB/s", models=2)
    )
    assert problem == MultiModelTraining(MODELS, "9kB", "2GB/s", models=2)
    plain = make_problem("multi-model", models_file, Resources("60%"))
    assert plain == MultiModelTraining(MODELS, "60%")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("solve multi-model models.json", "memory: no amount is given; write --memory"),
        (
            "solve multi-model models.json --alpha 0.5",
            "memory: alpha=0.5 is defined for chains only; write an amount (40GiB) or a share",
        ),
        (
            "solve multi-model models.json --memory 1kB --models 4",
            "models: 4; random-models-n6-t2-x3-s1 has 1 to 3 models",
        ),
        (
            "compare multi-model models.json --memory 1kB --bandwidth 12",
            "bandwidth: '12' is not a rate; write a rate with its unit, such as 12GB/s",
        ),
        (
            "bound multi-model models.json --memory 1kB --transfers fluid",
            "transfers: multi-model leaves nothing open about transfers; leave it out, or use",
        ),
        (
            "solve multi-model models.json --memory 1kB --grid grid.png",
            "grid: multi-model has no grid of recomputations; leave it out, or use --plot",
        ),
        (
            "solve multi-model chain.json --memory 1kB",
            "instance: small is a chain; give a multi-model to multi-model; a chain is for",
        ),
        (
            "solve remat-graph models.json --memory 1kB",
            "instance: random-models-n6-t2-x3-s1 is a multi-model; give a graph or a chain to",
        ),
        (
            "compare remat-chain chain.json --memory 1kB --models 2",
            "models: remat-chain trains one model; leave it out, or use multi-model",
        ),
        ("generate multi-model --operators 1 -o new.json", "operators: 1; write 2 to 10000"),
        ("generate multi-model --operators 4 --seed -1 -o new.json", "seed: -1; write 0 to"),
        (
            "generate multi-model --operators 4 --bandwidth 9 -o new.json",
            "bandwidth: '9' is not a rate; write a rate with its unit",
        ),
        (
            "generate fused-network --network alexnet -o new.json",
            "network: 'alexnet'; name one of bert, gpt2, vit, resnet101, mobilenet, dlrm",
        ),
        (
            "generate fused-network --network vit --models 65 -o new.json",
            "models: 65; write 1 to 64",
        ),
        (
            "generate fused-network --network vit -o none/new.json",
            "the folder does not exist; create it, or choose another",
        ),
    ],
)
def test_bad_input_ends_with_one_error_and_status_2(
    terminal: Terminal, models_file: str, words: str, message: str
) -> None:
    del models_file
    assert message in terminal.error(words)
    assert not (terminal.folder / "new.json").exists()


def test_models_of_two_architectures_are_joined_solved_certified_and_verified(
    terminal: Terminal, models_file: str
) -> None:
    del models_file
    terminal.run("generate multi-model --operators 6 --models 2 --seed 9 -o other.json")
    code, out, err = terminal.run(
        "generate joined-models models.json other.json --models 2,2 -o joined.json"
    )
    assert (code, out) == (0, "")
    assert "12 operators" in err
    found = terminal.json("show joined.json")
    assert (found["models"], found["architectures"]) == (4, 2)
    assert [profile["of"] for profile in found["profiles"]] == [2] * 5
    assert "1 fused of random-models-n6-t3-x2-s9" in terminal.output("show joined.json")
    answer = terminal.json("solve multi-model joined.json --memory 100kB -o plan.json")
    (file,) = terminal.json("verify plan.json --instance joined.json")["files"]
    assert file["time_ns"] == answer["time_ns"]
    words = "bound multi-model joined.json --memory 100kB --method bound --certificate c.gz"
    assert terminal.json(words)["certified_lower_bound_ns"] == answer["time_ns"]
    line = terminal.output("verify c.gz --instance joined.json --models 4 --memory 100kB")
    assert "proved: no schedule takes less than" in line
    err = terminal.error("verify c.gz --instance joined.json --models 3")
    assert "the certificate is about 4 models, and --models is 3 models" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("models.json", "instances: 1 instances; give at least two"),
        ("models.json chain.json", "instances: small is a chain; give multi-model ones"),
        ("models.json models.json --models 1,x", "models: '1,x'; write numbers, such as 4,4"),
        ("models.json models.json --models 1", "models: 1 numbers for 2 architectures"),
        ("models.json models.json --models 1,99", "models: 99; write a number of models"),
    ],
)
def test_what_cannot_be_joined_is_one_error(
    terminal: Terminal, models_file: str, words: str, message: str
) -> None:
    del models_file
    assert message in terminal.error(f"generate joined-models {words} -o new.json")
