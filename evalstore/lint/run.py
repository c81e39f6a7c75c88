"""Validates many files: reads each, runs the linters for its kind, places and weighs notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import date
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from evalstore.checks import CheckContext
from evalstore.documents import Pointer, format_json_pointer, read_yaml
from evalstore.errors import LoadError, Place
from evalstore.files import FolderReader, open_below
from evalstore.lint.acceptances import lint_acceptance_form, lint_acceptance_use
from evalstore.lint.bundles import Bundles, read_bundle
from evalstore.lint.context import (
    KnownRules,
    SeverityPolicy,
    ValidationContext,
    read_policy,
    read_target_policies,
)
from evalstore.lint.fixes import TextFile, find_edit, find_rename
from evalstore.lint.identity import (
    lint_former_id,
    lint_identity,
    lint_missing_rename,
    lint_twins,
)
from evalstore.lint.keys import lint_artifact_keys, lint_keys
from evalstore.lint.notes import (
    Note,
    describe_note,
    get_mapping,
    list_mappings,
    list_texts,
    make_note,
)
from evalstore.lint.questions import RowsPlace, lint_questions, lint_rows
from evalstore.lint.reference_lookup import ArtifactFiles, Load, ReferenceLookup
from evalstore.lint.references import LaggingPins, lint_references, lint_targets
from evalstore.lint.rubrics import (
    describe_ungraded,
    grade_file_examples,
    lint_examples,
    lint_judged_checks,
    lint_rubric,
    lint_weights,
)
from evalstore.lint.rules import VALIDATION_RULES
from evalstore.lint.settings import is_level_note, lint_settings
from evalstore.lint.shapes import SETTINGS, lint_artifact_shape, lint_shape
from evalstore.lint.source_lines import add_source_lines, quote_span, read_numbered_lines
from evalstore.lint.source_reader import Parse, ReadFile, read_source
from evalstore.lint.sources import BUNDLE_SUFFIX, FileRole, ValidationSource, find_kind_sources
from evalstore.lint.words.comments import lint_cut_texts
from evalstore.lint.words.phrases import lint_phrases
from evalstore.model import Artifact, Finding, Findings, Kind, find_rows_path
from evalstore.model.findings import SHOWN_ALIKE
from evalstore.progress import Watch


class FileFindings(NamedTuple):
    """The findings about one file in the order of their places, and the rules switched off.

    `notes` are sentences on what was not checked.
    """

    findings: list[Finding]
    off: list[str]
    notes: list[str]


def validate(  # noqa: PLR0913  # what a run is measured by, each by its name
    sources: Iterable[ValidationSource],
    *,
    load: Load | None,
    settings: Any = None,
    today: date,
    strict: bool = False,
    known: KnownRules | None = None,
    locked: Container[str] = (),
    watch: Watch[ReadFile] = iter,
    expect: Callable[[Sequence[Artifact]], None] | None = None,
    parse: Parse = read_yaml,
    whole: bool = False,
    grading: CheckContext | None = None,
) -> Findings:
    """Return every finding of every file, in the order of the files and their lines.

    `load` resolves a reference or raises `RefError`; without it only the files of this run are
    known. `settings` are those of evalstore.yaml, by default as in the file among `sources`.
    `strict` makes every finding an error. `known` is what the rules for changes and the acceptances
    are measured by; `locked` are the references in evalstore.lock, which do not float. `watch`
    wraps the iteration over the files (a progress bar); `expect` receives the artifacts of the run
    before `load` is asked for their references; `parse` reads YAML. `whole` gives every finding its
    line of the file, not only those of a rule in a file that are shown. `grading` says how judges
    answer about the examples of rubrics and judges; without it no example is graded.
    """
    with FolderReader() as folders:
        files_read = (read_source(source, parse, folders.read) for source in sources)
        reads = [found for found in files_read if found is not None]
    settings = _find_settings(reads) if settings is None else settings
    artifacts = [found.artifact for found in reads if found.artifact]
    files = ArtifactFiles(artifacts)
    if expect:
        expect(artifacts)
    base = read_policy(settings, strict=strict)
    targets = read_target_policies(base, settings, files)
    context = ValidationContext(
        ReferenceLookup(files, load, locked),
        Bundles(settings),
        today,
        base,
        targets,
        known or KnownRules(),
        frozenset(key for _, key in list_texts(settings, "cosmetic")),
        whole=whole,
        grading=grading,
    )
    findings: dict[Finding, None] = {}
    off: Counter[str] = Counter()
    sentences: list[str] = []
    for item in watch(reads):
        in_file = lint_file(item, context)
        findings |= dict.fromkeys(in_file.findings)
        off.update(in_file.off)
        sentences += in_file.notes
    count = len(reads) + sum(_find_rows_beside(item) is not None for item in reads)
    return Findings(
        count,
        tuple(_drop_repeated(findings)),
        off=tuple(sorted(off.items())),
        notes=tuple(sentences),
    )


def _find_settings(reads: list[ReadFile]) -> Any:
    for item in reads:
        if item.document and item.source.role is FileRole.SETTINGS:
            return item.document.value
    return {}


def lint_file(item: ReadFile, context: ValidationContext) -> FileFindings:
    """Return the findings about a file, and the rules that the settings switch off for it."""
    policy = context.find_policy(item.artifact) if item.artifact else context.base
    notes, sentences = list(_lint_file(item, context)), list[str]()
    if item.artifact and context.grading:
        graded = grade_file_examples(item.artifact, context.lookup, context.grading)
        notes += lint_examples(item.artifact.kind, graded)
        sentences += describe_ungraded(item.source.file, graded)
    found = list(
        dict.fromkeys(finding for note in notes if (finding := _make_finding(note, item, policy)))
    )
    file = item.source.file
    off = [note.rule for note in notes if policy.is_off(note.rule, soft=note.soft)]
    found.sort(
        key=lambda one: (one.file != file, one.file, one.line or 0, one.column or 0, one.rule)
    )
    return FileFindings(
        add_source_lines(found, item.source, None if context.whole else SHOWN_ALIKE), off, sentences
    )


def _make_finding(note: Note, item: ReadFile, policy: SeverityPolicy) -> Finding | None:
    severity = policy.find_severity(note.rule, soft=note.soft)
    if severity is None:
        return None
    place, source = note.place or Place(item.source.file), None
    if note.place is None and item.document is not None:
        place = item.document.locate(note.pointer, of_key=note.of_key)
        source = quote_span(
            item.document, item.document.find_span(note.pointer, of_key=note.of_key)
        )
    edit = note.edit
    if item.document is not None and note.place is None:
        edit = find_edit(item.document, note, TextFile(item.source.root, item.source.path))
    elif note.rule == "file-ignored":
        edit = find_rename(item.source)
    message, hint = describe_note(note)
    pointer = format_json_pointer(note.pointer)
    return Finding(
        note.rule,
        severity,
        place.file,
        place.line,
        place.column,
        pointer,
        message,
        hint,
        source,
        edit,
    )


def _drop_repeated(findings: Iterable[Finding]) -> Iterator[Finding]:
    reported: set[str] = set()
    for finding in findings:
        if not (VALIDATION_RULES[finding.rule].once and finding.rule in reported):
            yield finding
        reported.add(finding.rule)


def _lint_file(item: ReadFile, context: ValidationContext) -> Iterator[Note]:
    source = item.source
    if item.failed:
        yield item.failed
    elif item.artifact:
        yield from _lint_artifact(item, item.artifact, context)
    elif item.document and source.role is FileRole.ACCEPTED:
        yield from lint_acceptance_form(item.document.value)
        yield from lint_acceptance_use(
            item.document.value, context.known.pending or {}, context.today
        )
    elif item.document:
        shape = lint_shape(SETTINGS, item.document.value)
        yield from (note for note in shape if not (context.known.rules and is_level_note(note)))
        yield from lint_keys(SETTINGS, item.document.value)
        yield from lint_settings(item.document.value, context.known)
        yield from lint_targets(item.document.value, context.lookup)
    elif source.role is FileRole.ROWS:
        yield from _lint_rows_file(source, source.path, (), None, context=context)
    elif source.root:
        name = PurePosixPath(source.path).name.removesuffix(BUNDLE_SUFFIX)
        if failed := read_bundle(source.root, source.path, name, source.file).broken:
            yield failed


def _lint_artifact(
    item: ReadFile, artifact: Artifact, context: ValidationContext
) -> Iterator[Note]:
    yield from lint_alone(artifact, context)
    yield from lint_cut_texts(artifact.document)
    if _has_prompt(artifact):
        from evalstore.lint.prompts import lint_wording

        yield from lint_wording(artifact, context.lookup)
    if artifact.kind is Kind.RUBRIC:
        yield from lint_weights(artifact)
        yield from lint_phrases(artifact)
    if artifact.kind is Kind.DATASET:
        yield from _lint_dataset(item, artifact, context)


def _has_prompt(artifact: Artifact) -> bool:
    """Whether an artifact has words for a judge: a template, variables or statements."""
    value = artifact.document.value
    return isinstance(value, dict) and (
        "template" in value
        or any({"variables", "each"} & check.keys() for _, check in list_mappings(value, "checks"))
    )


def lint_alone(artifact: Artifact, context: ValidationContext) -> Iterator[Note]:
    """Yield the notes on an artifact and its references, without the questions of a dataset."""
    yield from _lint_by_itself(artifact, context.cosmetic)
    yield from lint_twins(artifact, context.lookup.files)
    yield from lint_former_id(artifact, context.lookup)
    yield from lint_missing_rename(artifact, context.known.renames)
    yield from lint_references(artifact, context.lookup)
    if artifact.kind is Kind.RUBRIC:
        yield from lint_judged_checks(artifact, context.lookup)
    elif artifact.kind is Kind.JUDGE:
        from evalstore.lint.judges import lint_judge

        yield from lint_judge(artifact, context.find_policy(artifact).max_age, context.today)


def _lint_by_itself(artifact: Artifact, cosmetic: frozenset[str]) -> Iterator[Note]:
    """Yield what is wrong with an artifact regardless of other files and of today's date."""
    yield from lint_artifact_shape(artifact.kind, artifact.document.value)
    yield from lint_artifact_keys(artifact.kind, artifact.document.value, cosmetic)
    yield from lint_identity(artifact)
    if artifact.kind is Kind.RUBRIC:
        yield from lint_rubric(artifact)


