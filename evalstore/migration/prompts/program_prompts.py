"""Finds the prompts of a legacy program in the folder where it is installed, or in the judges of a store."""

from __future__ import annotations

import ast
import os
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Self

from evalstore.errors import EvalstoreError, LoadError, Place, RefusedError
from evalstore.files import SMALL_FILE, list_below, read_below
from evalstore.migration.extraction import JudgePrompts
from evalstore.migration.merging.stored_artifacts import read_stored_value
from evalstore.migration.prompts.judge_prompts import (
    InstalledPrompt,
    collect_stored_prompts,
    draft_own_judge,
    select_prompt,
)
from evalstore.migration.table import FormatTable, PromptRow

_ENTRY_LIMIT = 100_000
_SKIPPED_FOLDERS = frozenset({".git", "__pycache__"})


@dataclass(frozen=True, slots=True)
class ProgramFolder:
    """The folder of a legacy program, and the paths of the files below it."""

    root: Path
    paths: tuple[str, ...]

    @classmethod
    def open(cls, root: Path) -> Self:
        """List the folder. Raises `LoadError` where that cannot be done, `RefusedError` for too many files."""
        return cls(root, tuple(_list_files(root)))


def find_prompts(program: ProgramFolder | None, store: Path, table: FormatTable) -> JudgePrompts:
    """Return the judges of a format that ask in the program's own words.

    They come from the program; what it does not have comes from the judges of the store that took
    such words before.
    """
    stored = _read_stored_judges(store, table)
    if program is None:
        return stored
    found = {row.judge: _find_prompt(program, row) for row in table.prompts}
    judges = {
        row.judge: draft_own_judge(prompt, row, table)
        for row in table.prompts
        if isinstance(prompt := found[row.judge], InstalledPrompt)
    }
    problems = {judge: problem for judge, problem in found.items() if isinstance(problem, str)}
    return JudgePrompts({**stored.judges, **judges}, problems, table.no_prompt)


def _find_prompt(program: ProgramFolder, row: PromptRow) -> InstalledPrompt | str:
    pairs = ((path, pattern) for path in program.paths for pattern in row.files)
    # The whole path is compared, as the folder may lie within the program.
    top = program.root.absolute()
    paths = [
        (path, pattern)
        for path, pattern in pairs
        if PurePosixPath((top / path).as_posix()).match(pattern)
    ]
    if not paths:
        return f"--judges-from has no {' and no '.join(row.files)}"
    texts = (
        prompt for path, pattern in paths for prompt in _read_texts(program.root, path, pattern)
    )
    return select_prompt(texts, row)


def _read_texts(folder: Path, path: str, pattern: str) -> Iterator[InstalledPrompt]:
    """Yield the texts of a file, each with the end of its path: that is the same on every machine."""
    parts = (folder.absolute() / path).parts
    name = "/".join(parts[-len(PurePosixPath(pattern).parts) :])
    try:
        text = read_below(folder, path, SMALL_FILE).decode()
    except (LoadError, UnicodeDecodeError):
        return  # no prompt that could be taken: what is looked for is said to be missing
    literals = _list_literals(text) if path.endswith(".py") else [text]
    yield from (InstalledPrompt(literal, name) for literal in literals)


def _list_literals(code: str) -> list[str]:
    """Return the texts of a Python file that are written out as one literal; none where it is not Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd escapes in a file that is not ours
            tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]


def _list_files(top: Path) -> Iterator[str]:
    """Yield the paths of all files below a folder, in order; links are not followed."""

    def refuse_top(error: OSError) -> None:
        if Path(error.filename) == top:
            raise LoadError(f"cannot be listed: {error.strerror}", place=Place(str(top)))

    seen = 0
    for folder, folders, files in os.walk(top, onerror=refuse_top):
        folders[:] = sorted(set(folders) - _SKIPPED_FOLDERS)
        seen += len(folders) + len(files)
        if seen > _ENTRY_LIMIT:
            hint = "name the folder of the program itself"
            raise RefusedError(
                f"{top} has more than {_ENTRY_LIMIT:,} files to look through", hint=hint
            )
        paths = (Path(folder, name) for name in sorted(files))
        yield from (
            path.relative_to(top).as_posix()
            for path in paths
            if path.is_file() and not path.is_symlink()
        )


def _read_stored_judges(store: Path, table: FormatTable) -> JudgePrompts:
    ids, names = tuple(row.judge for row in table.prompts), list[str]()
    with suppress(EvalstoreError):
        names = (
            [name for name in sorted(list_below(store, "judges")) if name.startswith(ids)]
            if ids
            else []
        )
    values = (read_stored_value(store, f"judges/{name}") for name in names)
    return collect_stored_prompts((value for value in values if value), table)
