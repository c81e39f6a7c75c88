"""`export`: writes datasets, their rubrics and stored runs back as legacy files, equal as data to what was migrated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalstore.documents import Document
from evalstore.errors import EvalstoreError, RefError, RefusedError
from evalstore.files import read_below, write_below
from evalstore.migration.extraction import LegacySource, find_companion_files
from evalstore.migration.kept import export_runs
from evalstore.migration.opened import parse_whole, render_legacy
from evalstore.migration.outcome import ExportedFile, ExportResult
from evalstore.migration.readers import are_files_runs, keeps_remainder, restore_companions, restore_source, run_reader
from evalstore.migration.retold import check_unchanged
from evalstore.migration.shelf import ArtifactSource
from evalstore.migration.table import FormatTable, load_tables
from evalstore.model import Kind, Ref, parse_ref

_MAPPED_KEYS = frozenset({"id", "version", "input", "rubric_ref", "metadata", "questions", "rows", "defaults"})
_LIMIT = 64 << 20
_ONLY = "only what came from this format can be given back in it"


def export(
    refs: str | Iterable[str] = (),
    *,
    to: str,
    store: Path | str = ".",
    out: Path | str | None = None,
) -> ExportResult:
    """Return datasets as files of the format `to`: the named ones, else all on disk that came from it.

    For formats whose files are runs, return the stored runs. With `out`, write the files below that folder under their
    original names; a file that differs is never overwritten. Raises `RefusedError` for a rubric that the format cannot
    express.
    """
    table = load_tables(to)[0]
    with ArtifactSource.open(Path(store)) as shelf:
        names = [refs] if isinstance(refs, str) else refs
        files = export_runs(names, table, shelf) if are_files_runs(table) else _export_datasets(names, table, shelf)
    _refuse_twins(files)
    if out is not None:
        _write_files(Path(out), files)
    return ExportResult(to, files, None if out is None else str(out))


def _export_datasets(names: Iterable[str], table: FormatTable, shelf: ArtifactSource) -> tuple[ExportedFile, ...]:
    refs = [_main_ref(text, table) for text in names] or shelf.list_refs_of_format(table.format)
    if not refs:
        raise RefError(
            f"no dataset here came from {table.format}", hint="name the datasets: evalstore export --to … dataset/x"
        )
    exports = [_export_valid(ref, table, shelf) for ref in refs]
    mains = [main for main, *_ in exports]
    companions = {
        (file.file, file.text): file for _, *others in exports for file in others
    }  # one file, for all that name it
    return (
        *mains,
        *(file for key, file in companions.items() if key not in {(main.file, main.text) for main in mains}),
    )


def _main_ref(text: str, table: FormatTable) -> Ref:
    ref = parse_ref(text)
    if ref.kind is not Kind.DATASET and not keeps_remainder(table):
        raise RefError(f"{text} is a {ref.kind}; an export begins with a dataset", hint="its rubrics come with it")
    return ref


# Exceptions that artifacts cause which were edited by hand against the schema: a list in the place of a text, a missing
# key, an invalid pointer, a file from which the reader extracts nothing.
_MALFORMED = (AttributeError, LookupError, TypeError, ValueError, StopIteration, RuntimeError)


def _export_valid(ref: Ref, table: FormatTable, shelf: ArtifactSource) -> list[ExportedFile]:
    try:
        files = _export_ref(ref, table, shelf)
    except _MALFORMED:
        files = []
    if not files or not all(isinstance(file.file, str) and "\0" not in file.file for file in files):
        hint = "`evalstore validate` shows what is wrong; x_source and x_unmapped must be as migrate wrote them"
        raise RefusedError(f"{ref.name} or a rubric of it is not as the schema says", hint=hint)
    return files


def _export_ref(ref: Ref, table: FormatTable, shelf: ArtifactSource) -> list[ExportedFile]:
    if keeps_remainder(table):
        return _export_remainder(ref, table, shelf)
    dataset, questions = shelf.load_dataset(ref)
    source = dataset.value.get("x_source", {})
    if source.get("format", table.format) != table.format:
        raise RefusedError(f"{ref} came from {source['format']}, not from {table.format}")
    refs = {question.rubric_ref for question in questions if question.rubric_ref}
    rubrics = {text: shelf.load_artifact(parse_ref(text)).value for text in refs}
    main = dataset.value | {"questions": [question.row for question in questions]}
    text = render_legacy(restore_source(main, rubrics, table), ".json")
    left_out = [f"{ref.name}: {key}" for key in _list_lost_keys(dataset.value)]
    left_out += [f"{ref.name} {question.id}: {key}" for question in questions for key in _list_lost_keys(question.row)]
    ungraded = [question.id for question in questions if not question.rubric_ref]
    left_out += [f"{ref.name} {id_}: it has no rubric; there, any answer that is not empty passes" for id_ in ungraded]
    file = source.get("file") or f"{dataset.id}/{table.named_by_folder or dataset.id}"
    return [ExportedFile(file, f"{ref.name}@{dataset.version}", text, tuple(left_out))]


def _export_remainder(ref: Ref, table: FormatTable, shelf: ArtifactSource) -> list[ExportedFile]:
    """Restore a source and its companion files from the remainder, and check that they still mean what the store says."""
    main, questions = shelf.load_dataset(ref) if ref.kind is Kind.DATASET else (shelf.load_artifact(ref), [])
    source = main.value.get("x_source", {})
    if source.get("format") != table.format or "kept" not in source:
        raise RefusedError(f"{ref} did not come from {table.format}", hint=_ONLY)
    if new_ids := [question.id for question in questions if "x_source" not in question.row]:
        raise RefusedError(f"{new_ids[0]}: it was added since {ref.name} was migrated", hint=_ONLY)
    whole = main.value | ({"questions": [question.row for question in questions]} if questions else {})
    text = render_legacy(restore_source(whole, {}, table), source["file"])
    document = parse_whole(text.encode(), source["file"])
    companions = {path: Document(path, "", value, {}, {}) for path, value in restore_companions(whole, table).items()}
    legacy = LegacySource(document, source["file"], source["sha256"], companions.get, source["dialect"])
    extraction = run_reader(legacy, table)
    check_unchanged(extraction, main, questions, shelf.load_artifact)
    broken = [item for item in main.value.get("x_unmapped", ()) if "line" in item]
    left_out = tuple(f"{ref.name}: line {item['line']} of the source, {item['reason']}" for item in broken)
    name = f"{ref.name}@{main.version}"
    others = find_companion_files(extraction, companions, source["file"]).items()
    texts = (ExportedFile(file, name, render_legacy(companions[path].value, file)) for file, path in others)
    return [ExportedFile(source["file"], name, text, left_out), *texts]


def _list_lost_keys(row: Mapping[str, Any]) -> list[str]:
    return [key for key in row if key not in _MAPPED_KEYS and not key.startswith("x_")]


def _refuse_twins(files: Sequence[ExportedFile]) -> None:
    refs: dict[str, str] = {}
    for file in files:
        if file.file in refs:
            both = f"{refs[file.file]} and {file.ref}"
            raise RefusedError(f"{both} both came from {file.file}", hint="export them one by one")
        refs[file.file] = file.ref


def _write_files(out: Path, files: Sequence[ExportedFile]) -> None:
    different = [file.file for file in files if _is_different(out, file)]
    if different:
        raise RefusedError(f"not overwritten, because they differ: {', '.join(different)}", hint="name another folder")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RefusedError(f"{out} cannot be made: {error.strerror}") from None
    for file in files:
        write_below(out, file.file, file.text.encode())


def _is_different(out: Path, file: ExportedFile) -> bool:
    try:
        (out / file.file).lstat()
        return read_below(out, file.file, _LIMIT) != file.text.encode()
    except FileNotFoundError:
        return False
    except (OSError, EvalstoreError):
        return True
