"""Answer of one solver to a feasibility model in an MPS file: yes, no, or open.

Run: ``python benchmarks/decide_model.py highs MODEL.mps``, or ``scip``, or ``cp-sat``; with
``--without-symmetry`` the solver neither looks for symmetry nor breaks it. One thread. A process of
its own, because HiGHS and OR-tools cannot share one; whoever starts it limits its CPU time.
CP-SAT needs ``pip install ortools``, SCIP ``pip install pyscipopt``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable


def highs(path: str, symmetry: bool) -> str:
    import highspy

    solver = highspy.Highs()
    solver.silent()
    solver.setOptionValue("threads", 1)
    solver.setOptionValue("mip_detect_symmetry", symmetry)
    solver.readModel(path)
    solver.run()
    status = solver.getModelStatus()
    known = highspy.HighsModelStatus
    return {known.kOptimal: "yes", known.kInfeasible: "no"}.get(status, "open")


def scip(path: str, symmetry: bool) -> str:
    import pyscipopt

    solver = pyscipopt.Model()
    solver.hideOutput()
    solver.readProblem(path)
    if not symmetry:
        solver.setParam("misc/usesymmetry", 0)
    solver.optimize()
    return {"optimal": "yes", "infeasible": "no"}.get(solver.getStatus(), "open")


def cp_sat(path: str, symmetry: bool) -> str:
    from ortools.linear_solver.python import model_builder

    model = model_builder.Model()
    model.import_from_mps_file(path)
    solver = model_builder.Solver("sat")
    level = "" if symmetry else " symmetry_level:0"
    solver.set_solver_specific_parameters(f"num_workers:1{level}")
    status = solver.solve(model)
    known = model_builder.SolveStatus
    yes = {known.OPTIMAL, known.FEASIBLE}
    return "yes" if status in yes else "no" if status == known.INFEASIBLE else "open"


SOLVERS: dict[str, Callable[[str, bool], str]] = {"highs": highs, "scip": scip, "cp-sat": cp_sat}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("solver", choices=SOLVERS)
    parser.add_argument("model")
    parser.add_argument("--without-symmetry", action="store_true")
    arguments = parser.parse_args()
    print(SOLVERS[arguments.solver](arguments.model, not arguments.without_symmetry), flush=True)


if __name__ == "__main__":
    main()
