"""The JSON Schemas of the documentation are those of what commands print."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from typer.testing import CliRunner

from docs.site_pages import json_pages
from jettison.cli.main import app

CHAIN = "opt-350m-b4-a100-40"
GRAPH = "alexnet-graph-b256-gpu"
# For each schema, command lines that together print all of its keys but those of rare answers.
LINES: dict[str, tuple[str, ...]] = {
    "solve": (
        f"solve remat-chain {CHAIN} --memory 30% --method rotor --output plan.json",
        "solve remat-chain gpt2-small-b8-1024-h200 --memory 1GiB",
        f"solve remat-chain {CHAIN} --card a100-40 --resident 30GiB --method rotor",
        "solve multi-model bert-tiny-x4-b2-32-cpu --memory 60% --method hfta",
        "solve weight-offload gpt2-38-b16-table1 --memory 60% --bandwidth 12GB/s --method greedy",
        "solve pipeline-chain opt-350m-b4-v100-16 --memory 8GiB --bandwidth 12GB/s --devices 4 "
        "--microbatches 8 --method equal-time",
    ),
    "bound": (
        f"bound remat-chain {CHAIN} --memory 30% --schedule plan.json --certificate bound.gz",
        "bound remat-chain gpt2-small-b8-1024-h200 --memory 1GiB",
    ),
    "compare": (f"compare remat-chain {CHAIN} --memory 30%,50% --methods rotor,chen-sqrt",),
    "throughput": (
        "throughput remat-chain opt-350m-b1-a100-40 opt-350m-b4-a100-40 --memory 4GiB "
        "--method rotor",
    ),
    "largest-batch": ("largest-batch vgg-19 --memory 64MiB --most 4 --time-limit 1",),
    "verify": ("verify plan.json bound.gz missing.json hard",),
    "show": (f"show {CHAIN}", f"show {GRAPH}", "show mlp-26", "show bert-tiny-x4-b2-32-cpu"),
    "export": (f"export remat-graph {GRAPH} --memory 75% --output model.lp",),
    "export-policy": (
        "export-policy gpt2-tiny-graph-b4-64-cpu --memory 99% --to joint-graph --output joint.py",
    ),
    "sweep": ("sweep study.toml --output results --dry-run", "sweep study.toml --output results"),
    "report": ("report results --output report.html --table table.csv",),
    "list-instances": ("list instances",),
    "list-links": ("list links",),
    "list-cards": ("list cards",),
    "list-problems": ("list problems",),
    "list-formulations": ("list formulations",),
    "list-methods": ("list methods", "list methods sharding --verbose"),
}
# A model is measured for it, which needs PyTorch.
MEASURED = {"profile"}
STUDY = f"""
name = "two"
[[grid]]
problem = "remat-chain"
instances = ["{CHAIN}"]
memory = ["30%"]
methods = ["rotor", "chen-sqrt"]
time_limit_s = 60
"""


def _schema(name: str) -> dict[str, Any]:
    text = (json_pages.SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the commands read."""
    made = tmp_path_factory.mktemp("json")
    (made / "study.toml").write_text(STUDY, encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def printed(folder: Path) -> dict[str, list[Any]]:
    """Outputs of all lines, run in their order in one folder."""
    found: dict[str, list[Any]] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        hard = "generate three-partition --groups 8 --target 1000 --answer no --output hard"
        assert CliRunner().invoke(app, hard.split()).exit_code == 0
        for name, lines in LINES.items():
            for line in lines:
                result = CliRunner().invoke(app, [*line.split(), "--json"])
                found.setdefault(name, []).append((line, _parsed(line, result)))
    return found


def _parsed(line: str, result: Any) -> Any:
    try:
        return json.loads(result.stdout)
    except json.JSONDecodeError:
        pytest.fail(f"{line}: {result.output}{result.exception!r}")


@pytest.mark.parametrize("name", sorted(LINES))
def test_what_a_command_prints_is_what_its_schema_says(
    name: str, printed: dict[str, list[Any]]
) -> None:
    validator = jsonschema.Draft202012Validator(_schema(name))
    for line, document in printed[name]:
        errors = [error.message for error in validator.iter_errors(document)]
        assert errors == [], line


def test_every_command_that_prints_json_has_a_schema_and_every_schema_a_command() -> None:
    assert {*LINES, *MEASURED} == set(json_pages.schema_names())
    assert _commands_with_json() == {*LINES, *MEASURED}


def _commands_with_json() -> set[str]:
    import typer

    found: set[str] = set()
    group: Any = typer.main.get_command(app)
    for name, command in group.commands.items():
        inner = getattr(command, "commands", {"": command})
        for part, item in inner.items():
            if any("--json" in parameter.opts for parameter in item.params):
                found.add(f"{name}-{part}".strip("-"))
    return found


def test_every_key_of_a_schema_has_a_type_and_a_meaning_on_the_page(tmp_path: Path) -> None:
    json_pages.write(tmp_path)
    page = (tmp_path / "json.rst").read_text(encoding="utf-8")
    for name in json_pages.schema_names():
        jsonschema.Draft202012Validator.check_schema(_schema(name))
        assert f"../json/{name}.schema.json" in page
    assert "``results[].lower_bound_ns``" in page
    assert page.count("Best lower bound that holds for the schedule.") > 3
