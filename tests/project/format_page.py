"""Write the page that shows each format of migration: one of its suites, what becomes of it, and what cannot be kept."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evalstore.migration.table import FormatTable, load_tables

_CASES = Path(__file__).resolve().parents[1] / "cases/migrations"
# The suite of each format that says most in the fewest lines.
SHOWN = {
    "agentevals": "d2s_the_specification_of_today",
    "ai_agents_test": "a_group",
    "ai_best_practices": "every_check",
    "ai_eval": "a_dataset",
    "every_eval_ever": "a_run_and_its_rows",
    "legal_eval_v1": "three_tasks",
    "openai_evals": "a_hosted_eval",
    "openrubricrl": "one_judge",
    "promptfoo": "bread",
    "skill_creator": "statements",
}
_MOST_SIGNS, _MOST_LINES, _MOST_REASONS = 4, 40, 6
_HEAD = """# Migrating from each format

For each format: a suite as it is, what `evalstore migrate` makes of it, line by line, and what it cannot keep. The
suites are from evalstore's own tests, which run them, so this is what the program does.
[Migrating](migrating.md) says how to do it, and what the four outcomes mean. *Another prompt* means: a judge is asked
in our words, because the program's own belong to the program; `--judges-from DIR` takes them from where it is installed.
"""
_TITLES = {"lossy": "Lossy", "unmapped": "Set aside as data (unmapped)", "refused": "Refused"}


def render_page() -> str:
    """Return the page: a section for each format, in the order of the tables."""
    return "\n".join((_HEAD, *(part for table in load_tables() for part in _render_format(table))))


def _render_format(table: FormatTable) -> Iterator[str]:
    case = _CASES / table.format / SHOWN[table.format]
    signs = sorted(table.signs, key=lambda sign: -sign.confidence)
    strongest = "; ".join(list(dict.fromkeys(sign.because for sign in signs))[:_MOST_SIGNS])
    yield f"## {table.format}\n\n{table.title}. Its signs, the strongest first: {strongest}.\n"
    for source in _list_files(case / "legacy"):
        yield f"`{source.name}`, before:\n\n{_quote(source)}"
    written = _list_files(case / "expected")
    rubrics = [path for path in written if path.parent.name == "rubrics"]
    shown = (rubrics or written)[0]
    names = [f"`{path.relative_to(case / 'expected').as_posix()}`" for path in written]
    yield f"It becomes {', '.join(names)}. This is `{shown.name}`, without its origin:\n"
    yield _quote(shown, until="x_source:")
    yield "| line | outcome | why |\n|---|---|---|\n" + "".join(map(_render_entry, _read_entries(case)))
    yield from _render_reasons(table.format)


def _render_entry(entry: dict[str, Any]) -> str:
    why = "; ".join(entry["reasons"])
    return f"| {entry['line'] or ''} | {entry['outcome']} | {_escape(why).replace('|', chr(92) + '|')} |\n"


def _render_reasons(name: str) -> Iterator[str]:
    cases = sorted(path for path in (_CASES / name).iterdir() if path.is_dir())
    said = Counter(
        (entry["outcome"], reason) for case in cases for entry in _read_entries(case) for reason in entry["reasons"]
    )
    yield f"Reported most often for the {len(cases)} suites in its tests:\n"
    for outcome, title in _TITLES.items():
        # Of equally many, what comes first in the tests: they go from the common to the odd.
        if reasons := [reason for (one, reason), _ in said.most_common() if one == outcome][:_MOST_REASONS]:
            yield f"**{title}**\n\n" + "".join(f"- {_escape(reason)}\n" for reason in reasons)


def _read_entries(case: Path) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads((case / "report.json").read_text("utf-8"))["entries"]
    return entries


def _list_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _quote(path: Path, until: str = "") -> str:
    """Return the first lines of a file as a block; of JSON Lines the first row, indented as people read it."""
    text = path.read_text("utf-8")
    if path.suffix == ".jsonl":
        text = json.dumps(json.loads(text.split("\n", 1)[0]), indent=1, ensure_ascii=False)
    lines = text.rstrip("\n").split("\n")
    lines = lines[: lines.index(until)] if until in lines else lines
    if more := lines[_MOST_LINES:]:
        lines = [*lines[:_MOST_LINES], f"… {len(more)} more lines"]
    return f"```{path.suffix[1:].replace('jsonl', 'json').replace('yml', 'yaml')}\n" + "\n".join(lines) + "\n```\n"


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")
