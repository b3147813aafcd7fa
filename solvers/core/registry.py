"""Every method of every problem.

The modules of the methods are imported when they run, so that listing them is light.
"""

from __future__ import annotations

from jettison.instances.core.errors import InputError
from jettison.instances.core.names import suggestion
from jettison.solvers.core.method import Method
from jettison.solvers.multi_model import methods as multi_model_methods
from jettison.solvers.remat_chain import methods as remat_chain_methods
from jettison.solvers.remat_graph import methods as remat_graph_methods
from jettison.solvers.remat_offload import methods as remat_offload_methods
from jettison.solvers.remat_sharding import methods as remat_sharding_methods
from jettison.solvers.sharding import methods as sharding_methods
from jettison.solvers.weight_offload import methods as weight_offload_methods

METHODS = (
    *remat_chain_methods.METHODS,
    *remat_offload_methods.METHODS,
    *weight_offload_methods.METHODS,
    *remat_graph_methods.METHODS,
    *remat_sharding_methods.METHODS,
    *sharding_methods.METHODS,
    *multi_model_methods.METHODS,
)

# The first method of each problem is the one used when none is named.
PROBLEMS = tuple(dict.fromkeys(method.problem for method in METHODS))


def methods_of(problem: str) -> tuple[Method, ...]:
    """Return the methods of a problem, the default one first."""
    return tuple(method for method in METHODS if method.problem == problem)


def find_method(problem: str, name: str | None) -> Method:
    """Return the named method of a problem; None stands for its default.

    Raises
    ------
    InputError
        If the problem has no method of that name.
    """
    candidates = methods_of(problem)
    if name is None:
        return candidates[0]
    for method in candidates:
        if method.name == name:
            return method
    names = [method.name for method in candidates]
    raise InputError(
        f"{name!r} is not a method of {problem}",
        field="method",
        expected=f"{suggestion(name, names)}choose one of {', '.join(names)}",
    )
