"""Many cases in one test: to collect and report each by itself takes longer than most of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from itertools import product
from typing import Any


class Tier:
    """Cases that `make quick` runs: the first."""

    first_only = False


def each(**values: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test for every value, or every combination; the one that fails is noted with its error.

    Fixtures are those of one test: what one case does to them the next one finds.
    """
    cases = [dict(zip(values, case, strict=True)) for case in product(*values.values())]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def run(**fixtures: Any) -> None:
            for case in cases[:1] if Tier.first_only else cases:
                try:
                    test(**fixtures, **case)
                except BaseException as error:
                    error.add_note(", ".join(f"{name} = {value!r}" for name, value in case.items()))
                    raise

        signature = inspect.signature(test)
        kept = [item for name, item in signature.parameters.items() if name not in values]
        run.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        return run

    return decorate