def _lint_dataset(item: ReadFile, artifact: Artifact, context: ValidationContext) -> Iterator[Note]:
    lagging = LaggingPins.from_dataset(artifact, context.lookup)
    notes = chain(lint_questions(artifact, item.source.root, context), lagging.lint_all(artifact))
    if rows := _find_rows_beside(item):
        notes = chain(
            notes, _lint_rows_file(item.source, rows, ("rows",), artifact, context=context)
        )
    for note in notes:
        # Rows that judges are compared with are there to be labelled, not to be scored.
        if note.rule != "dataset-unscored" or artifact.name not in _find_gold_names(
            item.source.root, context
        ):
            yield note


def _find_gold_names(root: Path | None, context: ValidationContext) -> frozenset[str]:
    """Return the datasets that the store's judges were validated against, read once per run."""
    if root is None:
        return frozenset()
    if root not in context.gold_names:
        context.gold_names[root] = frozenset(_iterate_gold_names(root))
    return context.gold_names[root]


def _iterate_gold_names(root: Path) -> Iterator[str]:
    for source in find_kind_sources(root, Kind.JUDGE):
        if (found := read_source(source)) and found.document:
            validation = get_mapping(found.document.value, "validation")
            if isinstance(against := validation.get("validated_against"), str):
                yield against.split("@")[0]


