"""`export`: writes datasets, rubrics and runs back as legacy files, equal as data to the source."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any

from evalstore.arguments import list_items, require_arguments
from evalstore.documents import Document
from evalstore.errors import EvalstoreError, RefError, RefusedError
from evalstore.files import (
    LARGE_FILE,
    make_folder,
    read_below,
    refuse_links_below,
    sweep_below,
    write_below,
)
from evalstore.lint.references import is_behind
from evalstore.migration.exporting.artifact_source import ArtifactSource
from evalstore.migration.exporting.export_result import (
    EditedRubricError,
    ExportedFile,
    ExportResult,
    UnexportedFile,
)
from evalstore.migration.exporting.round_trip import LoadArtifact, check_unchanged
from evalstore.migration.extraction import LegacySource, find_companion_files
from evalstore.migration.folded_values import has_references
from evalstore.migration.javascript.globs import has_pattern, list_matches
from evalstore.migration.legacy_files import parse_whole, render_legacy
from evalstore.migration.merging.stored_artifacts import list_runs
from evalstore.migration.outcome import PinBehind
from evalstore.migration.prompts.judge_prompts import collect_stored_prompts
from evalstore.migration.readers import has_remainder, has_run_files, restore_files, run_reader
from evalstore.migration.row_origins import fill_rows
from evalstore.migration.table import FormatTable, load_tables
from evalstore.model import Artifact, Kind, PinType, Ref, parse_ref
from evalstore.model.artifact import read_origin
from evalstore.model.question_params import list_value_keys
from evalstore.runs.run_names import (
    RUNS_FOLDER,
    STORED_PATH,
    decode_path,
    find_stored_path,
    is_run_path,
    strip_run_ending,
)

_MAPPED_KEYS = frozenset(
    {"id", "version", "input", "rubric_ref", "metadata", "questions", "rows", "defaults"}
)
_UNGRADED = "it has no rubric; there, any answer that is not empty passes"
_ORIGIN_HINT = "only what came from this format can be given back in it"
# Exceptions caused by artifacts that were edited by hand against the schema: a list in the place of
# a text, a missing key, an invalid pointer, a file from which the reader extracts nothing.
_MALFORMED = (AttributeError, LookupError, TypeError, ValueError, StopIteration, RuntimeError)


def export(
    refs: str | Iterable[str] = (),
    *,
    to: str,
    store: Path | str = ".",
    out: Path | str | None = None,
) -> ExportResult:
    """Export datasets with their rubrics to the legacy format they came from, equal as data.

    Args:
        refs: References to datasets, or paths of runs; by default all on disk that came from the
            format.
        to: The format.
        store: The folder of the store.
        out: The folder to write to, under the original names; a file that differs is never
            overwritten. None writes nothing.

    Returns:
        The files, each with `.file`, `.ref` and `.text`; `.refused` has those that cannot be
        exported because the format cannot express an edited rubric, each with its `.reason`.

    Raises:
        RefError: No dataset here came from the format, or there is no such artifact.
        RefusedError: A file in `out` differs.

    Examples:
        >>> try:
        ...     export(to="ai_best_practices", store=".")
        ... except evalstore.EvalstoreError as error:
        ...     print(error)
        no dataset here came from ai_best_practices
    """
    refs = list_items(refs)
    require_arguments(export, locals())
    table = load_tables(to)[0]
    with ExitStack() as stack:
        artifacts = ArtifactSource.open(Path(store), stack)
        names = [refs] if isinstance(refs, str) else refs
        files, refused = (
            (_export_runs(names, table, artifacts), ())
            if has_run_files(table)
            else _export_datasets(names, table, artifacts)
        )
    _refuse_twins(files)
    if out is not None and files:
        refuse_links_below(Path(store), Path(out))
        _write_files(Path(out), files)
    return ExportResult(to, files, None if out is None else str(Path(out)), refused)


def _export_datasets(
    names: Iterable[str], table: FormatTable, artifacts: ArtifactSource
) -> tuple[tuple[ExportedFile, ...], tuple[UnexportedFile, ...]]:
    """Return the files of all datasets that can be exported, and the others.

    Raises whatever keeps a dataset itself from being read.
    """
    refs = [_parse_main_ref(text, table) for text in names] or artifacts.list_refs_of_format(
        table.format
    )
    if not refs:
        raise RefError(
            f"no dataset here came from {table.format}",
            hint="name the datasets: evalstore export --to … dataset/x",
        )
    exports, refused = list[list[ExportedFile]](), list[UnexportedFile]()
    for ref in refs:
        try:
            exports.append(_export_valid(ref, table, artifacts))
        except EvalstoreError as error:
            refused.append(_describe_refusal(artifacts.load_main(ref), error))
    mains = [main for main, *_ in exports]
    # Several suites may name the same companion file: it is exported once.
    main_keys = {(main.file, main.text) for main in mains}
    companions = {(file.file, file.text): file for _, *others in exports for file in others}
    return (*mains, *(file for key, file in companions.items() if key not in main_keys)), tuple(
        refused
    )


def _describe_refusal(main: Artifact, error: EvalstoreError) -> UnexportedFile:
    source = main.value.get("x_source")
    file = str(source.get("file", "")) if isinstance(source, dict) else ""
    rubric = error.rubric if isinstance(error, EditedRubricError) else None
    return UnexportedFile(file, main.versioned, rubric, error.message, error.hint or "")


def _parse_main_ref(text: str, table: FormatTable) -> Ref:
    ref = parse_ref(text)
    if ref.kind is not Kind.DATASET and not has_remainder(table):
        raise RefError(
            f"{text} is a {ref.kind}; an export begins with a dataset",
            hint="its rubrics come with it",
        )
    return ref


def _export_valid(ref: Ref, table: FormatTable, artifacts: ArtifactSource) -> list[ExportedFile]:
    try:
        files = _export_ref(ref, table, artifacts)
    except _MALFORMED:
        files = []
    if not files or not all(isinstance(file.file, str) and "\0" not in file.file for file in files):
        hint = (
            "`evalstore validate` shows what is wrong; x_source and x_unmapped must be as migrate "
            "wrote them"
        )
        raise RefusedError(f"{ref.name} or a rubric of it is not as the schema says", hint=hint)
    return [replace(files[0], behind=tuple(_list_pins_behind(ref, artifacts))), *files[1:]]


def _list_pins_behind(ref: Ref, artifacts: ArtifactSource) -> Iterator[PinBehind]:
    """Yield a dataset's pins to rubrics that have moved on since: it is exported as it was."""
    main, questions = artifacts.load_dataset(ref) if ref.kind is Kind.DATASET else (None, [])
    for text in dict.fromkeys(question.rubric_ref for question in questions if question.rubric_ref):
        with suppress(EvalstoreError):
            pin = parse_ref(text)
            rubric = artifacts.load_artifact(pin.with_pin("worktree"))
            if (
                main
                and is_behind(pin, rubric)
                and read_origin(rubric.value) == read_origin(main.value)
            ):
                yield PinBehind(main.versioned, text, str(rubric.version))


