"""Finds a legacy program's prompts in the folder where it is installed, or in a store's judges."""

from __future__ import annotations

import ast
import os
import shlex
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, Self

from evalstore.checks.template import find_tags
from evalstore.documents import read_yaml
from evalstore.errors import EvalstoreError, LoadError, Place, RefusedError
from evalstore.files import SMALL_FILE, list_below, read_below
from evalstore.lint.notes import list_names
from evalstore.lint.shapes import is_valid_by_schema
from evalstore.migration.extraction import VERSION, ArtifactDraft, JudgePrompts
from evalstore.migration.javascript.messages import list_messages, list_texts
from evalstore.migration.merging.stored_artifacts import read_stored_value
from evalstore.migration.prompts.judge_prompts import (
    InstalledPrompt,
    collect_stored_prompts,
    draft_given_judge,
    draft_own_judge,
    find_prompt_origin,
    select_prompt,
)
from evalstore.migration.prompts.prompt_frame import PromptFrame, read_frame, restore_frame
from evalstore.migration.table import FormatTable, PromptRow
from evalstore.model import Kind
from evalstore.model.judge import BUILTIN_VARIABLES

_ENTRY_LIMIT = 100_000
_IDENTITY = {"id": "judge", "version": VERSION}  # which a file in the folder need not say
_SCRIPTS = (".js", ".cjs", ".mjs", ".ts")
_SKIPPED_FOLDERS = frozenset({".git", "__pycache__"})


@dataclass(frozen=True, slots=True)
class ProgramFolder:
    """The folder of a legacy program, and the paths of the files below it."""

    root: Path
    paths: tuple[str, ...]

    @classmethod
    def open(cls, root: Path) -> Self:
        """List the folder.

        Raises `LoadError` if that fails, and `RefusedError` for too many files.
        """
        return cls(root, tuple(_list_files(root)))

    def find(self, patterns: Sequence[str]) -> dict[str, str]:
        """Return the files whose path ends in one of the patterns, each with that pattern."""
        # The whole path is compared, because the folder may be inside the program.
        top = self.root.absolute()
        wholes = [(path, PurePosixPath((top / path).as_posix())) for path in self.paths]
        return {path: one for path, whole in wholes for one in patterns if whole.match(one)}


def find_prompts(program: ProgramFolder | None, store: Path, table: FormatTable) -> JudgePrompts:
    """Return the judges of a format that ask in the program's own words, or the user's.

    The user's are those of a judge that the user supplies. They come from the folder; what it lacks
    comes from the judges of the store that took such words before.
    """
    stored = _read_stored_judges(store, table)
    frame, problem = _find_frame(program, store, table)
    if program is None:
        return replace(stored, frame=frame)
    judges: dict[str, ArtifactDraft] = {}
    problems: dict[str, str] = {}
    for row in table.prompts:
        prompt = _find_prompt(program, row)
        if isinstance(prompt, InstalledPrompt):
            judges[row.judge] = draft_own_judge(prompt, row, table)
        else:
            problems[row.judge] = prompt
    for judge in table.judges:
        id_, given = judge["id"], _read_given_judge(program, judge)
        if isinstance(given, ArtifactDraft):
            judges[id_] = given
        elif given is not None:
            problems[id_] = given
        elif id_ not in problems:
            problems[id_] = f"{table.no_prompt}, and --judges-from has no {id_}.yaml"
    return JudgePrompts({**stored.judges, **judges}, problems, problem or table.no_prompt, frame)


def _find_frame(
    program: ProgramFolder | None, store: Path, table: FormatTable
) -> tuple[PromptFrame | None, str]:
    """Return the frame of a format's prompt, from the folder or the store.

    If there is none, the second value is a clause on why not.
    """
    row = table.frame
    if row is None:
        return None, ""
    stored = (restore_frame(source, row) for source in _list_stored_origins(store, table))
    kept = next(filter(None, stored), None)
    if program is None:
        return kept, ""
    codes = [code for path in program.find((row.file,)) if (code := _read_text(program, path))]
    frame = next(filter(None, (read_frame(code, row) for code in codes)), kept)
    if frame:
        return frame, ""
    if codes:
        return None, f"{row.file} in --judges-from is of no release that is known"
    return None, f"--judges-from has no {row.file}"


