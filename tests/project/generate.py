"""Write what is listed from the code: commands, each format with its keys, migrations, and where we publish."""

import re
import sys
from pathlib import Path

from evalstore.cli.main import GROUPS
from evalstore.migration.table import load_tables
from evalstore.runs.formats import FORMATS
from tests.project import format_page, publication, schema_pages

DOCS = Path(__file__).resolve().parents[2] / "docs"
_RESULTS = re.compile(r"(?<=\| file \| takes it \|\n\|---\|---\|\n)(?:\|.*\n)+")
_FORMATS = re.compile(r"(?<=\| format \| what it is \| dialects \|\n\|---\|---\|---\|\n)(?:\|.*\n)+")


def render_commands() -> str:
    """Return the page of all commands, by what people do."""
    parts = ["# Commands\n", "`evalstore COMMAND --help` has examples of each.\n"]
    for title, commands in GROUPS.items():
        rows = "\n".join(f"| `{name}` | {what} |" for name, what in commands.items())
        parts.append(f"## {title}\n\n| command | what it does |\n|---|---|\n{rows}\n")
    parts.append(_FRAME)
    return "\n".join(parts)


_FRAME = """## What all commands share

`-C DIR` runs a command as if it had been started there, like git. `--format json` is one document, also on failure;
`evalstore explain --schema output/NAME` prints its schema. Long lists are short unless `--verbose`. `--quiet` leaves
out a text result, warnings and next steps, but not errors. A text ends with the command to run next, on stderr, if there
is one. Nothing is wider than the terminal, or than `COLUMNS` if that is set, in a pipe too.

Colours are for terminals. `NO_COLOR` turns them off, before all else; `FORCE_COLOR` and `CLICOLOR_FORCE` turn them on
in a pipe; `CLICOLOR=0` turns them off on a terminal. Exit codes: 0 done · 1 done, and the answer is no · 2 wrong
command line · 3 could not do it · 4 a bug in evalstore · 130 interrupted.
"""


def render_formats(text: str) -> str:
    """Return the page on migration with the table of formats as it is now."""
    rows = "".join(f"| `{one.format}` | {one.title} | {', '.join(one.dialects)} |\n" for one in load_tables())
    return _FORMATS.sub(lambda _: rows, text, count=1)


def render_results(text: str) -> str:
    """Return the page on scoring with the table of what other tools recorded as it is now."""
    files: dict[tuple[str, str], list[str]] = {}
    for one in FORMATS:
        uses = {"show": one.has_verdicts, "score": one.has_outputs, "audit": True, "migrate": bool(one.migrates)}
        if one.tool and one.read_entries:
            key = one.name, ", ".join(f"`{name}`" for name, holds in uses.items() if holds)
            files.setdefault(key, []).append(one.files)
    rows = "".join(f"| {name} ({', '.join(kinds)}) | {uses} |\n" for (name, uses), kinds in files.items())
    return _RESULTS.sub(lambda _: rows, text, count=1)


def render_pages() -> dict[str, str]:
    """Return every page that is generated, or generated in part, by its name."""
    migrating = (DOCS / "migrating.md").read_text("utf-8")
    return {
        "commands.md": render_commands(),
        "migrating.md": render_formats(migrating),
        "scoring.md": render_results((DOCS / "scoring.md").read_text("utf-8")),
        "formats.md": format_page.render_page(),
        **schema_pages.render_pages(),
    }


def list_files() -> dict[Path, str]:
    """Return every file that is generated, or generated in part, with its text."""
    return {DOCS / name: text for name, text in render_pages().items()} | {
        publication.ROOT / name: text for name, text in publication.render_files().items()
    }


if __name__ == "__main__":
    stale = {path: text for path, text in list_files().items() if not path.exists() or path.read_text("utf-8") != text}
    if stale and "--check" in sys.argv:
        names = ", ".join(path.relative_to(publication.ROOT).as_posix() for path in stale)
        sys.exit(f"stale: {names}; run `python -m tests.project.generate`")
    for path, text in stale.items():
        path.write_text(text, "utf-8")
