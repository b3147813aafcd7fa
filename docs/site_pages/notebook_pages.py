"""Pages of the notebooks, with their stored outputs; the tests run them.

Each notebook of a paper begins with the paper's numbers beside ours, from the lists in
``docs/papers``, so that a reader sees on the first screen what came of it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jettison.studies.paper_list import PaperList, load_papers

from .page_text import TITLE, heading, write_page

# So many numbers fit on the first screen, each in so many letters.
MOST_NUMBERS = 6
_LONGEST = 110


def write(root: Path, folder: Path) -> None:
    """Copy all notebooks with their papers' numbers, and write a page that lists them."""
    folder.mkdir(parents=True)
    papers = {paper.notebook: paper for paper in load_papers(root)}
    names = []
    for path in sorted((root / "notebooks").glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        if path.stem in papers:
            add_numbers(notebook, papers[path.stem])
        text = json.dumps(notebook, ensure_ascii=False, indent=1)
        (folder / path.name).write_text(f"{text}\n", encoding="utf-8")
        names.append(path.stem)
    entries = "\n".join(f"   {name}" for name in names)
    write_page(
        folder / "index.rst",
        heading("Notebooks: the papers' numbers beside ours", TITLE),
        "One for each paper, with the outputs of the last run. The tests run them again and "
        "compare their tables with what is expected.",
        f".. toctree::\n   :maxdepth: 2\n\n{entries}",
    )


def add_numbers(notebook: dict[str, Any], paper: PaperList) -> None:
    """Add a table of the paper's numbers and ours behind the title of a notebook.

    Those that are short stand first, in the order of the list.
    """
    numbers = [entry for entry in paper.entries if entry.paper and entry.ours]
    shown = [
        entry
        for entry in numbers
        if len(entry.title) <= _LONGEST and len(entry.paper) + len(entry.ours) <= _LONGEST
    ][:MOST_NUMBERS]
    if not shown:
        return
    rows = [
        "| the paper states | its number | ours |",
        "|---|---|---|",
        *(
            f"| {_cell(entry.title)} | {_cell(entry.paper)} | {_cell(entry.ours)} |"
            for entry in shown
        ),
    ]
    rest = len(numbers) - len(shown)
    more = f" {rest} more numbers, and" if rest else ""
    rows += [
        "",
        f"[The list of the paper](../papers/{paper.name}.rst) has{more} all that it states.",
    ]
    title, _, text = "".join(notebook["cells"][0]["source"]).partition("\n")
    # The title stays the first line of the page.
    notebook["cells"][0]["source"] = f"{title}\n\n" + "\n".join(rows) + f"\n\n{text.lstrip()}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