def _read_text(program: ProgramFolder, path: str) -> str:
    try:
        return read_below(program.root, path, SMALL_FILE).decode()
    except (LoadError, UnicodeDecodeError):
        return ""


def _list_stored_origins(store: Path, table: FormatTable) -> Iterator[Any]:
    """Yield where the store's judges of a format say that their words come from."""
    names: list[str] = []
    with suppress(EvalstoreError):
        names = sorted(list_below(store, "judges"))
    for name in names:
        yield find_prompt_origin(read_stored_value(store, f"judges/{name}") or {}, table)


def _read_given_judge(
    program: ProgramFolder, ours: Mapping[str, Any]
) -> ArtifactDraft | str | None:
    """Return the folder's judge for one in a table, or why it cannot be used.

    Returns None if there is none.
    """
    name = f"{ours['id']}.yaml"
    path = next((path for path in program.paths if PurePosixPath(path).name == name), None)
    if path is None:
        return None
    try:
        value = read_yaml(read_below(program.root, path, SMALL_FILE), path).value
    except LoadError as error:
        return f"{name} cannot be read: {error.message}"
    whole = {**_IDENTITY, **value} if isinstance(value, dict) else value
    if not is_valid_by_schema(str(Kind.JUDGE), whole):
        command = shlex.join(["evalstore", "validate", "--as", "judge", str(program.root / path)])
        return f"{name} is not a judge: `{command}` says why"
    names = {tag.name for tag in find_tags(value["template"])}
    unknown = names - {*BUILTIN_VARIABLES, *ours.get("variables", ())}
    if unknown:
        return f"{name} reads {list_names(sorted(unknown))}, which nothing fills"
    variables = [one for one in ours.get("variables", ()) if one in names]
    if len(variables) < len(ours.get("variables", ())):
        return f"{name} does not read {list_names(ours['variables'])}"
    whole |= {"variables": variables} if variables else {}
    return draft_given_judge(whole, name, ours)


def _find_prompt(program: ProgramFolder, row: PromptRow) -> InstalledPrompt | str:
    paths = program.find(row.files)
    if not paths:
        return f"--judges-from has no {' and no '.join(row.files)}"
    texts = [
        text for path, pattern in paths.items() for text in _read_texts(program.root, path, pattern)
    ]
    prompt = select_prompt(texts, row)
    if row.first is None or isinstance(prompt, str):
        return prompt
    first = select_prompt(texts, row.first)
    return first if isinstance(first, str) else replace(prompt, first=first)


def _read_texts(folder: Path, path: str, pattern: str) -> Iterator[InstalledPrompt]:
    """Yield the texts of a file, each with the end of its path.

    That end is the same on every machine.
    """
    parts = (folder.absolute() / path).parts
    name = "/".join(parts[-len(PurePosixPath(pattern).parts) :])
    try:
        text = read_below(folder, path, SMALL_FILE).decode()
    except (LoadError, UnicodeDecodeError):
        return  # not a usable prompt: what is looked for is reported as missing
    if path.endswith(_SCRIPTS):
        for messages in list_messages(text):
            roles, words = zip(*messages, strict=True)
            if roles in {("system", "user"), ("system",), ("user",)}:
                yield InstalledPrompt(words[-1], name, "".join(words[:-1]), roles[-1])
        yield from (InstalledPrompt(words, name) for words in list_texts(text))
        return
    literals = _list_literals(text) if path.endswith(".py") else [text]
    yield from (InstalledPrompt(literal, name) for literal in literals)


def _list_literals(code: str) -> list[str]:
    """Return the texts in a Python file that are written as one literal.

    There are none if it is not Python.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about odd escapes in a file that is not ours
            tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    values = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    return [value for value in values if isinstance(value, str)]


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
        for name in sorted(files):
            path = Path(folder, name)
            if path.is_file() and not path.is_symlink():
                yield path.relative_to(top).as_posix()


def _read_stored_judges(store: Path, table: FormatTable) -> JudgePrompts:
    ids, names = tuple(judge["id"] for judge in table.judges), list[str]()
    with suppress(EvalstoreError):
        names = (
            [name for name in sorted(list_below(store, "judges")) if name.startswith(ids)]
            if ids
            else []
        )
    values = (read_stored_value(store, f"judges/{name}") for name in names)
    return collect_stored_prompts((value for value in values if value), table)
