"""Pages of the notebooks, with their stored outputs; the tests run them."""

from __future__ import annotations

import shutil
from pathlib import Path

from .page_text import TITLE, heading, write_page


def write(root: Path, folder: Path) -> None:
    """Copy all notebooks, and write a page that lists them."""
    folder.mkdir(parents=True)
    names = []
    for path in sorted((root / "notebooks").glob("*.ipynb")):
        shutil.copy(path, folder / path.name)
        names.append(path.stem)
    entries = "\n".join(f"   {name}" for name in names)
    write_page(
        folder / "index.rst",
        heading("Notebooks: the papers' numbers beside ours", TITLE),
        "One for each paper, with the outputs of the last run. The tests run them again and "
        "compare their tables with what is expected.",
        f".. toctree::\n   :maxdepth: 2\n\n{entries}",
    )