def _export_ref(ref: Ref, table: FormatTable, artifacts: ArtifactSource) -> list[ExportedFile]:
    if has_remainder(table):
        return _export_remainder(ref, table, artifacts)
    dataset, questions = artifacts.load_dataset(ref)
    source = dataset.value.get("x_source", {})
    if source.get("format", table.format) != table.format:
        raise RefusedError(f"{ref} came from {source['format']}, not from {table.format}")
    refs = {question.rubric_ref for question in questions if question.rubric_ref}
    rubrics = {text: artifacts.load_artifact(parse_ref(text)).value for text in refs}
    main = dataset.value | {"questions": [question.row for question in questions]}
    text = render_legacy(restore_files(main, rubrics, table)[""], ".json")
    # Keys that the dataset has gained since, and that the format has no place for, are named in the
    # result.
    left_out = [f"{ref.name}: {key}" for key in _list_lost_keys(dataset.value)]
    # What a rubric takes from a question was exported as its check.
    taken = list_value_keys(rubrics.values())
    for question in questions:
        lost = [key for key in _list_lost_keys(question.row) if key not in taken]
        left_out += [f"{ref.name} {question.id}: {key}" for key in lost]
    ungraded = [question.id for question in questions if not question.rubric_ref]
    left_out += [f"{ref.name} {id_}: {_UNGRADED}" for id_ in ungraded]
    file = source.get("file") or f"{dataset.id}/{table.named_by_folder or dataset.id}"
    return [ExportedFile(file, f"{ref.name}@{dataset.version}", text, tuple(left_out))]


