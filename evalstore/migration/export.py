"""`export`: datasets and their rubrics back into the files of a legacy format, equal as data to what was migrated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evalstore.documents import Document
from evalstore.errors import EvalstoreError, RefError, RefusedError
from evalstore.files import read_below, write_below
from evalstore.migration.gathered import find_companion_files
from evalstore.migration.kept import export_runs
from evalstore.migration.opened import parse_whole, render_legacy
from evalstore.migration.outcome import ExportedFile, ExportResult
from evalstore.migration.readers import are_runs, give, give_beside, keeps, read
from evalstore.migration.retold import check_unchanged
from evalstore.migration.shelf import ArtifactSource
from evalstore.migration.table import FormatTable, load_tables
from evalstore.migration.taken import LegacySource
from evalstore.model import Kind, Ref, parse_ref

_SAID = frozenset({"id", "version", "input", "rubric_ref", "metadata", "questions", "rows", "defaults"})
_LIMIT = 64 << 20
_ONLY = "only what came from this format can be given back in it"


def export(
    refs: str | Iterable[str] = (),
    *,
    to: str,
    store: Path | str = ".",
    out: Path | str | None = None,
) -> ExportResult:
    """Give datasets back in the format `to`: those named, or all on disk that came from it; of runs, the runs.

    With `out` the files are written below that folder under the names they came with; one that differs is never
    overwritten. Raises `RefusedError` for a rubric that the format has no words for.
    """
    table = load_tables(to)[0]
    with ArtifactSource.open(Path(store)) as shelf:
        named = [refs] if isinstance(refs, str) else refs
        files = export_runs(named, table, shelf) if are_runs(table) else _told(named, table, shelf)
    _refuse_twins(files)
    if out is not None:
        _write(Path(out), files)
    return ExportResult(to, files, None if out is None else str(out))


def _told(named: Iterable[str], table: FormatTable, shelf: ArtifactSource) -> tuple[ExportedFile, ...]:
    asked = [_main_ref(text, table) for text in named] or shelf.list_refs_of_format(table.format)
    if not asked:
        raise RefError(
            f"no dataset here came from {table.format}", hint="name the datasets: evalstore export --to … dataset/x"
        )
    given = [_checked(ref, table, shelf) for ref in asked]
    mains = [main for main, *_ in given]
    beside = {(one.file, one.text): one for _, *others in given for one in others}  # one file, for all that name it
    return (*mains, *(one for key, one in beside.items() if key not in {(main.file, main.text) for main in mains}))


def _main_ref(text: str, table: FormatTable) -> Ref:
    ref = parse_ref(text)
    if ref.kind is not Kind.DATASET and not keeps(table):
        raise RefError(f"{text} is a {ref.kind}; an export begins with a dataset", hint="its rubrics come with it")
    return ref


# What values end in that were written by hand, against the schema or in its extensions: a list for a text, a key that
# is missing, a pointer that is none, a file that its reader takes nothing from.
_ODD = (AttributeError, LookupError, TypeError, ValueError, StopIteration, RuntimeError)


def _checked(ref: Ref, table: FormatTable, shelf: ArtifactSource) -> list[ExportedFile]:
    try:
        given = _given(ref, table, shelf)
    except _ODD:
        given = []
    if not given or not all(isinstance(one.file, str) and "\0" not in one.file for one in given):
        hint = "`evalstore validate` shows what is wrong; x_source and x_unmapped must be as migrate wrote them"
        raise RefusedError(f"{ref.name} or a rubric of it is not as the schema says", hint=hint)
    return given


def _given(ref: Ref, table: FormatTable, shelf: ArtifactSource) -> list[ExportedFile]:
    if keeps(table):
        return _kept(ref, table, shelf)
    dataset, questions = shelf.load_dataset(ref)
    source = dataset.value.get("x_source", {})
    if source.get("format", table.format) != table.format:
        raise RefusedError(f"{ref} came from {source['format']}, not from {table.format}")
    refs = {question.rubric_ref for question in questions if question.rubric_ref}
    rubrics = {text: shelf.artifact(parse_ref(text)).value for text in refs}
    told = dataset.value | {"questions": [question.row for question in questions]}
    text = render_legacy(give(told, rubrics, table), ".json")
    left_out = [f"{ref.name}: {key}" for key in _unsaid(dataset.value)]
    left_out += [f"{ref.name} {question.id}: {key}" for question in questions for key in _unsaid(question.row)]
    unruled = [question.id for question in questions if not question.rubric_ref]
    left_out += [f"{ref.name} {id_}: it has no rubric; there, any answer that is not empty passes" for id_ in unruled]
    file = source.get("file") or f"{dataset.id}/{table.named_by_folder or dataset.id}"
    return [ExportedFile(file, f"{ref.name}@{dataset.version}", text, tuple(left_out))]


def _kept(ref: Ref, table: FormatTable, shelf: ArtifactSource) -> list[ExportedFile]:
    """Give back what was kept, and the files that hold cases of it, if reading them still gives what the store says."""
    main, questions = shelf.load_dataset(ref) if ref.kind is Kind.DATASET else (shelf.artifact(ref), [])
    source = main.value.get("x_source", {})
    if source.get("format") != table.format or "kept" not in source:
        raise RefusedError(f"{ref} did not come from {table.format}", hint=_ONLY)
    if added := [question.id for question in questions if "x_source" not in question.row]:
        raise RefusedError(f"{added[0]}: it was added since {ref.name} was migrated", hint=_ONLY)
    told = main.value | ({"questions": [question.row for question in questions]} if questions else {})
    text = render_legacy(give(told, {}, table), source["file"])
    document = parse_whole(text.encode(), source["file"])
    beside = {path: Document(path, "", value, {}, {}) for path, value in give_beside(told, table).items()}
    legacy = LegacySource(document, source["file"], source["sha256"], beside.get, source["dialect"])
    taken = read(legacy, table)
    check_unchanged(taken, main, questions, shelf.artifact)
    unread = [item for item in main.value.get("x_unmapped", ()) if "line" in item]
    left_out = tuple(f"{ref.name}: line {item['line']} of the source, {item['reason']}" for item in unread)
    name = f"{ref.name}@{main.version}"
    others = find_companion_files(taken, beside, source["file"]).items()
    texts = (ExportedFile(file, name, render_legacy(beside[path].value, file)) for file, path in others)
    return [ExportedFile(source["file"], name, text, left_out), *texts]


def _unsaid(row: Mapping[str, Any]) -> list[str]:
    return [key for key in row if key not in _SAID and not key.startswith("x_")]


def _refuse_twins(files: Sequence[ExportedFile]) -> None:
    seen: dict[str, str] = {}
    for file in files:
        if file.file in seen:
            both = f"{seen[file.file]} and {file.ref}"
            raise RefusedError(f"{both} both came from {file.file}", hint="export them one by one")
        seen[file.file] = file.ref


def _write(out: Path, files: Sequence[ExportedFile]) -> None:
    different = [file.file for file in files if _differs(out, file)]
    if different:
        raise RefusedError(f"not overwritten, because they differ: {', '.join(different)}", hint="name another folder")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RefusedError(f"{out} cannot be made: {error.strerror}") from None
    for file in files:
        write_below(out, file.file, file.text.encode())


def _differs(out: Path, file: ExportedFile) -> bool:
    try:
        (out / file.file).lstat()
        return read_below(out, file.file, _LIMIT) != file.text.encode()
    except FileNotFoundError:
        return False
    except (OSError, EvalstoreError):
        return True
