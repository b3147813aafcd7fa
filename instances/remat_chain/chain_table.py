"""Chains as tables: a row for each stage, a column for each of its fields."""

from __future__ import annotations

from dataclasses import MISSING, asdict, fields
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from jettison.instances.core.errors import InputError
from jettison.instances.core.names import suggestion
from jettison.instances.core.provenance import Provenance
from jettison.instances.remat_chain.chain import Chain, Stage

if TYPE_CHECKING:
    import pandas as pd

_FIELDS = [field.name for field in fields(Stage)]
_NEEDED = [
    field.name for field in fields(Stage) if field.default is MISSING and field.name != "name"
]


def chain_of_table(
    table: pd.DataFrame,
    name: str,
    input_bytes: int,
    *,
    backward_overhead_holds_gradient: bool,
    provenance: Provenance,
) -> Chain:
    """Return the chain of a table; see `Chain.from_dataframe`.

    Raises
    ------
    InputError
        If a column is missing or unknown, or a value is wrong; the message names row and column.
    """
    for column in table.columns:
        if column not in _FIELDS:
            raise InputError(
                f"{column!r} is not a field of a stage",
                field="columns",
                expected=f"{suggestion(str(column), _FIELDS)}choose among {', '.join(_FIELDS)}",
            )
    for column in _NEEDED:
        if column not in table.columns:
            raise InputError(
                f"there is no column {column}",
                field="columns",
                expected=f"give at least {', '.join(_NEEDED)}",
            )
    names = table["name"] if "name" in table.columns else table.index
    stages = []
    for place, (row, stage_name) in enumerate(zip(table.to_dict("records"), names, strict=True)):
        values: dict[str, Any] = {
            str(column): _whole(value)
            for column, value in row.items()
            if column != "name" and not _is_missing(value)
        }
        try:
            stages.append(Stage(**{**values, "name": str(stage_name)}))
        except InputError as error:
            raise error.within(prefix=f"stages[{place}]") from None
    return Chain(
        name=name,
        input_bytes=input_bytes,
        stages=tuple(stages),
        backward_overhead_holds_gradient=backward_overhead_holds_gradient,
        provenance=provenance,
    )


def table_of_chain(chain: Chain) -> pd.DataFrame:
    """Return a row for each stage, indexed by name; see `Chain.to_dataframe`."""
    import pandas as pd

    frame = pd.DataFrame([asdict(stage) for stage in chain.stages]).set_index("name")
    return frame.astype("Int64")


def _is_missing(value: object) -> bool:
    """Tell whether a cell is empty: None, NaN, or the missing value of pandas."""
    import pandas as pd

    return bool(pd.isna(value))  # type: ignore[call-overload]


def _whole(value: object) -> object:
    """Return whole numbers of any numeric type as integers, and all else as it is."""
    if isinstance(value, Integral) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, Real) and not isinstance(value, bool) and float(value).is_integer():
        return int(float(value))
    return value