def _find_rows_beside(item: ReadFile) -> str | None:
    """Return the path of a dataset's rows below the root; None if it has none or misnames it."""
    if item.artifact is None or item.source.root is None:
        return None
    with suppress(LoadError):  # a finding about the dataset's shape
        if rows := find_rows_path(item.artifact):
            return str(PurePosixPath(item.source.path).with_name(PurePosixPath(rows).name))
    return None


def name_rows_file(source: ValidationSource, path: str) -> str:
    """Return the name in findings for the rows file at `path`, next to a source or itself one."""
    return str(PurePosixPath(source.file).with_name(PurePosixPath(path).name))


def _lint_rows_file(
    source: ValidationSource,
    path: str,
    pointer: Pointer,
    dataset: Artifact | None,
    *,
    context: ValidationContext,
) -> Iterator[Note]:
    file, defaults, pins = name_rows_file(source, path), None, None
    if dataset:
        defaults = get_mapping(dataset.document.value, "defaults")
        pins = LaggingPins.from_dataset(dataset, context.lookup)
    try:
        if source.root:
            with open_below(source.root, path) as stream:
                at = RowsPlace(source.root, path, file, pins)
                lines = (
                    (number, line) for number, line in read_numbered_lines(stream) if line.strip()
                )
                yield from lint_rows(lines, at, pointer, defaults=defaults, context=context)
    except LoadError as error:
        yield make_note(
            "file-unreadable", pointer, message=f"{file}: {error.message}", hint=error.hint or ""
        )
