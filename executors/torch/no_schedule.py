"""Error where a method found no schedule to run."""

from __future__ import annotations

from jettison.instances.core.errors import InputError
from jettison.solvers.core.problem import Problem
from jettison.solvers.core.result import Result


def no_schedule_error(problem: Problem, result: Result) -> InputError:
    """Return an error with the least memory that would be enough, where it is known."""
    least = None if result.infeasibility is None else result.infeasibility.least_memory_bytes
    return InputError(
        f"{result.method} found no schedule within {problem.memory_bytes} bytes ({result.status})",
        field="memory",
        expected="give more memory or time" if least is None else f"give at least {least} bytes",
    )
