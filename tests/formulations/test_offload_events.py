"""The model over all first starts: its rows, and that it holds for every schedule."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import jettison.formulations.offload_events as module
from jettison.formulations.array_model import ArrayModel
from jettison.formulations.offload_cut import Divisible, Whole
from jettison.formulations.offload_events import OffloadEvents
from jettison.instances.remat_offload_chain import RematOffloadChain
from jettison.solvers.highs import solve_model
from jettison.solvers.highs_options import HighsOptions
from tests.oracles.judged_offload import JudgedOffload, judged_offloads
from tests.tiny import chain_of

TOLERANCE_NS = 1e-4
# B 2 has no room for the 3 bytes of the input in 10 bytes.
TIGHT = RematOffloadChain(chain_of(3, (4, 1, 2, 0, 0), (3, 0, 5, 0, 0)), 10, 10**9)
LONG = RematOffloadChain(
    chain_of(3, (4, 1, 2, 0, 0), (3, 1, 2, 0, 0), (3, 1, 2, 0, 0), (3, 0, 5, 0, 0)), 14, 10**9
)

# Rows of Whole tensors only, which the text describes.
WHOLE_ONLY = {"occupied", "complete", "arrived"}


def delayed() -> list[JudgedOffload]:
    """Return every sixth problem that the memory delays."""
    return [item for item in judged_offloads() if item.is_delayed][::6]


def bound_ns(item: JudgedOffload, events: OffloadEvents, model: ArrayModel | None = None) -> float:
    """Return the optimum as a time, of the model as it is built or of another one."""
    built = events.build(item.problem)
    solution = solve_model(model or built.model, HighsOptions(gap=0))
    assert solution.dual_bound is not None
    return item.chain.base_time_ns + solution.dual_bound * built.time_unit_ns


def labels(model: ArrayModel) -> set[str]:
    return {name.split("_")[0] for name in model.row_names}


def test_every_row_is_one_of_the_docstring() -> None:
    documented = set(re.findall(r"\\text\{\(([a-z]+)\)\}", module.__doc__ or ""))
    assert labels(OffloadEvents().build(LONG).model) == documented - {"objective"}
    whole = labels(OffloadEvents(Whole()).build(LONG).model)
    assert whole == documented - {"objective"} | WHOLE_ONLY


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
        relaxed_ns = bound_ns(item, OffloadEvents(tensors), model.relaxed())
        binary_ns = bound_ns(item, OffloadEvents(tensors))
        assert relaxed_ns <= binary_ns + TOLERANCE_NS
        assert binary_ns <= item.fastest_ns + TOLERANCE_NS, item


def test_most_of_the_delay_is_proved_with_tensors_as_a_whole() -> None:
    # 0.92 on this sample.
    shares = [(bound_ns(item, OffloadEvents(Whole())), item) for item in delayed()]
    proved = [
        (found - item.chain.base_time_ns) / (item.fastest_ns - item.chain.base_time_ns)
        for found, item in shares
    ]
    assert sum(proved) > 0.8 * len(proved)


def test_the_end_of_an_operation_is_a_moment_of_its_own() -> None:
    # Both ends of B 2 leave 1 byte less room than the input and ā^1 take. With starts alone, that
    # byte comes back during B 2, which takes 1 ns, and nothing is lost.
    item = JudgedOffload(TIGHT, 12)
    events = OffloadEvents()
    model = events.build(TIGHT).model
    assert bound_ns(item, events) == pytest.approx(TIGHT.instance.base_time_ns + 1)
    # B 2 is interval 5 of 0..7, so that its end is state 6.
    upper = np.array(model.row_upper)
    upper[model.row_names.index("memory_6")] = np.inf
    starts_alone = replace(model, row_upper=upper)
    assert bound_ns(item, events, starts_alone) == pytest.approx(TIGHT.instance.base_time_ns)
