"""Runs that a store keeps as they came, given back byte by byte; opens nothing but files below `runs/`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from evalstore.errors import LoadError, RefError, RefusedError
from evalstore.files import read_below
from evalstore.migration.outcome import ExportedFile
from evalstore.migration.shelf import ArtifactSource
from evalstore.migration.table import FormatTable
from evalstore.model import Kind, parse_ref
from evalstore.runs.kept import FOLDER, KEPT, came_from

_RUN_LIMIT = 64 << 20


def export_runs(refs: Iterable[str], table: FormatTable, shelf: ArtifactSource) -> tuple[ExportedFile, ...]:
    """Return stored runs byte by byte: those named by path or by an artifact that came from them, else all below `runs/`.

    A run is a record: later edits of the questions that came from it do not change it.
    """
    if shelf.root is None:
        raise RefError("a bare repository has no runs", hint="export from a checkout")
    paths = [_find_run_path(text, table, shelf) for text in refs] or sorted(_walk_runs(shelf.root, FOLDER))
    if not paths:
        raise RefError(
            f"no run lies here in {FOLDER}/", hint="`evalstore migrate` and `evalstore score` put them there"
        )
    return tuple(_export_run(shelf.root, path) for path in dict.fromkeys(paths))


def _find_run_path(text: str, table: FormatTable, shelf: ArtifactSource) -> str:
    if KEPT.fullmatch(text):
        return text
    ref = parse_ref(text)
    artifact = shelf.load_dataset(ref)[0] if ref.kind is Kind.DATASET else shelf.load_artifact(ref)
    source = artifact.value.get("x_source", {})
    path = source.get("run")
    if source.get("format") != table.format or not isinstance(path, str) or not KEPT.fullmatch(path):
        hint = "only what came from this format can be given back in it"
        raise RefusedError(f"{ref} did not come from {table.format}", hint=hint)
    return path


def _export_run(root: Path, path: str) -> ExportedFile:
    file = came_from(path)
    if "\0" in file or ".." in PurePosixPath(file).parts or file.startswith("/"):
        raise RefusedError(f"{path} is no name that a migration gives", hint="rename it, or name what to export")
    try:
        return ExportedFile(file, path, read_below(root, path, _RUN_LIMIT).decode())
    except UnicodeDecodeError:
        raise RefusedError(f"{path} is not UTF-8") from None


def _walk_runs(root: Path, folder: str) -> Iterator[str]:
    try:
        with os.scandir(root / folder) as entries:
            children = list(entries)
    except FileNotFoundError:
        return
    except OSError as error:
        raise LoadError(f"{folder} cannot be listed: {error.strerror}") from None
    for entry in children:
        path = f"{folder}/{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            yield from _walk_runs(root, path)
        elif entry.is_file(follow_symlinks=False) and KEPT.fullmatch(path):
            yield path
