"""The page's table of formats is what the tables in `migrations/` say."""

from __future__ import annotations

from pathlib import Path

from evalstore.migration.table import load_tables

PAGE = Path(__file__).resolve().parents[2] / "docs/migrating.md"


def test_it_lists_every_format() -> None:
    rows = [f"| `{table.format}` | {table.title} | {', '.join(table.dialects)} |" for table in load_tables()]
    text = PAGE.read_text("utf-8")
    assert [line for line in text.partition("| format |")[2].splitlines()[2:] if line.startswith("| `")][
        : len(rows)
    ] == rows
    assert f"{rows[-1]}\n\n" in text
