"""One run over many files: read each, ask the rules of its kind, place and weigh what they note."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from datetime import date
from pathlib import PurePosixPath
from typing import Any

from evalstore.documents import Pointer, json_pointer
from evalstore.errors import LoadError, Place
from evalstore.model import Artifact, Finding, Findings, Kind
from evalstore.validation.acceptances import form_notes, standing_notes
from evalstore.validation.bundles import SUFFIX, Bundles, read_bundle
from evalstore.validation.context import Context, Known
from evalstore.validation.identity import identity_notes
from evalstore.validation.judges import judge_notes
from evalstore.validation.keys import artifact_keys, misspelt
from evalstore.validation.lookup import Files, Load, Lookup
from evalstore.validation.notes import Note, note
from evalstore.validation.parts import mapping
from evalstore.validation.policy import Policy, policy_of, target_policies
from evalstore.validation.questions import question_notes, rows_notes
from evalstore.validation.reading import Read, read
from evalstore.validation.references import reference_notes, target_notes
from evalstore.validation.rubrics import rubric_notes
from evalstore.validation.rules import RULES
from evalstore.validation.settings import settings_notes
from evalstore.validation.shape import SETTINGS, artifact_shape, shape_notes
from evalstore.validation.sources import Role, Source


def validate(  # noqa: PLR0913  # what a run is measured by, each by its name
    sources: Iterable[Source],
    *,
    load: Load | None,
    settings: Any = None,
    today: date,
    strict: bool = False,
    known: Known | None = None,
    locked: Container[str] = (),
) -> Findings:
    """Return every finding of every file, in the order of the files and their lines.

    `load` answers a reference or raises `RefError`; without it only the files of this run are known. `settings` are
    those of evalstore.yaml, by default as the file among `sources` has them. `strict` makes every finding an error.
    `known` is what the rules of changes and the acceptances are measured by; `locked` are the references that
    evalstore.lock holds, which do not float.
    """
    reads = [found for source in sources if (found := read(source)) is not None]
    settings = _settings(reads) if settings is None else settings
    files = Files(found.artifact for found in reads if found.artifact)
    base = policy_of(settings, strict=strict)
    targets = target_policies(base, settings, files)
    context = Context(Lookup(files, load, locked), Bundles(settings), today, base, targets, known or Known())
    findings: dict[Finding, None] = {}
    for item in reads:
        findings |= dict.fromkeys(_findings(item, context))
    return Findings(len(reads) + sum(_rows_of(item) is not None for item in reads), tuple(_once(findings)))


def _settings(reads: list[Read]) -> Any:
    return next((item.document.value for item in reads if item.document and item.source.role is Role.SETTINGS), {})


def _findings(item: Read, context: Context) -> list[Finding]:
    policy = context.policy(item.artifact) if item.artifact else context.base
    found = [finding for noted in _notes(item, context) if (finding := _finding(noted, item, policy))]
    file = item.source.file
    return sorted(found, key=lambda one: (one.file != file, one.file, one.line or 0, one.column or 0, one.rule))


def _finding(noted: Note, item: Read, policy: Policy) -> Finding | None:
    severity, rule = policy.severity(noted.rule), RULES[noted.rule]
    if severity is None:
        return None
    place = noted.place or Place(item.source.file)
    if noted.place is None and item.document is not None:
        place = item.document.locate(noted.pointer, of_key=noted.of_key)
    message, hint = (template.format_map(noted.facts) for template in (rule.message, rule.hint))
    pointer = json_pointer(noted.pointer)
    return Finding(rule.id, severity, place.file, place.line, place.column, pointer, message, hint)


def _once(findings: Iterable[Finding]) -> Iterator[Finding]:
    told: set[str] = set()
    for finding in findings:
        if not (RULES[finding.rule].once and finding.rule in told):
            yield finding
        told.add(finding.rule)


def _notes(item: Read, context: Context) -> Iterator[Note]:
    source = item.source
    if item.failed:
        yield item.failed
    elif item.artifact:
        yield from _artifact_notes(item, item.artifact, context)
    elif item.document and source.role is Role.ACCEPTED:
        yield from form_notes(item.document.value)
        yield from standing_notes(item.document.value, context.known.pending or {}, context.today)
    elif item.document:
        yield from shape_notes(SETTINGS, item.document.value)
        yield from misspelt(SETTINGS, item.document.value)
        yield from settings_notes(item.document.value, context.known)
        yield from target_notes(item.document.value, context.lookup)
    elif source.role is Role.ROWS:
        yield from _rows_notes(source, source.path, (), default=None, context=context)
    elif source.root:
        name = PurePosixPath(source.path).name.removesuffix(SUFFIX)
        if failed := read_bundle(source.root, source.path, name, source.file).broken:
            yield failed


def _artifact_notes(item: Read, artifact: Artifact, context: Context) -> Iterator[Note]:
    yield from artifact_shape(artifact.kind, artifact.document.value)
    yield from artifact_keys(artifact.kind, artifact.document.value)
    yield from identity_notes(artifact, context.lookup.files)
    yield from reference_notes(artifact, context.lookup)
    if artifact.kind is Kind.RUBRIC:
        yield from rubric_notes(artifact, context.lookup)
    elif artifact.kind is Kind.JUDGE:
        yield from judge_notes(artifact, context.policy(artifact).max_age, context.today)
    else:
        yield from question_notes(artifact, item.source.root, context)
        if rows := _rows_of(item):
            default = mapping(artifact.document.value, "defaults").get("bundle")
            yield from _rows_notes(item.source, rows, ("rows",), default=default, context=context)


def _rows_of(item: Read) -> str | None:
    """Return the path, below the root, of the rows beside a dataset; None when it names no neighbour."""
    if item.artifact is None or item.artifact.kind is not Kind.DATASET or item.source.root is None:
        return None
    value = item.artifact.document.value
    name = value.get("rows") if isinstance(value, dict) else None
    if not isinstance(name, str) or "/" in name or not name.endswith(".jsonl"):
        return None
    return str(PurePosixPath(item.source.path).with_name(name))


def _rows_notes(source: Source, path: str, pointer: Pointer, *, default: Any, context: Context) -> Iterator[Note]:
    file = str(PurePosixPath(source.file).with_name(PurePosixPath(path).name))
    try:
        if source.root:
            yield from rows_notes(source.root, path, file, default=default, context=context)
    except LoadError as error:
        yield note("file-unreadable", pointer, message=f"{file}: {error.message}", hint=error.hint or "")
