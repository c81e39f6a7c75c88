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

_LIMIT = 64 << 20


def export_runs(refs: Iterable[str], table: FormatTable, shelf: ArtifactSource) -> tuple[ExportedFile, ...]:
    """Return the files of runs: those that artifacts came from or that are named by their paths, or all there are.

    A run is a record: it is given back as it is, whatever became since of the questions that were taken from it.
    """
    if shelf.root is None:
        raise RefError("a bare repository has no runs", hint="export from a checkout")
    paths = [_path_of(text, table, shelf) for text in refs] or sorted(_below(shelf.root, FOLDER))
    if not paths:
        raise RefError(
            f"no run lies here in {FOLDER}/", hint="`evalstore migrate` and `evalstore score` put them there"
        )
    return tuple(_given(shelf.root, path) for path in dict.fromkeys(paths))


def _path_of(text: str, table: FormatTable, shelf: ArtifactSource) -> str:
    if KEPT.fullmatch(text):
        return text
    ref = parse_ref(text)
    artifact = shelf.load_dataset(ref)[0] if ref.kind is Kind.DATASET else shelf.artifact(ref)
    source = artifact.value.get("x_source", {})
    path = source.get("run")
    if source.get("format") != table.format or not isinstance(path, str) or not KEPT.fullmatch(path):
        hint = "only what came from this format can be given back in it"
        raise RefusedError(f"{ref} did not come from {table.format}", hint=hint)
    return path


def _given(root: Path, path: str) -> ExportedFile:
    file = came_from(path)
    if "\0" in file or ".." in PurePosixPath(file).parts or file.startswith("/"):
        raise RefusedError(f"{path} is no name that a migration gives", hint="rename it, or name what to export")
    try:
        return ExportedFile(file, path, read_below(root, path, _LIMIT).decode())
    except UnicodeDecodeError:
        raise RefusedError(f"{path} is not UTF-8") from None


def _below(root: Path, folder: str) -> Iterator[str]:
    try:
        with os.scandir(root / folder) as entries:
            found = list(entries)
    except FileNotFoundError:
        return
    except OSError as error:
        raise LoadError(f"{folder} cannot be listed: {error.strerror}") from None
    for entry in found:
        path = f"{folder}/{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            yield from _below(root, path)
        elif entry.is_file(follow_symlinks=False) and KEPT.fullmatch(path):
            yield path