def _export_remainder(
    ref: Ref, table: FormatTable, artifacts: ArtifactSource
) -> list[ExportedFile]:
    """Restore a source from what its artifacts pin.

    Files that a migration has edited since are restored from themselves.
    """
    try:
        return _restore_source(ref, table, artifacts, artifacts.load_artifact)
    except RefusedError:
        if ref.type is not PinType.WORKTREE:
            raise
        with suppress(EvalstoreError):
            return _restore_source(ref, table, artifacts, artifacts.load_unreleased)
        raise


def _restore_source(
    ref: Ref, table: FormatTable, artifacts: ArtifactSource, load: LoadArtifact
) -> list[ExportedFile]:
    """Restore a source and its companions from the remainder.

    They must mean what the store says.
    """
    main, questions = (
        artifacts.load_dataset(ref)
        if ref.kind is Kind.DATASET
        else (artifacts.load_artifact(ref), [])
    )
    source = main.value.get("x_source", {})
    if source.get("format") != table.format or "kept" not in source:
        raise RefusedError(f"{ref} did not come from {table.format}", hint=_ORIGIN_HINT)
    if new_ids := [question.id for question in questions if "x_source" not in question.row]:
        raise RefusedError(
            f"{new_ids[0]}: it was added since {ref.name} was migrated", hint=_ORIGIN_HINT
        )
    whole = fill_rows(
        main.value | ({"questions": [question.row for question in questions]} if questions else {})
    )
    # A rubric from another source need not be here.
    rows = whole.get("questions", ())
    # A case is restored from its rubric, too, whose values may be in its question.
    asks = bool("share" in source or table.prompts or table.judges)
    graded = [row for row in rows if row.get("rubric_ref")]
    refs = dict.fromkeys(row["rubric_ref"] for row in graded if _needs_rubric(row, asks=asks))
    rubrics = {ref: load(parse_ref(ref)).value for ref in refs}
    restored = restore_files(whole, rubrics, table)
    text = render_legacy(restored.pop(""), source["file"])
    # The rendered text is parsed and extracted again: what matters is what a migration of it would
    # give.
    document = parse_whole(text.encode(), source["file"])
    companions = {path: Document(path, "", value, {}, {}) for path, value in restored.items()}
    pins = dict.fromkeys(_list_judge_pins(rubrics.values(), load))
    prompts = collect_stored_prompts((load(parse_ref(pin)).value for pin in pins), table)
    legacy = LegacySource(
        document,
        source["file"],
        "",
        companions.get,
        source["dialect"],
        prompts=prompts,
        list_companions=partial(_list_matching, companions),
    )
    extraction = run_reader(legacy, table)
    check_unchanged(extraction, main, questions, load)
    broken = [item for item in main.value.get("x_unmapped", ()) if "line" in item]
    left_out = tuple(
        f"{ref.name}: line {item['line']} of the source, {item['reason']}" for item in broken
    )
    name = f"{ref.name}@{main.version}"
    others = find_companion_files(extraction, companions, source["file"]).items()
    values = {file: companions[path].value for file, path in others}
    texts = [ExportedFile(file, name, render_legacy(values[file], file)) for file in values]
    return [ExportedFile(source["file"], name, text, left_out), *texts]


def _list_judge_pins(rubrics: Iterable[Mapping[str, Any]], load: LoadArtifact) -> Iterator[str]:
    """Yield the judges that rubrics ask, also those of the rubrics that are checks of theirs.

    Composites are one level deep.
    """
    for check in chain.from_iterable(rubric.get("checks", ()) for rubric in rubrics):
        inner = load(parse_ref(check["rubric_ref"])).value if "rubric_ref" in check else {}
        asked = (check, *inner.get("checks", ()))
        yield from (one["judge_prompt_ref"] for one in asked if "judge_prompt_ref" in one)


