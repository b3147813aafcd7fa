"""Marks that are held: graphs, contest instances, sharding with recomputation, several models.

    python benchmarks/marks.py [--data FOLDER] [--only PATTERN] [--quick] [--record FILE.csv]

A mark is a case with what has to be found, to be proved, or to be how close, in so many CPU
seconds of one thread; beside it stands the best that was published elsewhere. The exit status is 1
if a mark is lost. FOLDER has the folders ``moccasin`` (graphs as networkx node-link JSON, of
MOCCASIN and Checkmate) and ``iopddl`` (files of the ASPLOS 2025 contest); marks of files that are
not there are left out, and lose nothing. ``--list`` shows all; ``--quick`` leaves out what may
take more than 15 CPU seconds; with ``--record`` a run that was stopped goes on where it was.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    # The package of the same name is found from the root of the checkout.
    sys.path[0] = str(Path(__file__).parent.parent)
    runpy.run_module("benchmarks.marks", run_name="__main__")
