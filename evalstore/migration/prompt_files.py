"""Finds a program's prompts below a folder that the user names; reads files as data, and never runs or imports any."""

from __future__ import annotations

import ast
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Self

from evalstore.documents import read_yaml
from evalstore.errors import EvalstoreError, LoadError, Place, RefusedError
from evalstore.files import list_below, read_below
from evalstore.migration.extraction import JudgePrompts
from evalstore.migration.judge_prompts import InstalledPrompt, collect_stored_prompts, draft_own_judge, select_prompt
from evalstore.migration.table import FormatTable, PromptRow
from evalstore.store.artifacts import ARTIFACT_LIMIT

_FILE_LIMIT = 1 << 20
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

    They come from the program; what it does not have comes from the judges of the store that took such words before.
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
    paths = [(path, pattern) for path, pattern in pairs if _matches(program.root, path, pattern)]
    if not paths:
        return f"--judges-from has no {' and no '.join(row.files)}"
    texts = (prompt for path, pattern in paths for prompt in _read_texts(program.root, path, pattern))
    return select_prompt(texts, row)


def _matches(folder: Path, path: str, pattern: str) -> bool:
    # The whole path is compared, as the folder may lie within the program.
    return PurePosixPath((folder.absolute() / path).as_posix()).match(pattern)


def _read_texts(folder: Path, path: str, pattern: str) -> Iterator[InstalledPrompt]:
    """Yield the texts of a file, each with the end of its path: that is the same on every machine."""
    parts = (folder.absolute() / path).parts
    name = "/".join(parts[-len(PurePosixPath(pattern).parts) :])
    try:
        text = read_below(folder, path, _FILE_LIMIT).decode()
    except (LoadError, UnicodeDecodeError):
        return  # no prompt that could be taken: what is looked for is said to be missing
    literals = _list_literals(text) if path.endswith(".py") else [text]
    yield from (InstalledPrompt(literal, name) for literal in literals)


def _list_literals(code: str) -> list[str]:
    """Return the texts of a Python file that are written out as one literal; none where it is no Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd escapes in a file that is not ours
            tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def _list_files(folder: Path) -> Iterator[str]:
    """Yield the paths of all files below a folder, in order; links are not followed."""
    waiting, seen = [""], 0
    while waiting:
        below = waiting.pop()
        try:
            with os.scandir(folder / below) as entries:
                children = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            if not below:
                raise LoadError(f"cannot be listed: {error.strerror}", place=Place(str(folder))) from None
            continue
        seen += len(children)
        if seen > _ENTRY_LIMIT:
            hint = "name the folder of the program itself"
            raise RefusedError(f"{folder} has more than {_ENTRY_LIMIT:,} files to look through", hint=hint)
        for entry in children:
            path = f"{below}/{entry.name}" if below else entry.name
            if entry.is_dir(follow_symlinks=False) and entry.name not in _SKIPPED_FOLDERS:
                waiting.append(path)
            elif entry.is_file(follow_symlinks=False):
                yield path


def _read_stored_judges(store: Path, table: FormatTable) -> JudgePrompts:
    ids = tuple(row.judge for row in table.prompts)
    names = [name for name in _list_judges(store) if name.startswith(ids)] if ids else []
    values = (_read_mapping(store, f"judges/{name}") for name in names)
    return collect_stored_prompts((value for value in values if value), table)


def _list_judges(store: Path) -> list[str]:
    try:
        return sorted(list_below(store, "judges"))
    except EvalstoreError:
        return []


def _read_mapping(store: Path, path: str) -> dict[str, object]:
    try:
        value = read_yaml(read_below(store, path, ARTIFACT_LIMIT), path).value
    except LoadError:
        return {}  # planning the judge meets the same file, and says what is wrong with it
    return value if isinstance(value, dict) else {}
