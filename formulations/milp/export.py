"""Models as files that other solvers read."""

from __future__ import annotations

import gzip
import tempfile
from contextlib import ExitStack
from pathlib import Path

import lazy_loader as lazy

from jettison.formulations.milp.array_model import ArrayModel
from jettison.formulations.milp.quadratic_model import QuadraticModel
from jettison.formulations.milp.quiet_highs import quiet_highs
from jettison.instances.core.atomic_file import replacing
from jettison.instances.core.errors import InputError, JettisonError

highspy = lazy.load("highspy")

SUFFIXES = (".mps", ".lp", ".mps.gz", ".lp.gz")
QUADRATIC_SUFFIXES = (*SUFFIXES, ".nl")


def write_model(model: ArrayModel | QuadraticModel, path: str | Path) -> None:
    """Write `model` to `path` as MPS or LP, gzipped or not, whichever its ending names.

    A quadratic model can be an NL file too, the names of whose rows and columns stand beside it in
    files that end in ``.row`` and ``.col``. A file appears complete or not at all, in place of one
    that is there. Equal models give equal bytes.

    Raises
    ------
    InputError
        If the ending is not one of `SUFFIXES`, for a quadratic model `QUADRATIC_SUFFIXES`, or the
        file cannot be written.
    JettisonError
        If HiGHS cannot write the model.

    Notes
    -----
    HiGHS writes array models, with 15 significant digits: a coefficient such as 1/3 comes back
    changed in the last place. In an LP file a row with two limits becomes two rows, whose names end
    in ``lo`` and ``up``, and a row without a limit is left out. Pyomo writes quadratic models, with
    all digits (`QuadraticModel`).
    """
    target = Path(path)
    suffixes = QUADRATIC_SUFFIXES if isinstance(model, QuadraticModel) else SUFFIXES
    suffix = next((ending for ending in suffixes if target.name.endswith(ending)), None)
    if suffix is None:
        raise InputError(
            f"{target.name!r} has an ending that names no model format",
            source=str(target),
            expected=f"end it in {', '.join(suffixes)}",
        )
    if suffix == ".nl":
        assert isinstance(model, QuadraticModel)
        _write_nl(model, target)
        return
    with replacing(target) as stream, tempfile.TemporaryDirectory() as folder:
        # HiGHS takes the name x.mps.gz and writes plain text to it; it is we who compress.
        plain = Path(folder, "model.lp" if suffix.startswith(".lp") else "model.mps")
        if isinstance(model, QuadraticModel):
            _plain_quadratic(model, plain)
        else:
            _plain(model, plain)
        if suffix.endswith(".gz"):
            # No name and no time in the header: they would make equal models differ.
            with gzip.GzipFile("", "wb", 9, stream, mtime=0) as packed:
                packed.write(plain.read_bytes())
        else:
            stream.write(plain.read_bytes())


def _plain(model: ArrayModel, path: Path) -> None:
    highs = quiet_highs()
    outcomes = (highs.passModel(model.to_highs_lp()), highs.writeModel(str(path)))
    if highspy.HighsStatus.kError in outcomes:
        raise JettisonError(f"HiGHS cannot write the model {model.name}")


def _plain_quadratic(model: QuadraticModel, path: Path) -> None:
    if path.suffix == ".lp":
        path.write_text(model.lp_text(), encoding="utf-8")
    else:
        model.write_mps(path)


def _write_nl(model: QuadraticModel, target: Path) -> None:
    stem = target.name.removesuffix(".nl")
    with ExitStack() as files:
        # Names that nothing can be written to are refused before a file is replaced, and the model
        # is the last one: where it is new, so are its names.
        for ending, text in zip((".nl", ".row", ".col"), model.nl_texts(), strict=True):
            stream = files.enter_context(replacing(target.with_name(stem + ending)))
            stream.write(text.encode())
