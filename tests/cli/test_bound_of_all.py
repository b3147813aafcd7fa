"""The bound for a class of schedules does not hide what is proved of all of them."""

from __future__ import annotations

import jettison as jt
from jettison import Bound, Result, ScheduleClass
from jettison.instances.core.units import format_ns
from jettison.solvers.core.answers.rows import duration
from jettison.solvers.core.bound import Evidence
from jettison.solvers.core.outcome import Outcome
from jettison.solvers.core.status import Termination
from tests.cli.terminal import CommandLine
from tests.tiny import UNIFORM

COMMAND = "compare remat-chain resnet18-b4-224-cpu --memory 60% --methods"


def test_each_row_of_a_comparison_has_the_bound_for_all_schedules_beside_its_own(
    typed: CommandLine,
) -> None:
    rotor, cut = typed.json(f"{COMMAND} rotor-exact,cut-bound")["results"]
    # The cut bound is the one method of the two that speaks of all schedules.
    assert rotor["valid_for"] == "persistent"
    assert rotor["all_schedules_lower_bound_ns"] == cut["lower_bound_ns"] < rotor["lower_bound_ns"]
    assert rotor["all_schedules_bound_method"] == "cut-bound"
    own, of_all = (format_ns(row["lower_bound_ns"], 5) for row in (rotor, cut))
    heading = f"at least {own} (persistent), {of_all} (all schedules)"
    assert heading in typed.output(f"{COMMAND} rotor-exact,cut-bound").splitlines()
    lines = typed.output(f"{COMMAND} rotor-exact,cut-bound --wide").splitlines()
    header = next(line for line in lines if "valid for" in line)
    assert header.split("valid for")[1].split() == ["all", "schedules", "gap", "status", "seconds"]


def test_a_table_of_bounds_for_all_schedules_says_it_once(
    typed: CommandLine,
) -> None:
    printed = typed.output(f"{COMMAND} cut-bound")
    assert printed.count("all schedules") == 1
    lines = typed.output(f"{COMMAND} cut-bound --wide").splitlines()
    header = next(line for line in lines if "valid for" in line)
    assert header.split("valid for")[1].split() == ["gap", "status", "seconds"]


def test_the_smaller_bound_for_all_is_kept_beside_a_larger_one_for_a_class() -> None:
    problem = jt.RematChain(UNIFORM, memory="100%")
    bounds = tuple(
        Bound(time_ns=time_ns, valid_for=valid_for, evidence=Evidence.EXACT, method=method)
        for time_ns, valid_for, method in (
            (UNIFORM.base_time_ns + 7, ScheduleClass.PERSISTENT, "narrow"),
            (UNIFORM.base_time_ns + 6, ScheduleClass.ALL, "wide"),
        )
    )
    outcome = Outcome(termination=Termination.TIME_LIMIT, bounds=bounds)
    result = Result.from_outcome(problem, "narrow", outcome, 0.0)
    assert (result.bound, result.bound_of_all) == bounds


def test_a_schedule_faster_than_the_step_has_one_sign() -> None:
    # A schedule that breaks rules may leave operations out.
    problem = jt.RematChain(UNIFORM, memory="100%")
    half_ns = UNIFORM.base_time_ns // 2
    assert "(-50.00 % over no recomputation" in duration(problem, half_ns)
    assert "(+50.00 % over no recomputation" in duration(problem, UNIFORM.base_time_ns + half_ns)
