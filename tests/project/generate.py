"""Write what is listed from the code: commands, kinds, keys, formats of migration, and where evalstore is published."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from evalstore.catalogue.schema_topics import SchemaTopic, TopicSort, load_topics
from evalstore.cli.main import GROUPS
from evalstore.migration.table import load_tables
from evalstore.report.explain import format_example
from tests.project import format_page, publication

DOCS = Path(__file__).resolve().parents[2] / "docs"
_FORMATS = re.compile(r"(?<=\| format \| what it is \| dialects \|\n\|---\|---\|---\|\n)(?:\|.*\n)+")


def render_commands() -> str:
    """Return the page of all commands, by what people do."""
    parts = ["# Commands\n", "`evalstore COMMAND --help` has examples of each.\n"]
    for title, commands in GROUPS.items():
        rows = "\n".join(f"| `{name}` | {what} |" for name, what in commands.items())
        parts.append(f"## {title}\n\n| command | what it does |\n|---|---|\n{rows}\n")
    parts.append(_FRAME)
    return "\n".join(parts)


_FRAME = """## What all of them have

`-C DIR` runs a command as if it had been started there, like git. `--format json` is one document, also on failure;
`evalstore explain --schema output/NAME` prints its schema. Long lists are short unless `--verbose`. Colours are for terminals;
`NO_COLOR` turns them off, `FORCE_COLOR` on. Exit codes: 0 done · 1 done, and the answer is no · 2 wrong command line ·
3 could not do it · 4 a bug in evalstore · 130 interrupted.
"""


def render_kinds() -> str:
    """Return the page of all kinds and keys, each with its example."""
    parts = ["# Kinds and keys\n", "From the schemas; `evalstore explain NAME` says the same in a terminal.\n"]
    topics = load_topics().values()
    parts.append("## Kinds of check\n")
    for topic in topics:
        if topic.sort is TopicSort.KIND:
            parts += _render_topic(topic, f"### {topic.path}")
    for root in ("rubric", "judge", "dataset", "settings"):
        parts += _render_topic(load_topics()[root], f"## {root}")
        inner = (one for one in topics if one.path.startswith(f"{root}.") and one.keys)
        for topic in inner:
            parts += _render_topic(topic, f"### {topic.path}")
    return "\n".join(parts)


def _render_topic(topic: SchemaTopic, heading: str) -> Iterator[str]:
    yield f"{heading}\n\n{topic.description}\n"
    rows = [load_topics().get(f"{topic.path}.{key.name}") for key in topic.keys]
    if table := [_render_key(row) for row in rows if row]:
        yield "| key | is | default | what it means |\n|---|---|---|---|\n" + "\n".join(table) + "\n"
    yield f"```yaml\n{format_example(topic)}```\n"


def _render_key(topic: SchemaTopic) -> str:
    cells = (
        f"`{topic.name}`" + (" (required)" if topic.required else ""),
        topic.shape,
        f"`{topic.default}`" if topic.default else "",
        topic.description,
    )
    # A bar ends a cell, and what is in angle brackets would be taken for HTML.
    return "| " + " | ".join(cell.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ") for cell in cells) + " |"


def render_formats(text: str) -> str:
    """Return the page on migration with the table of formats as it is now."""
    rows = "".join(f"| `{one.format}` | {one.title} | {', '.join(one.dialects)} |\n" for one in load_tables())
    return _FORMATS.sub(lambda _: rows, text, count=1)


def render_pages() -> dict[str, str]:
    """Return every page that is generated, or generated in part, by its name."""
    migrating = (DOCS / "migrating.md").read_text("utf-8")
    return {
        "commands.md": render_commands(),
        "kinds.md": render_kinds(),
        "migrating.md": render_formats(migrating),
        "formats.md": format_page.render_page(),
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
