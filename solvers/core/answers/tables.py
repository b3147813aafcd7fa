"""Tables of what there is, as data frames: bundled instances, and the methods of a problem."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from jettison.instances import bundled_entries
from jettison.solvers.core.registry import PROBLEM_KINDS, find_kind

if TYPE_CHECKING:
    import pandas as pd


def bundled_instances() -> pd.DataFrame:
    """Return the bundled instances, a row each, indexed by name.

    The columns are kind, size, device, model, batch, dtype, origin (measured here, imported from
    those who measured it, or modelled) and others that `jettison list instances --json` has.
    """
    import pandas as pd

    entries = bundled_entries.bundled_instances()
    rows = [{**asdict(entry), "origin": str(entry.origin)} for entry in entries]
    return pd.DataFrame(rows).set_index("name")


def methods(problem: str | None = None) -> pd.DataFrame:
    """Return the methods of a problem, or of all problems: a row each, the default first.

    Parameters
    ----------
    problem
        Name of a problem, such as ``remat-graph``; None for all.

    Returns
    -------
    DataFrame
        Indexed by problem and method, or by the method alone; the columns are promise, summary,
        source, and whether what it needs is installed.

    Raises
    ------
    InputError
        If there is no such problem.
    """
    import pandas as pd

    kinds = list(PROBLEM_KINDS) if problem is None else [find_kind(problem)]
    rows = [
        {
            "problem": kind.name,
            "method": method.name,
            "promise": str(method.promise),
            "summary": method.summary,
            "source": method.source,
            "can_run": method.can_run,
        }
        for kind in kinds
        for method in kind.methods()
    ]
    frame = pd.DataFrame(rows)
    if problem is None:
        return frame.set_index(["problem", "method"])
    return frame.drop(columns="problem").set_index("method")
