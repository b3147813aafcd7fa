"""Page on pipelines: its table is the record of the benchmark."""

from __future__ import annotations

from pathlib import Path

from benchmarks.pipeline_page import BEGIN, END, PAGE, RECORD, write_table


def test_the_table_of_pipelines_is_written_from_its_record(tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    copied = tmp_path / "page.md"
    copied.write_text(f"{before}{BEGIN}\nold\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    write_table(copied, RECORD)
    assert copied.read_text(encoding="utf-8") == text
