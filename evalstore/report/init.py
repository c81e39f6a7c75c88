"""Renders a new store as text and JSON."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from evalstore.report.text_layout import format_percent
from evalstore.text import make_printable

if TYPE_CHECKING:
    from evalstore.store.init import CreatedStore, ExampleRun

_FIRST_STEPS = (
    "then: evalstore new rubric ID begins a ruler, or evalstore migrate FILE takes legacy ones",
    "      evalstore bump --all releases them",
)


def text(result: CreatedStore) -> str:
    """Return what was created, and what to do next."""
    if not (result.repository or result.written or result.merged or result.kept or result.next_steps):
        return f"{make_printable(str(result.root))} is a store already; nothing changed"
    is_new = "evalstore.yaml" in result.written
    made = "made a git repository and a store" if result.repository else "made a store" if is_new else "the store is"
    lines = [
        f"{made} in {make_printable(str(result.root))}",
        *(f"  wrote {make_printable(name)}" for name in result.written),
        *(f"  added to {make_printable(name)}" for name in result.merged),
    ]
    folder = shlex.quote(str(result.root))
    if result.example:
        return "\n".join([*lines, *_example_lines(result.example, folder)])
    if tops := sorted({_name_top(name) for name in (*result.written, *result.merged)}):
        lines.append(f"next: git -C {folder} add -- {' '.join(map(shlex.quote, tops))}")
    lines += [f"in every clone: {command}" for command in result.next_steps]
    return "\n".join([*lines, *_FIRST_STEPS])


def _example_lines(example: ExampleRun, folder: str) -> Iterator[str]:
    yield f"the outputs score {format_percent(example.score)} of 100 by these files, which is kept in {example.run}"
    yield from ("", "next:")
    commands = (
        f"cd {folder}",
        "git add .",
        f"evalstore show {example.run}",
        "evalstore validate",
        "evalstore bump --all",
        f"evalstore score {example.dataset}@1.0.0 {example.outputs}",
    )
    yield from (f"  {command}" for command in commands)
    yield "then edit rubrics/answer_style.yaml, and see what evalstore diff says"


def _name_top(path: str) -> str:
    """Return what is to be added for a file: its folder within the store, or outside of it the file itself."""
    return path if path.startswith("../") else path.split("/", maxsplit=1)[0]
