"""Registry of entry points: by whom, under which name, and what becomes of broken ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jettison.instances.core.errors import InputError, JettisonError
from jettison.instances.core.registry import RegistrationError, Registry
from jettison.solvers.core.problem_kind import ProblemKind
from jettison.solvers.core.registry import (
    PROBLEM_KINDS,
    check_problem,
    find_kind,
    kind_of,
    registered,
)
from tests.tiny import UNIFORM


def declare(folder: Path, name: str, *lines: str) -> None:
    metadata = folder / f"{name}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("\n".join(["[jettison.problems]", *lines, ""]))


def fresh() -> Registry[ProblemKind[Any]]:
    return Registry("jettison.problems", ProblemKind)


def test_our_problems_come_first_in_the_order_of_their_declaration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declare(tmp_path, "zebra", "b-problem = m:B", "a-problem = m:A")
    monkeypatch.syspath_prepend(str(tmp_path))
    names = fresh().names
    assert names[:2] == ("remat-chain", "remat-offload-chain")
    assert names[-2:] == ("a-problem", "b-problem")


def test_what_cannot_be_loaded_is_an_error_only_for_who_asks_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declare(tmp_path, "broken", "lost = no_such_module:KIND", "odd = json:dumps")
    monkeypatch.syspath_prepend(str(tmp_path))
    registry = fresh()
    kind = registry.find("remat-chain")
    assert kind is not None
    assert kind.name == "remat-chain"
    with pytest.raises(RegistrationError, match=r"'lost' .* no_such_module:KIND of broken: Module"):
        registry.find("lost")
    with pytest.raises(RegistrationError, match="has to be a ProblemKind"):
        registry.find("odd")
    assert issubclass(RegistrationError, JettisonError)


def test_two_distributions_cannot_have_one_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declare(tmp_path, "rival", "sharding = rival:KIND")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(RegistrationError, match=r"'sharding' is registered twice .* of rival"):
        _ = fresh().names


def test_a_kind_can_be_registered_for_a_while() -> None:
    ours = find_kind("remat-chain")
    other = ProblemKind(**{**vars(ours), "name": "other"})
    with registered(other):
        assert find_kind("other") is other
        with pytest.raises(RegistrationError, match=r"'other' is one of jettison\.problems"):
            PROBLEM_KINDS.registered("other", other).__enter__()
    with pytest.raises(InputError, match="'other' is not a problem"):
        find_kind("other")


def test_every_kind_is_that_of_its_own_problems_and_schedules() -> None:
    for name, kind in zip(PROBLEM_KINDS.names, PROBLEM_KINDS, strict=True):
        assert kind.name == name == kind.problem.problem
        assert kind.methods()
        for schedules in kind.schedules:
            assert schedules.schedule.kind == schedules.name


def test_an_instance_is_no_problem() -> None:
    with pytest.raises(InputError, match="problem: a Chain; give an instance with its memory"):
        check_problem(UNIFORM)


def test_a_problem_finds_its_kind() -> None:
    kind = find_kind("remat-chain")
    assert kind_of(kind.problem(UNIFORM, "50%")) is kind
