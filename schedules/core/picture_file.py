"""Picture files: PNG, SVG or PDF, written atomically."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from jettison.instances.core.atomic_file import check_replaceable, replacing
from jettison.instances.core.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# No date is written, so that equal pictures are equal files.
_METADATA: dict[str, dict[str, str | None]] = {
    ".png": {},
    ".svg": {"Date": None},
    ".pdf": {"CreationDate": None},
}
_DOTS_PER_INCH = 200


def check_picture_path(path: str | Path) -> None:
    """Refuse a path that no picture can be written to.

    Raises
    ------
    InputError
        If the suffix is not .png, .svg or .pdf, the folder does not exist, or something stands
        there that is no file.
    """
    path = Path(path)
    if path.suffix.lower() not in _METADATA:
        raise InputError(
            f"{path.suffix!r} is not a kind of picture" if path.suffix else "it has no suffix",
            source=str(path),
            expected=f"end the name with {', '.join(_METADATA)}",
        )
    check_replaceable(path)


def save_figure(figure: Figure, path: str | Path) -> None:
    """Write a figure through a temporary file beside it, then rename; then empty the figure.

    The suffix of the path says the format: .png (200 dots per inch), .svg or .pdf (with fonts that
    publishers accept). The figure is emptied, for its artists hold much memory; after an error it
    is as it was.

    Raises
    ------
    InputError
        If the suffix is none of these, or the folder does not exist or cannot be written.
    """
    from matplotlib import rc_context

    path = Path(path)
    check_picture_path(path)
    suffix = path.suffix.lower()
    with replacing(path) as stream, rc_context({"svg.hashsalt": "jettison", "pdf.fonttype": 42}):
        figure.savefig(
            stream,
            format=suffix[1:],
            dpi=_DOTS_PER_INCH,
            metadata=_METADATA[suffix],
        )
    figure.clear()
