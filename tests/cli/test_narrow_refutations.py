"""A proof about a narrow class of schedules is never told as one about the problem."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import jettison as jt
from jettison import RematGraph, ScheduleClass
from jettison.cli.exit_status import ExitStatus
from jettison.instances.catalog import save
from jettison.solvers.core.certified import empty_classes, refutation
from jettison.solvers.core.outcome import Infeasibility, Outcome
from jettison.solvers.core.result import Result
from jettison.solvers.core.status import Termination
from jettison.solvers.core.verdict import Verdict
from jettison.studies.batch_series import BatchThroughput
from tests.cli.terminal import CommandLine
from tests.drawing.thrice import STEP

PROBLEM = RematGraph(STEP, 12)
METHODS = "saved-or-once,exact"


@pytest.fixture
def line(typed: CommandLine) -> str:
    save(STEP, typed.folder / "thrice.json")
    return "remat-graph thrice.json --memory 12B"


def _result(
    valid_for: ScheduleClass | None, termination: Termination = Termination.COMPLETED
) -> Result:
    proof = None
    if valid_for is not None:
        proof = Infeasibility(valid_for=valid_for, least_memory_bytes=13, is_exact=False)
    outcome = Outcome(termination=termination, infeasibility=proof)
    return Result.from_outcome(PROBLEM, "greedy", outcome, 0.0)


def test_a_bound_by_all_methods_does_not_call_a_problem_infeasible_that_has_a_schedule() -> None:
    found = jt.solve(PROBLEM, method="exact")
    results = (jt.solve(PROBLEM, method="saved-or-once"), found)
    verdict = Verdict(problem=PROBLEM, replay=None, results=results)
    assert verdict.infeasible is None
    assert verdict.status == "bounded"
    assert [proof.valid_for for proof in verdict.empty_classes] == [ScheduleClass.SAVED_OR_ONCE]
    keys = verdict.to_json()
    assert keys["least_memory_bytes"] is keys["infeasible_for"] is None
    assert keys["empty_classes"] == ["saved-or-once"]
    # Nor do its rows on a schedule that fits.
    judged = replace(verdict, replay=found.replay)
    assert (judged.infeasible, judged.status) == (None, "valid")
    assert judged.to_json()["least_memory_bytes"] is None


def test_bound_prints_the_bound_and_the_class_without_a_schedule(
    typed: CommandLine, line: str
) -> None:
    status, output, _ = typed.run(f"bound {line} --gap 0.9")
    assert status == ExitStatus.DONE
    assert "lower bound" in output
    assert "least memory" not in output
    assert "of the class saved-or-once; others may" in output


def test_a_method_of_a_narrow_class_names_it_with_the_exit_status(
    typed: CommandLine, line: str
) -> None:
    for command in ("solve", "bound"):
        status, output, _ = typed.run(f"{command} {line} --method saved-or-once")
        assert status == ExitStatus.INFEASIBLE
        assert "infeasible-saved-or-once" in output
        assert "saved-or-once, by" in output
        status, output, _ = typed.run(f"{command} {line} --method saved-or-once --json")
        assert status == ExitStatus.INFEASIBLE
        assert json.loads(output)["infeasible_for"] == "saved-or-once"


def test_a_comparison_counts_as_infeasible_only_what_no_method_leaves_open(
    typed: CommandLine, line: str
) -> None:
    status, output, _ = typed.run(f"compare {line} --methods {METHODS}")
    assert status == ExitStatus.DONE
    assert "infeasible saved-or-once" in output
    status, output, _ = typed.run(f"compare {line} --methods saved-or-once")
    assert status == ExitStatus.INFEASIBLE
    assert "nothing fits of the class saved-or-once; others may" in output


def test_a_comparison_tells_apart_why_methods_have_no_schedule(
    typed: CommandLine, line: str
) -> None:
    # The step has no attention, storing everything does not fit, and nothing of the class does.
    methods = "selective-attention,store-all,saved-or-once"
    status, output, _ = typed.run(f"compare {line} --methods {methods}")
    assert status == ExitStatus.INFEASIBLE
    for word in ("not-found", "infeasible saved-or-once"):
        assert word in output
    assert "not applicable: selective-attention: goes by the operators" in output
    status, output, _ = typed.run(f"compare {line} --methods {methods} --json")
    found = {row["method"]: row for row in json.loads(output)["results"]}
    assert found["selective-attention"]["termination"] == "not_applicable"
    assert found["store-all"]["termination"] == "completed"
    assert found["saved-or-once"]["infeasible_for"] == "saved-or-once"


def test_a_method_that_does_not_apply_has_the_exit_status_of_no_schedule(
    typed: CommandLine, line: str
) -> None:
    status, output, _ = typed.run(f"solve {line} --method selective-attention")
    assert status == ExitStatus.NO_SCHEDULE
    assert "not-applicable (not_applicable)" in output
    assert "operator_name" in output


def test_a_narrow_proof_leaves_a_wider_search_open_that_met_a_limit() -> None:
    once, staged = _result(ScheduleClass.SAVED_OR_ONCE), _result(ScheduleClass.STAGED)
    everything = _result(ScheduleClass.ALL)
    stopped = _result(None, Termination.TIME_LIMIT)
    baseline = _result(None)
    assert refutation([once, staged, baseline]) is staged
    assert refutation([once, stopped]) is None
    assert refutation([once, stopped, everything]) is everything
    assert [proof.valid_for for proof in empty_classes([once, staged])] == [ScheduleClass.STAGED]
    assert refutation([baseline]) is None


def test_the_throughput_of_all_schedules_is_not_zero_for_an_empty_class() -> None:
    narrow = BatchThroughput(4, _result(ScheduleClass.SAVED_OR_ONCE)).at_most_per_s
    assert narrow is not None
    assert narrow > 0
    assert BatchThroughput(4, _result(ScheduleClass.ALL)).at_most_per_s == 0


def test_a_certificate_is_not_one_of_an_empty_class_where_a_schedule_exists(
    typed: CommandLine, line: str, tmp_path: Path
) -> None:
    found = typed.json(f"bound {line} --gap 0.9 --certificate {tmp_path / 'c.gz'}")
    assert found["certified_lower_bound_ns"] is not None
    assert found["certified_valid_for"] != "saved-or-once"
