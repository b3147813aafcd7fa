"""The model over all first starts: its rows, and that it holds for every schedule."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import jettison.formulations.remat_offload.events as module
from jettison import Link
from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.remat_offload.cut import Divisible, Whole
from jettison.formulations.remat_offload.events import OffloadEvents
from jettison.instances.remat_offload.problem import RematOffloadChain
from jettison.solvers.milp.highs import solve_model
from jettison.solvers.milp.highs_options import HighsOptions
from tests.drawing.chains import chain_of
from tests.remat_offload.oracles.judged_offload import JudgedOffload, judged_offloads
from tests.remat_offload.oracles.unrestricted import OffloadSearch

TOLERANCE_NS = 1e-4
# Bytes per second: one, a half and a quarter of a byte per ns.
ONE, HALF, QUARTER = 10**9, 5 * 10**8, 25 * 10**7
# B 2 has no room for the 3 bytes of the input in 10 bytes.
TIGHT = RematOffloadChain(chain_of(3, (4, 1, 2, 0, 0), (3, 0, 5, 0, 0)), 10, 10**9)
LONG = RematOffloadChain(
    chain_of(3, (4, 1, 2, 0, 0), (3, 1, 2, 0, 0), (3, 1, 2, 0, 0), (3, 0, 5, 0, 0)), 14, 10**9
)

# Rows of Whole tensors only.
WHOLE_ONLY = {"occupied", "complete", "arrived"}


def delayed() -> list[JudgedOffload]:
    """Return every sixth problem that the memory delays."""
    return [item for item in judged_offloads() if item.is_delayed][::6]


def bound_ns(
    problem: RematOffloadChain, events: OffloadEvents, model: ArrayModel | None = None
) -> float:
    """Return the optimum as a time, of the model as it is built or of another one."""
    built = events.build(problem)
    solution = solve_model(model or built.model, HighsOptions(gap=0))
    assert solution.dual_bound is not None
    return problem.instance.base_time_ns + solution.dual_bound * built.time_unit_ns


def labels(model: ArrayModel) -> list[str]:
    return list(dict.fromkeys(name.split("_")[0] for name in model.row_names))


def without(model: ArrayModel, label: str) -> ArrayModel:
    """Return the model without the rows of a label."""
    dropped = np.array([name.split("_")[0] == label for name in model.row_names])
    assert dropped.any()
    return replace(
        model,
        row_lower=np.where(dropped, -np.inf, model.row_lower),
        row_upper=np.where(dropped, np.inf, model.row_upper),
    )


def test_rows_have_the_labels_of_the_docstring_in_its_order() -> None:
    objective, *documented = re.findall(r"\\text\{\(([a-z]+)\)\}", module.__doc__ or "")
    assert objective == "objective"
    shared = replace(LONG, bandwidth=Link.half_duplex(10**9))
    assert labels(OffloadEvents(Whole()).build(shared).model) == documented
    in_part = [label for label in documented if label not in {*WHOLE_ONLY, "both"}]
    assert labels(OffloadEvents().build(LONG).model) == in_part


def test_columns_have_the_names_of_the_docstring() -> None:
    documented = set(re.findall(r"``([a-z]{2,})(?:_[ixk])+``", module.__doc__ or ""))
    model = OffloadEvents(Whole()).build(LONG).model
    assert {name.split("_")[0] for name in model.column_names} == documented


@pytest.mark.parametrize("tensors", [Divisible(), Whole()], ids=repr)
def test_it_holds_for_every_schedule_and_binaries_only_raise_it(
    tensors: Divisible | Whole,
) -> None:
    for item in delayed():
        model = OffloadEvents(tensors).build(item.problem).model
        relaxed_ns = bound_ns(item.problem, OffloadEvents(tensors), model.relaxed())
        binary_ns = bound_ns(item.problem, OffloadEvents(tensors))
        assert relaxed_ns <= binary_ns + TOLERANCE_NS
        assert binary_ns <= item.fastest_ns + TOLERANCE_NS, item


def test_most_of_the_delay_is_proved_with_tensors_as_a_whole() -> None:
    # 0.92 on this sample.
    shares = [(bound_ns(item.problem, OffloadEvents(Whole())), item) for item in delayed()]
    proved = [
        (found - item.chain.base_time_ns) / (item.fastest_ns - item.chain.base_time_ns)
        for found, item in shares
    ]
    assert sum(proved) > 0.8 * len(proved)


def test_the_end_of_an_operation_is_a_moment_of_its_own() -> None:
    # Both ends of B 2 leave 1 byte less room than the input and ā^1 take. With starts alone, that
    # byte comes back during B 2, which takes 1 ns, and nothing is lost.
    events = OffloadEvents()
    model = events.build(TIGHT).model
    assert bound_ns(TIGHT, events) == pytest.approx(TIGHT.instance.base_time_ns + 1)
    # B 2 is interval 5 of 0..7, so that its end is state 6.
    upper = np.array(model.row_upper)
    upper[model.row_names.index("memory_6")] = np.inf
    starts_alone = replace(model, row_upper=upper)
    assert bound_ns(TIGHT, events, starts_alone) == pytest.approx(TIGHT.instance.base_time_ns)


# A problem, and how much of its delay in ns is proved with and without the rows of a label.
WORTH = {
    "distinct": (
        RematOffloadChain(chain_of(0, (6, 0, 1, 0, 0), (6, 0, 2, 2, 0), (2, 0, 2, 0, 0)), 4, HALF),
        (3, 1),
    ),
    "origin": (
        RematOffloadChain(
            chain_of(3, (6, 1, 2, 0, 0), (1, 3, 4, 2, 0), (1, 0, 4, 0, 0)), 11, QUARTER
        ),
        (14, 13),
    ),
    "input": (RematOffloadChain(chain_of(2, (3, 0, 0, 0, 0), (0, 0, 4, 0, 0)), 5, QUARTER), (5, 4)),
    "stay": (
        RematOffloadChain(
            chain_of(1, (1, 0, 1, 2, 3), (1, 1, 2, 2, 0), (3, 2, 2, 0, 0), (2, 0, 2, 0, 0)),
            6,
            QUARTER,
        ),
        (7, 4),
    ),
    "within": (
        RematOffloadChain(chain_of(0, (2, 2, 3, 2, 0), (2, 0, 2, 0, 0)), 6, QUARTER),
        (22, 2),
    ),
}


@pytest.mark.parametrize("label", WORTH)
def test_without_the_rows_of_a_label_less_is_proved(label: str) -> None:
    # Without (distinct), one byte of ā^k on the host comes back twice, for two that B^k reads;
    # without (origin), for two that a rerun reads.
    problem, (with_rows, without_rows) = WORTH[label]
    events = OffloadEvents()
    base_ns = problem.instance.base_time_ns
    less = without(events.build(problem).model, label)
    assert bound_ns(problem, events) == pytest.approx(base_ns + with_rows)
    assert bound_ns(problem, events, less) == pytest.approx(base_ns + without_rows)


def test_a_tensor_on_its_way_is_in_part_on_the_device() -> None:
    # Beside B 3 (ā^3, its gradient and ā^2: 3 bytes) and ā^1 (2), the input (2) has no room in 6
    # bytes. It starts back after B 3, for 2 ns, of which B 2 takes 1, beside which it has room:
    # 1 ns is lost. A part of it, and no binary one, is on the device when B 2 starts. If G were
    # binary, all of it would be there or nothing, and 2 ns would be lost: no bound.
    problem = RematOffloadChain(
        chain_of(2, (6, 0, 2, 0, 0), (3, 1, 1, 0, 0), (1, 0, 1, 0, 0)), 6, ONE
    )
    base_ns = problem.instance.base_time_ns
    fastest_ns = OffloadSearch(problem.instance, 6, problem.link.bytes_per_ns).fastest()
    assert fastest_ns == base_ns + 1
    events = OffloadEvents(Whole())
    assert bound_ns(problem, events) == pytest.approx(fastest_ns)
    model = events.build(problem).model
    wrong = np.array([name.startswith("device_") for name in model.column_names])
    assert bound_ns(
        problem, events, replace(model, integer=model.integer | wrong)
    ) == pytest.approx(fastest_ns + 1)


def test_a_tensor_as_a_whole_takes_all_of_its_memory_as_soon_as_a_part_is_there() -> None:
    # Beside ā^2 (3 bytes), in 4 bytes, one byte of the input (2) fits. All of it has to leave
    # before F 2, while nothing runs, and to come back after B 2: 1 ns each, at 2 bytes per ns. If U
    # were not binary, half of it would stay: half a ns each.
    problem = RematOffloadChain(chain_of(2, (0, 0, 0, 0, 0), (1, 0, 3, 0, 0)), 4, 2 * ONE)
    base_ns = problem.instance.base_time_ns
    fastest_ns = OffloadSearch(problem.instance, 4, problem.link.bytes_per_ns).fastest()
    assert fastest_ns == base_ns + 2
    events = OffloadEvents(Whole())
    assert bound_ns(problem, events) == pytest.approx(base_ns + 2)
    model = events.build(problem).model
    whole = np.array([name.startswith("used_") for name in model.column_names])
    in_part = replace(model, integer=model.integer & ~whole)
    assert bound_ns(problem, events, in_part) == pytest.approx(base_ns + 1)