def _needs_rubric(row: Mapping[str, Any], *, asks: bool) -> bool:
    """Whether a case is restored from its rubric, too.

    `asks`: its source has judges or shared values.
    """
    source = row["x_source"]
    return has_references(source) or (asks and "pin" not in source)


def _list_matching(paths: Iterable[str], pattern: str) -> list[str]:
    """Return those of a source's companion files that a pattern names, in its order.

    Any other path is returned itself.
    """
    if not has_pattern(pattern):
        return [pattern]
    names = {_normalize_path(path): path for path in paths}
    folders: dict[str, dict[str, bool]] = {}
    for name in names:
        parts = name.split("/")
        for depth, part in enumerate(parts, 1):
            folders.setdefault("/".join(parts[: depth - 1]), {})[part] = depth < len(parts)
    found = list_matches(
        _normalize_path(pattern), lambda folder: list(folders.get(folder, {}).items())
    )
    return [names[name] for name in found]


def _normalize_path(path: str) -> str:
    return PurePosixPath(os.path.normpath(path.removeprefix("file://"))).as_posix()


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
    make_folder(out)
    # All files are compared before the first is written: an export is all or nothing as well.
    different = [file.file for file in files if _is_different(out, file)]
    if different:
        raise RefusedError(
            f"not overwritten, because they differ: {', '.join(different)}",
            hint="name another folder",
        )
    sweep_below(out, *(file.file for file in files))
    for file in files:
        write_below(out, file.file, file.text.encode(), label=str(out / file.file))


def _is_different(out: Path, file: ExportedFile) -> bool:
    try:
        # lstat: a broken link counts as a file in the way.
        (out / file.file).lstat()
        return read_below(out, file.file, LARGE_FILE) != file.text.encode()
    except FileNotFoundError:
        return False
    except (OSError, EvalstoreError):
        return True


def _export_runs(
    refs: Iterable[str], table: FormatTable, artifacts: ArtifactSource
) -> tuple[ExportedFile, ...]:
    """Return stored runs byte by byte: the named ones, by path or artifact, else all below `runs/`.

    A path names a run: its aggregate and its rows are exported together.

    A run is a record: later edits of the questions that came from it do not change it.
    """
    if artifacts.root is None:
        raise RefError("a bare repository has no runs", hint="export from a checkout")
    stored = sorted(list_runs(artifacts.root))
    if not stored:
        raise RefError(
            f"no run is here in {RUNS_FOLDER}/",
            hint="`evalstore migrate` and `evalstore score` put them there",
        )
    named = [strip_run_ending(_find_run_path(text, table, artifacts)) for text in refs]
    by_run: dict[str, list[str]] = {}
    for path in stored:
        by_run.setdefault(strip_run_ending(path), []).append(path)
    if missing := next((name for name in named if name not in by_run), None):
        raise RefError(f"no run is here as {missing}.json", hint=f"they are below {RUNS_FOLDER}/")
    paths = chain.from_iterable(by_run[name] for name in dict.fromkeys(named or by_run))
    return tuple(_export_run(artifacts.root, path) for path in paths)


def _find_run_path(text: str, table: FormatTable, artifacts: ArtifactSource) -> str:
    if artifacts.root and (path := find_stored_path(text, artifacts.root)):
        return path
    if is_run_path(text):
        raise RefError(f"{text} is not a run of this store", hint=f"they are below {RUNS_FOLDER}/")
    ref = parse_ref(text)
    source = artifacts.load_main(ref).value.get("x_source", {})
    path = source.get("run")
    if (
        source.get("format") != table.format
        or not isinstance(path, str)
        or not STORED_PATH.fullmatch(path)
    ):
        raise RefusedError(f"{ref} did not come from {table.format}", hint=_ORIGIN_HINT)
    return path


def _export_run(root: Path, path: str) -> ExportedFile:
    file = decode_path(path)
    # The path comes from a file name in the repository, which may be crafted to leave the output
    # folder.
    if "\0" in file or ".." in PurePosixPath(file).parts or file.startswith("/"):
        raise RefusedError(
            f"{path} is not a name that a migration gives", hint="rename it, or name what to export"
        )
    try:
        return ExportedFile(file, path, read_below(root, path, LARGE_FILE).decode())
    except UnicodeDecodeError:
        raise RefusedError(f"{path} is not UTF-8") from None
