"""Rows that a folder keeps, so that a notebook computes only some of them again."""

from __future__ import annotations

import inspect
import json
import math
import random
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from jettison.instances.core.atomic_file import replacing
from jettison.instances.core.errors import InputError
from jettison.instances.core.json_file import read_text
from jettison.solvers.core.clock import Clock
from jettison.solvers.core.solver_versions import solver_versions
from jettison.studies.checkout_folder import checkout_folder

Cell = str | int | float | bool | None
Case = tuple[Cell, ...]
Row = Mapping[str, Cell]

# By how much a number may differ that depends on the tolerance of a solver.
_SHARE = 1e-6


@dataclass(frozen=True, slots=True)
class _Kept:
    """Line of a file: a row, its case, and where it comes from."""

    case: list[Cell]
    row: dict[str, Cell]
    cpu_s: float
    versions: str
    recorded: str


class KeptFunction:
    """Function from a case to a row, whose rows are in a file.

    It is made by `KeptRows.rows`.

    Attributes
    ----------
    name
        Of the file, without suffix.
    again
        Cases whose rows were in the file, and came out the same again.
    added
        Cases whose rows were not in the file, and were computed.
    """

    def __init__(
        self,
        path: Path,
        row_of: Callable[..., Row],
        again_s: float,
        about: Collection[str],
    ) -> None:
        self.name = path.stem
        self.again: list[Case] = []
        self.added: list[Case] = []
        self._path = path
        self._row_of = row_of
        self._about = about
        self._parameters = inspect.signature(row_of)
        self._kept = _lines_of(path) if path.exists() else {}
        self._to_compare = _drawn(self._kept, path.stem, again_s)
        self._asked: set[Case] = set()

    def __call__(self, *arguments: Cell, **named: Cell) -> Row:
        """Return the row of a case.

        Raises
        ------
        InputError
            If the row comes out otherwise than it was kept, or the file cannot be written.
        """
        case = self._case(arguments, named)
        self._asked.add(case)
        if case not in self._kept:
            self._kept[case] = self._computed(case)
            self.added.append(case)
            self._write()
        elif case in self._to_compare:
            self._to_compare.remove(case)
            self._check(self._kept[case], self._computed(case))
            self.again.append(case)
        return self._kept[case].row

    def cpu_s(self, *arguments: Cell, **named: Cell) -> float:
        """Return the CPU seconds that a row took when it was recorded.

        Raises
        ------
        InputError
            As a call does.
        """
        case = self._case(arguments, named)
        self(*case)
        return self._kept[case].cpu_s

    @property
    def never_asked(self) -> list[Case]:
        """Cases in the file for whose rows nobody has asked."""
        return [case for case in self._kept if case not in self._asked]

    def __str__(self) -> str:
        lines = [self._kept[case] for case in self._kept if case in self._asked]
        versions = "; ".join(sorted({line.versions for line in lines}))
        return (
            f"{self._path.name}: {len(lines)} rows in {sum(line.cpu_s for line in lines):.1f} CPU "
            f"seconds, up to {max((line.recorded for line in lines), default='now')}, by "
            f"{versions or 'nothing'}; {len(self.again)} computed again, {len(self.added)} new"
        )

    def _case(self, arguments: tuple[Cell, ...], named: Mapping[str, Cell]) -> Case:
        bound = self._parameters.bind(*arguments, **named)
        bound.apply_defaults()
        return tuple(bound.arguments.values())

    def _computed(self, case: Case) -> _Kept:
        clock = Clock(None)
        with solver_versions() as solvers:
            row = dict(self._row_of(*case))
        ran = {"jettison": metadata.version("jettison"), **solvers}
        return _Kept(
            case=list(case),
            row=row,
            cpu_s=round(clock.cpu_seconds, 2),
            versions=", ".join(f"{package} {version}" for package, version in sorted(ran.items())),
            recorded=datetime.now(UTC).date().isoformat(),
        )

    def _check(self, before: _Kept, now: _Kept) -> None:
        for name in dict.fromkeys([*before.row, *now.row]):
            was, is_now = before.row.get(name), now.row.get(name)
            if not (was == is_now or (name in self._about and _is_about(was, is_now))):
                raise InputError(
                    f"{is_now} where {was} was recorded",
                    source=str(self._path),
                    field=f"{before.case}: {name}",
                    expected="if that is right, remove the file, and start the notebook again",
                )

    def _write(self) -> None:
        lines = [json.dumps(asdict(line)) for line in self._kept.values()]
        with replacing(self._path) as stream:
            stream.write("".join(f"{line}\n" for line in lines).encode())


