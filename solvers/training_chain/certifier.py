r"""Certificates of training steps: multipliers of the peak or the cycle bound, in integers.

Their linear programs are solved once more: that of `formulations/training_chain/peak_bound.py`, and
where what is to be certified is above it, that of `cycle_bound.py`, or, where nothing fits, that of
the missing memory. Rows of the checker's models (`certificates/training_chain/training_peak.py` and
`training_cycle.py`) have the same names, but for (resident), which defines a column that is written
out there: its multiplier is the sum of those of the rows that have the column. They count bytes and
nanoseconds, so that a multiplier is scaled by the units of the objective over those of its row:
times, sizes, shares, or sizes by which the rows of the link were multiplied. The proof is one leaf.

What neither knows, such as the cut bound or an exact search, has no certificate.
"""

from __future__ import annotations

import gzip
import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from jettison.certificates.dual_bound import DualBound
from jettison.certificates.integer_model import IntegerModel
from jettison.formulations.training_chain.activation_rows import Existing
from jettison.formulations.training_chain.cycle_bound import (
    CycleBoundModel,
    build_cycle_bound,
    build_missing_memory,
)
from jettison.formulations.training_chain.peak_bound import build_peak_bound
from jettison.instances.training_chain.problem import TrainingChain
from jettison.solvers.core.bound import Bound
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.outcome import Infeasibility, SolveOptions
from jettison.solvers.core.status import SolverError, Termination
from jettison.solvers.milp.highs_in_time import solve_in_time
from jettison.solvers.milp.highs_options import HighsOptions, LinearAlgorithm
from jettison.solvers.proof.certificate import Certificate
from jettison.solvers.proof.certify import certificate_of
from jettison.solvers.proof.proof_lines import Proof
from jettison.solvers.proof.statement import Statement
from jettison.solvers.training_chain.bounds.cycle_method import CYCLE, CycleParams, algorithms_for

# With the last the rounding of all multipliers together moves a bound by less than a nanosecond;
# shorter ones make smaller files, where they prove the same.
_SCALE_BITS = (24, 32, 40, 48, 64)
_OF_TIMES = {"length", "turn", "absence", "trip", "host", "device"}
_OF_SHARES = {"once", "hosted", "states", "before", "after", "late", "copy"}
_OF_SHARES |= {"keeps", "plain", "needs", "reads", "reads_all", "input", "remade"}


def certify_training_chain(
    problem: TrainingChain,
    bounds: Sequence[Bound],
    infeasibility: Infeasibility | None,
    options: SolveOptions,
    params: CycleParams = CYCLE,
) -> Certificate | None:
    """Certify the larger of the peak bound and the cycle bound, or that nothing fits.

    Returns
    -------
    Certificate or None
        None where no linear program has such a proof, the chain is too long for it, or the time is
        up.
    """
    if not (bounds or infeasibility):
        return None
    clock, nothing_fits = Clock(options.time_limit_s), infeasibility is not None
    names = ["cycle"] if nothing_fits else ["peak", "cycle"]
    if len(problem.instance) > params.most_stages:
        names.remove("cycle")
    best = None
    for name in names:
        found = _certified(problem, name, bounds, clock, options, params, nothing_fits=nothing_fits)
        if found is not None and (best is None or (found.time_ns or 0) > (best.time_ns or 0)):
            best = found
        if best is not None and _is_enough(best.time_ns, bounds):
            break
    return best


def _certified(
    problem: TrainingChain,
    name: str,
    bounds: Sequence[Bound],
    clock: Clock,
    options: SolveOptions,
    params: CycleParams,
    *,
    nothing_fits: bool,
) -> Certificate | None:
    """Return the certificate of the largest claim that one formulation proves in the time."""
    resources = {
        "memory_bytes": problem.memory_bytes,
        "bytes_per_s": problem.link.bytes_per_s,
    }
    if problem.link.is_shared:
        resources["total_bytes_per_s"] = problem.link.total_bytes_per_s
    statement = Statement(
        problem.problem, problem.instance.to_json(), resources, {"name": name, "version": 1}
    )
    stated = statement.model()
    if nothing_fits:
        built = build_missing_memory(problem)
    elif name == "peak":
        built = build_peak_bound(problem)
    else:
        built = build_cycle_bound(problem, existing=Existing.AT_ALL_CUTS)
    algorithms = algorithms_for(len(problem.instance), params)
    if name == "peak":
        algorithms = (LinearAlgorithm.CHOOSE,)
    best = None
    for multipliers in _multipliers(built, algorithms, clock, options):
        proof = _shortest(stated.model, multipliers, nothing_fits=nothing_fits)
        if proof is not None and (best is None or (proof.time_ns or 0) > (best.time_ns or 0)):
            best = proof
        if best is not None and _is_enough(best.time_ns, bounds):
            break
    return None if best is None else certificate_of(statement, stated.valid_for, best)


