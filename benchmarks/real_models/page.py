"""Page of the documentation with the table of real models."""

from pathlib import Path


def write_page(path: Path, rows) -> None:
    pass