class KeptRows:
    """Rows in files of one folder, of which a notebook makes its tables.

    A row that the folder has is read. One that it lacks is computed and added, with the CPU seconds
    that it took, the date, and the versions of jettison and of the solvers that ran. Of the rows
    that are read some are computed again all the same, and have to be as they were. To have all of
    them computed, remove the file.

    Parameters
    ----------
    folder
        Of the files ``NAME.jsonl``; it exists.

    Attributes
    ----------
    functions
        What has been kept here, in the order of definition.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from jettison.studies.kept_rows import KeptRows
    >>> with TemporaryDirectory() as folder:
    ...     for _ in range(2):
    ...         kept = KeptRows(Path(folder))
    ...         @kept.rows("squares", again_s=60)
    ...         def square(number):
    ...             return {"square": number**2}
    ...         print([square(number)["square"] for number in (2, 3)], square.added, square.again)
    [4, 9] [(2,), (3,)] []
    [4, 9] [] [(2,), (3,)]
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.functions: list[KeptFunction] = []

    @classmethod
    def found(cls, folder: str) -> KeptRows:
        """Return the rows in a folder of this name, here or above.

        Raises
        ------
        InputError
            If there is none.
        """
        return cls(checkout_folder(folder))

    def rows(
        self, name: str, *, again_s: float, about: Collection[str] = ()
    ) -> Callable[[Callable[..., Row]], KeptFunction]:
        """Return a decorator that keeps the rows of a function, whose parameters are the case.

        Parameters
        ----------
        name
            Of the file, without suffix.
        again_s
            CPU seconds for rows that are computed again: so many, drawn by the name, as took no
            longer together when they were recorded; the quickest one if all took longer, and none
            for 0.
        about
            Columns of numbers that depend on the tolerance of a solver, which may differ by a
            millionth.

        Raises
        ------
        InputError
            If the file holds something else.
        """

        def keep(row_of: Callable[..., Row]) -> KeptFunction:
            path = self._folder / f"{name}.jsonl"
            self.functions.append(KeptFunction(path, row_of, again_s, about))
            return self.functions[-1]

        return keep

    def __str__(self) -> str:
        return "\n".join(map(str, self.functions))


def _is_about(was: Cell, is_now: Cell) -> bool:
    if isinstance(was, int | float) and isinstance(is_now, int | float):
        return math.isclose(was, is_now, rel_tol=_SHARE)
    return False


def _drawn(kept: Mapping[Case, _Kept], name: str, again_s: float) -> set[Case]:
    """Return the cases to compute again, the same ones as long as the file is the same."""
    if not again_s:
        return set()
    in_some_order = list(kept)
    random.Random(name).shuffle(in_some_order)
    drawn: set[Case] = set()
    for case in in_some_order:
        if kept[case].cpu_s <= again_s:
            drawn.add(case)
            again_s -= kept[case].cpu_s
    return drawn or set(sorted(kept, key=lambda case: kept[case].cpu_s)[:1])


def _lines_of(path: Path) -> dict[Case, _Kept]:
    kept = {}
    for number, text in enumerate(read_text(path).splitlines(), start=1):
        try:
            fields: dict[str, Any] = json.loads(text)
            line = _Kept(**fields)
            kept[tuple(line.case)] = line
        except (TypeError, ValueError):
            raise InputError(
                "no row of a table",
                source=str(path),
                field=f"line {number}",
                expected="remove the file, and start the notebook again",
            ) from None
    return kept
