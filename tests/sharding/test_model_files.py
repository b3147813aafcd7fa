"""Alpa's integer program in files, read back by a solver."""

from __future__ import annotations

from pathlib import Path

import highspy
import pytest

from jettison import Sharding
from jettison.formulations.milp.export import write_model
from jettison.solvers.core.model_files import ModelChoice
from jettison.solvers.sharding.model_files import MODEL_FILES
from tests.sharding.oracles.strategy_brute_force import least_cost, least_peak, random_graph


@pytest.mark.parametrize("ending", ["mps", "lp", "mps.gz"])
def test_what_a_solver_reads_has_the_least_cost(ending: str, tmp_path: Path) -> None:
    solved = 0
    for seed in range(6):
        graph = random_graph(seed, most_nodes=4)
        memory = least_peak(graph)
        if memory is None:
            continue
        path = tmp_path / f"{seed}.{ending}"
        write_model(
            MODEL_FILES.build(Sharding(graph, memory), ModelChoice(formulation="alpa")), path
        )
        highs = highspy.Highs()
        highs.setOptionValue("output_flag", False)
        highs.readModel(str(path))
        highs.run()
        assert round(highs.getInfo().objective_function_value) == least_cost(graph, memory)
        solved += 1
    assert solved
