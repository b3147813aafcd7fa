"""`jettison export-policy`: what it writes, and what it refuses."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jettison import InputError, RematGraph, save, solve
from jettison.cli.exit_status import ExitStatus
from jettison.cli.export.policy_command import export_policy
from jettison.instances.remat_graph.graph import Graph, Node
from jettison.schedules.core.schedule_file import save_schedule
from jettison.schedules.remat_graph.framework_policy import (
    PolicyTarget,
    RegionDecisions,
    load_policy,
    save_policy,
)
from jettison.solvers.core.status import Termination
from jettison.solvers.remat_graph.policies import best_saved_values
from tests.cli.terminal import CommandLine


def step() -> Graph:
    """Return a step of five layers, whose loss is kept."""
    nodes = [Node(name="f0", duration_ns=5, output_bytes=10)]
    nodes += [
        Node(name=f"f{k}", duration_ns=5 + k, output_bytes=10, inputs=(f"f{k - 1}",))
        for k in range(1, 5)
    ]
    nodes.append(Node(name="loss", duration_ns=1, output_bytes=1, inputs=("f4",), keep=True))
    before = "loss"
    for k in reversed(range(5)):
        nodes.append(
            Node(
                name=f"b{k}",
                duration_ns=5,
                output_bytes=10,
                inputs=(before, f"f{k}"),
                backward=True,
                keep=k == 0,
            )
        )
        before = f"b{k}"
    return Graph("five", tuple(nodes))


@pytest.fixture
def line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    save(step(), tmp_path / "step.json")
    return CommandLine(capsys, tmp_path)


def test_a_policy_is_written_with_its_replay_and_its_bounds(line: CommandLine) -> None:
    text = line.output("export-policy step.json --memory 75% --to torch-knapsack -o out.json")
    assert "class                 once again, late" in text
    policy = load_policy(line.folder / "out.json")
    # With the first gradient there are 5 layers, the loss and b4: 61 bytes, of which 75 % are 45.
    assert policy.memory_bytes == 45 >= policy.peak_bytes
    assert (policy.base_time_ns, policy.instance_sha256) == (61, step().sha256)
    assert set(policy.decisions) == {"f0", "f1", "f2", "f3", "f4", "loss"}
    assert policy.time_ns == 61 + sum(
        node.duration_ns for node in step().nodes if policy.decisions.get(node.name)
    )
    assert all(bound.time_ns <= policy.time_ns for bound in policy.bounds)
    assert "saved-or-once" in {bound.valid_for for bound in policy.bounds}


def test_the_help_has_an_example_for_every_target_which_runs_as_printed(line: CommandLine) -> None:
    text = " ".join((export_policy.__doc__ or "").split()).split("Examples: jettison ")[1]
    commands = text.split("; jettison ")
    found = {words.split("--to ")[1].split()[0]: words for words in commands}
    assert set(found) == {str(target) for target in PolicyTarget}
    # torch-sac needs PyTorch.
    for target in sorted(set(found) - {"torch-sac"}):
        *words, name = found[target].split()
        line.output(" ".join(words), str(line.folder / name))
        assert (line.folder / name).read_text(encoding="utf-8")


def test_the_object_that_is_printed_is_that_of_the_file(line: CommandLine) -> None:
    printed = line.json("export-policy step.json --memory 75% --to joint-graph -o out.json")
    assert printed == json.loads((line.folder / "out.json").read_text())
    assert load_policy(line.folder / "out.json").to_json() == printed


def test_equal_commands_write_equal_python_files(line: CommandLine) -> None:
    texts = []
    for name in ("one.py", "two.py"):
        path = line.folder / name
        line.output(
            "export-policy step.json --memory 75% --to torchtitan --name ours -o", str(path)
        )
        texts.append(path.read_text())
    assert texts[0] == texts[1]
    assert "@register_memory_policy(NAME)" in texts[0]
    assert "NAME = 'ours'" in texts[0]
    compile(texts[0], "one.py", "exec")


def test_a_plan_is_exported_as_it_is(line: CommandLine) -> None:
    graph = step()
    schedule = solve(RematGraph(graph, "75%"), "saved-or-once").schedule
    assert schedule is not None
    save_schedule(schedule, graph, line.folder / "plan.json")
    line.output(
        "export-policy step.json --memory 75% --to joint-graph -o out.json --plan plan.json"
    )
    policy = load_policy(line.folder / "out.json")
    assert policy.time_ns == schedule.replay(graph).time_ns


def test_a_memory_that_is_too_small_ends_with_status_three_and_one_that_is_enough(
    line: CommandLine,
) -> None:
    code, out, err = line.run("export-policy step.json --memory 10B --to joint-graph -o out.json")
    assert (code, out) == (3, "")
    enough = int(err.split("; ")[1].split()[0])
    line.output(f"export-policy step.json --memory {enough}B --to joint-graph -o out.json")
    assert not list(line.folder.glob("*.py"))


def test_what_is_resident_is_taken_off_a_card(line: CommandLine) -> None:
    to = "--to joint-graph -o"
    on_card = line.output(f"export-policy step.json --card 145B --resident 100B {to} card.json")
    line.output(f"export-policy step.json --memory 45B {to} memory.json")
    one, other = (load_policy(line.folder / name) for name in ("card.json", "memory.json"))
    assert one.memory_bytes == 45
    assert one.to_json() == other.to_json()
    rows = {text[:22].strip(): text[22:].strip() for text in on_card.splitlines()}
    assert rows["card"] == "145 bytes"
    assert rows["resident"] == "100 bytes"
    assert rows["peak of the card"] == f"{one.peak_bytes + 100} bytes"
    # A graph that records nothing says so, where nobody says what is resident.
    _, _, note = line.run(f"export-policy step.json --card 145B {to} other.json")
    assert "records no resident bytes" in note
    code, _, error = line.run(f"export-policy step.json --card 110B --resident 100B {to} no.json")
    assert code == 3
    enough = int(error.split("a card of ")[1].split()[0])
    line.output(f"export-policy step.json --card {enough}B --resident 100B {to} enough.json")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("step.json --memory 75% --to joint-graph -o out.txt", "ends in .json or .py"),
        (
            "step.json --memory 75% --to torch-sac -o out.json",
            "not a model, and a graph does not say",
        ),
        ("step.json --to joint-graph -o out.json", "no amount is given"),
        ("step.json --memory 75% --card 1kB --to joint-graph -o out.json", "are both given"),
        ("step.json --memory 75% --resident 1B --to joint-graph -o out.json", "taken off a card"),
        ("step.json --memory lots --to joint-graph -o out.json", "memory"),
        ("step.json --memory 75% --to joint-graph -o out.json --region a", "has no regions"),
        (
            "resnet50-b1-500-cpu --memory 75% --to joint-graph -o out.json",
            "give a graph of a training",
        ),
        ("nothing.json --memory 75% --to joint-graph -o out.json", "nothing.json"),
        ("a:b --memory 75% --to joint-graph -o out.json --plan step.json", "a plan is of a graph"),
        ("a:b --memory 75% --to joint-graph -o out.json --rates a100", "durations are measured"),
        ("step.json --memory 75% --to joint-graph -o out.json --plan step.json", "kind"),
    ],
)
def test_bad_input_is_one_line(line: CommandLine, words: str, message: str) -> None:
    assert message in line.error(f"export-policy {words}")


def test_a_graph_without_a_loss_is_refused(line: CommandLine) -> None:
    nodes = tuple(replace(node, keep=False) for node in step().nodes)
    save(Graph("lost", nodes), line.folder / "lost.json")
    error = line.error("export-policy lost.json --memory 75% --to joint-graph -o out.json")
    assert "mark the loss with keep" in error


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("version", 2, "version 2 is newer"),
        ("target", "flax", "out.json"),
        ("memory_bytes", -1, "memory_bytes"),
        ("class", "saved calls of regions", "out.json"),
        ("decisions", {"f0": "maybe"}, "decisions.f0"),
        ("instance_sha256", "abc", "instance_sha256"),
    ],
)
def test_a_wrong_field_of_a_policy_file_is_named(
    line: CommandLine, field: str, value: object, message: str
) -> None:
    line.output("export-policy step.json --memory 75% --to joint-graph -o out.json")
    path = line.folder / "out.json"
    document = json.loads(path.read_text())
    document[field] = value
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match=message):
        load_policy(path)


def test_a_call_that_a_region_does_not_have_is_refused(line: CommandLine) -> None:
    with pytest.raises(InputError, match="call 1 of 1"):
        RegionDecisions("layer", ("aten.mm.default",), (1,), draws=False)
    line.output("export-policy step.json --memory 75% --to joint-graph -o out.json")
    policy = load_policy(line.folder / "out.json")
    with pytest.raises(InputError, match="check the folder"):
        save_policy(policy, line.folder / "none" / "out.json")


def test_a_policy_of_a_search_that_met_its_time_limit_is_written_with_exit_status_four(
    line: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    # An exact method that ends at its limit, whatever the speed of the machine.
    def stopped(*arguments: Any, **options: Any) -> Any:
        found = solve(*arguments, **options)
        slow = tuple(bound for bound in found.bounds if bound.method != found.method)
        return replace(found, bounds=slow, termination=Termination.TIME_LIMIT)

    monkeypatch.setattr(best_saved_values, "solve", stopped)
    status, output, _ = line.run(
        "export-policy step.json --memory 75% --to joint-graph -o out.json"
    )
    assert status == ExitStatus.LIMIT_WITH_SCHEDULE
    assert "overhead" in output
    assert load_policy(line.folder / "out.json").is_settled
