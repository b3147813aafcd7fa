"""The files that tell others about the project say what is true, in the forms that tools read."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from jettison import load
from jettison.instances.bundled_entries import Origin
from jettison.instances.catalog import bundled_instances

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# Of the Citation File Format 1.2.0, those that may stand here.
REFERENCE_TYPES = {"article", "conference-paper", "report", "software", "thesis", "unpublished"}


def read_yaml(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def test_the_citation_has_the_fields_that_its_format_asks_for() -> None:
    citation = read_yaml("CITATION.cff")
    assert citation["cff-version"] == "1.2.0"
    assert citation["type"] == "software"
    for item in (citation, *citation["references"]):
        assert item["title"]
        assert item["authors"]
        assert all("name" in author or "family-names" in author for author in item["authors"])
    assert {item["type"] for item in citation["references"]} <= REFERENCE_TYPES


def test_the_citation_is_of_this_version_and_licence() -> None:
    citation = read_yaml("CITATION.cff")
    assert citation["version"] == PROJECT["version"]
    assert citation["license"] == PROJECT["license"]


@pytest.mark.parametrize("path", sorted((ROOT / ".github/workflows").glob("*.yml")), ids=str)
def test_a_workflow_may_only_read_and_publishes_nothing(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"pypi|twine|secrets\.|id-token", text)


def test_public_ci_runs_what_contributors_run() -> None:
    steps = read_yaml(".github/workflows/test.yml")["jobs"]["test"]["steps"]
    assert ".ci/run" in {step.get("run") for step in steps}


def test_every_target_that_the_workflows_and_hooks_name_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for path in (*(ROOT / ".github/workflows").glob("*.yml"), ROOT / ".ci/run"):
        for target in re.findall(r"\bmake ([\w-]+)", path.read_text(encoding="utf-8")):
            assert f"\n{target}:" in makefile, path


def test_the_notice_has_the_licence_of_every_measurement_that_is_bundled() -> None:
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    assert PROJECT["license-files"] == ["LICENSE", "NOTICE"]
    parts = notice.split("-" * 79 + "\n")[1:]
    origins = {
        (entry.file.partition("/")[0], load(entry.name).provenance.repository)
        for entry in bundled_instances()
        if entry.origin is Origin.IMPORTED
    }
    assert len(parts) == len(origins)
    for folder, repository in origins:
        (part,) = [
            text
            for text in parts
            if text.startswith(f"instances/data/{folder}\nfrom github.com/{repository}\n")
        ]
        # Every licence so far is this one; another is a case to write down here.
        assert re.search(r"^MIT License$", part, re.MULTILINE)
        assert re.search(r"^Copyright \(c\) .*(Microsoft|ETH Zurich|Facebook)", part, re.MULTILINE)
        assert part.rstrip().endswith("SOFTWARE.")


def test_hooks_fetch_nothing() -> None:
    repositories = read_yaml(".pre-commit-config.yaml")["repos"]
    assert {repository["repo"] for repository in repositories} == {"local"}
    hooks = [hook for repository in repositories for hook in repository["hooks"]]
    assert {hook["language"] for hook in hooks} == {"system"}
    assert {"ruff-check", "ruff-format", "mypy", "notebook-pairs"} <= {hook["id"] for hook in hooks}