def _is_enough(time_ns: int | None, bounds: Sequence[Bound]) -> bool:
    """Tell whether a claim is what was to be certified: that nothing fits, or a bound of both."""
    named = (bound.time_ns for bound in bounds if bound.method in {"peak", "cycle"})
    largest = max(named, default=0)
    return time_ns is None or time_ns >= largest > 0


def _multipliers(
    built: CycleBoundModel,
    algorithms: Sequence[LinearAlgorithm],
    clock: Clock,
    options: SolveOptions,
) -> Iterator[dict[str, Fraction]]:
    """Yield multipliers of the rows by name, of each way to solve the program in the time."""
    unit = built.scale.sizes if built.model.name == "missing_memory" else built.scale.times
    objective = unit.unit * unit.factor
    for algorithm in algorithms:
        if not clock.left_s:
            break
        limit_s = None if math.isinf(clock.left_s) else clock.left_s
        highs = HighsOptions(
            time_limit_s=limit_s,
            threads=options.threads,
            seed=options.seed,
            linear_algorithm=algorithm,
        )
        try:
            solution = solve_in_time(built.model, highs)
        except SolverError:
            continue
        if solution.row_duals is not None:
            units = _RowUnits(built)
            duals = zip(built.model.row_names, solution.row_duals.tolist(), strict=True)
            yield {
                name: Fraction(dual) * objective / units.of(name)
                for name, dual in duals
                if dual and math.isfinite(dual)
            }
        if solution.termination in {Termination.TIME_LIMIT, Termination.INTERRUPTED}:
            break


class _RowUnits:
    """By how much the rows in integers are larger than those of the model."""

    def __init__(self, built: CycleBoundModel) -> None:
        scale = built.scale
        self._time = scale.times.unit * scale.times.factor
        self._size = scale.sizes.unit * scale.sizes.factor
        link = scale.problem.link
        self._link = Fraction(link.bytes_per_s, 10**9).denominator
        self._total = Fraction(link.total_bytes_per_s, 10**9).denominator

    def of(self, name: str) -> int:
        """Return the units of a row."""
        kind = name.rstrip("0123456789_")
        if kind in _OF_TIMES:
            return self._time
        if kind in _OF_SHARES:
            return 1
        if kind in {"in", "out"}:
            return self._link * self._size
        return self._total * self._size if kind == "both" else self._size


def _shortest(
    model: IntegerModel, multipliers: Mapping[str, Fraction], *, nothing_fits: bool
) -> Proof | None:
    """Return the proof of the largest claim with the fewest bits."""
    best = _leaf(model, multipliers, _SCALE_BITS[-1], nothing_fits=nothing_fits)
    if best is None:
        return None
    for scale_bits in _SCALE_BITS[:-1]:
        proof = _leaf(model, multipliers, scale_bits, nothing_fits=nothing_fits)
        if proof is not None and proof.time_ns == best.time_ns:
            return proof
    return best


def _leaf(
    model: IntegerModel,
    multipliers: Mapping[str, Fraction],
    scale_bits: int,
    *,
    nothing_fits: bool,
) -> Proof | None:
    """Return the proof that multipliers are, of the largest claim that they prove."""
    parts = []
    for number, row in enumerate(model.rows):
        # The checker's inequalities all ask for at least something; those of the model that ask
        # for at most something have multipliers below 0.
        value = multipliers.get(row.name, Fraction(0))
        rounded = round((value if row.is_equation else abs(value)) * (1 << scale_bits))
        if rounded:
            parts.append((number, rounded))
    costs = [0 if nothing_fits else cost << scale_bits for cost in model.costs]
    dual = DualBound(model, costs, model.lower, model.upper)
    dual.change(parts)
    if dual.value <= 0:
        return None
    time_ns = None if nothing_fits else -(-dual.value >> scale_bits)
    letter = "f" if nothing_fits else "l"
    line = " ".join([letter, *(f"{number}:{value}" for number, value in parts)]) + "\n"
    data = line.encode("ascii")
    return Proof(time_ns, scale_bits, gzip.compress(data, mtime=0), len(data), leaves=1)
