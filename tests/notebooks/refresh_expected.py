"""Write the expected tables of the notebooks anew; run by `make notebooks`."""

from __future__ import annotations

import runpy
from pathlib import Path

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"

if __name__ == "__main__":
    for source in sorted(NOTEBOOKS.glob("*.py")):
        for name, table in runpy.run_path(str(source))["TABLES"].items():
            table.to_csv(NOTEBOOKS / "_expected" / f"{name}.csv", index=False)
