"""Validates the releases and files that a command is about to use, like `evalstore validate`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from evalstore.documents import format_json_pointer
from evalstore.errors import EvalstoreError, FindingsError, LoadError, Place, SchemaError
from evalstore.lint.bundles import Bundles
from evalstore.lint.context import KnownRules, ValidationContext, read_policy, read_target_policies
from evalstore.lint.notes import (
    Note,
    describe_note,
    get_mapping,
    list_texts,
    locate_note,
    note_error,
)
from evalstore.lint.questions import RowsPlace, lint_questions, lint_rows
from evalstore.lint.reference_lookup import ArtifactFiles, ReferenceLookup
from evalstore.lint.references import LaggingPins
from evalstore.lint.rubrics import find_obstacles
from evalstore.lint.run import lint_alone
from evalstore.model import (
    Artifact,
    Finding,
    Kind,
    Severity,
    WorktreePins,
    find_pins,
    find_rows_path,
)
from evalstore.model.findings import SHOWN_ALIKE
from evalstore.store import ArtifactStore, Resolved
from evalstore.store.rows import RowLine, name_rows_file, read_row_lines
from evalstore.store.tags import find_last_release
from evalstore.versions import find_version

_SHORT_HINT = 60  # characters; `evalstore explain RULE` shows longer ones
_SHOWN_ONCE = "pin-behind"  # one command moves all pins
_BROKEN = "check-broken"


@dataclass(frozen=True, slots=True)
class UseFindings:
    """What was found about artifacts in use: a file's first findings per rule, and how many more.

    `strict` says that the settings of the store, or of a target, allow none of the findings.
    """

    findings: tuple[Finding, ...]
    more: Mapping[tuple[str, str], int]
    strict: bool

    def refuse_if_strict(self, what: str) -> None:
        """Raise `FindingsError` if there are findings and settings are strict.

        `what` was not done.
        """
        if self.strict:
            lines = list(self.list_lines())
            count = f"are {len(lines)} findings" if len(lines) > 1 else "is a finding"
            raise FindingsError(f"{what}: the settings are strict, and there {count}", lines)

    def refuse_broken(self, what: str) -> None:
        """Raise `FindingsError` if a check cannot be graded; `what` was not done for it."""
        errors = (one for one in self.findings if one.severity is Severity.ERROR)
        broken = tuple(error for error in errors if error.rule == _BROKEN)
        if broken:
            lines = list(replace(self, findings=broken).list_lines())
            raise FindingsError(f"{what}: there is a check that cannot be graded", lines)

    def list_lines(self, *, without: Iterable[str] = ()) -> Iterator[str]:
        """Yield each finding as a line with its place, except those of some rules."""
        left = dict(self.more)
        shown = Counter((finding.file, finding.rule) for finding in self.findings)
        for finding in self.findings:
            key = finding.file, finding.rule
            shown[key] -= 1
            if finding.rule not in without:
                more = left.pop(key, 0) if not shown[key] else 0
                yield format_finding(finding) + (f"; and {more:,} more like it" if more else "")


def format_finding(finding: Finding) -> str:
    """Return a finding as one line: its place, its sentence, a short hint, its rule."""
    hint = f" ({finding.hint})" if 0 < len(finding.hint) <= _SHORT_HINT else ""
    return (
        f"{Place(finding.file, finding.line, finding.column)}: {finding.message}{hint} "
        f"[{finding.rule}]"
    )


def list_used(
    refs: Iterable[str], find: Callable[[str], Resolved], known: Iterable[Resolved] = ()
) -> tuple[Resolved, ...]:
    """Return `known`, and what references mean with all that it refers to, if it exists."""
    used, pending = {resolved.ref: resolved for resolved in known}, [*refs]
    while pending:
        ref = pending.pop(0)
        if ref in used:
            continue
        try:
            found = used[ref] = find(ref)
        except EvalstoreError:  # a finding about what refers to it
            continue
        pins = find_pins(found.kind, found.artifact.value)
        pending += [text for pointer, text in pins if pointer[-1] != "validated_against"]
    return tuple(used.values())


def find_use_findings(  # noqa: PLR0913  # what is used, and what it is judged by, each by its name
    store: ArtifactStore,
    used: Sequence[Resolved],
    *,
    today: date,
    ignored: Iterable[str] = (),
    load: Callable[[str], Artifact] | None = None,
    dataset: Artifact | None = None,
    lines: Callable[[], Iterable[RowLine]] | None = None,
    beside: Iterable[Artifact] = (),
) -> UseFindings:
    """Return what is wrong with artifacts, and with the questions of datasets as they are read.

    They are judged by the settings of the store. The rules `ignored` find nothing. `load` reads
    what references mean, by default from the store. If everything is used for one `dataset`, its
    target is strict about all of it, and the pins of its last release may lag behind their source;
    `lines` gives those of its rows that are used, by default all. `beside` are further files
    through which a target reaches one. Memory does not grow with the questions: a duplicate id is
    found by whoever indexes them.
    """
    artifacts = [resolved.artifact for resolved in used]
    context = _make_context(store, artifacts, today, load or store.read_artifact, beside)
    is_strict_target = dataset is not None and context.find_policy(dataset).strict
    kept: dict[Finding, None] = {}
    counts: Counter[tuple[str, str]] = Counter()
    pins = (
        LaggingPins.from_dataset(dataset, context.lookup)
        if dataset and _is_last(store, dataset)
        else None
    )
    is_strict = False
    for resolved in used:
        policy = context.find_policy(resolved.artifact)
        is_dataset = resolved.artifact is dataset
        rows = lines() if lines and is_dataset else _read_lines(store, resolved)
        for note in _lint_resolved(store, resolved, rows, context, pins if is_dataset else None):
            severity = policy.find_severity(note.rule, soft=note.soft)
            if severity is None or note.rule in ignored:
                continue
            finding = _make_finding(note, resolved.artifact, severity)
            is_strict = is_strict or policy.strict or is_strict_target
            if finding not in kept:
                counts[finding.file, finding.rule] += 1
                if counts[finding.file, finding.rule] <= _find_most(finding.rule):
                    kept[finding] = None
    more = {
        key: count - most for key, count in counts.items() if count > (most := _find_most(key[1]))
    }
    return UseFindings(tuple(kept), more, is_strict)


def _find_most(rule: str) -> int:
    return 1 if rule == _SHOWN_ONCE else SHOWN_ALIKE


def _is_last(store: ArtifactStore, dataset: Artifact) -> bool:
    """Whether a dataset is the last in its store; earlier releases mean what they pin."""
    last, version = (
        find_last_release(store.releases(dataset.kind, dataset.id)),
        find_version(dataset.version),
    )
    return last is None or version is None or version >= last.version


def list_target_files(store: ArtifactStore) -> tuple[Artifact, ...]:
    """Return the working files that the targets of the settings reach."""
    targets = get_mapping(store.settings, "targets").values()
    named = (target.get("dataset") for target in targets if isinstance(target, dict))
    refs = [ref for ref in named if isinstance(ref, str)]
    used = list_used(refs, store.with_worktree(WorktreePins.ALL).resolve)
    return tuple(found.artifact for found in used)


def _make_context(
    store: ArtifactStore,
    artifacts: Sequence[Artifact],
    today: date,
    load: Callable[[str], Artifact],
    beside: Iterable[Artifact],
) -> ValidationContext:
    settings, files = store.settings, ArtifactFiles(artifacts)
    base = read_policy(settings, strict=False)
    return ValidationContext(
        ReferenceLookup(files, lambda ref: load(str(ref)), store.lock.refs),
        Bundles(settings),
        today,
        base,
        read_target_policies(base, settings, ArtifactFiles([*artifacts, *beside])),
        KnownRules(),
        frozenset(key for _, key in list_texts(settings, "cosmetic")),
        streamed=True,
    )


def _read_lines(store: ArtifactStore, resolved: Resolved) -> Iterable[RowLine]:
    return read_row_lines(store, resolved.artifact, commit=resolved.commit, tag=resolved.tag)


def _lint_resolved(
    store: ArtifactStore,
    resolved: Resolved,
    lines: Iterable[RowLine],
    context: ValidationContext,
    pins: LaggingPins | None,
) -> Iterator[Note]:
    artifact = resolved.artifact
    yield from lint_alone(artifact, context)
    if artifact.kind is not Kind.DATASET:
        return
    yield from lint_questions(artifact, store.root, context)
    yield from pins.lint_all(artifact) if pins else ()
    try:
        if path := find_rows_path(artifact):
            name = name_rows_file(store, path, commit=resolved.commit, tag=resolved.tag)
            at = RowsPlace(store.root, path, name, pins)
            numbered = ((line.number, line.data) for line in lines)
            defaults = get_mapping(artifact.value, "defaults")
            yield from lint_rows(numbered, at, ("rows",), defaults=defaults, context=context)
    except LoadError as error:
        yield note_error("file-unreadable", error, ("rows",), place=error.place)


def _make_finding(note: Note, artifact: Artifact, severity: Severity) -> Finding:
    place, (message, hint) = locate_note(note, artifact.document), describe_note(note)
    return Finding(
        note.rule,
        severity,
        place.file,
        place.line,
        place.column,
        format_json_pointer(note.pointer),
        message,
        hint,
    )


def check_usable(artifact: Artifact, load: Callable[[str], Artifact]) -> None:
    """Raise `SchemaError`, with its place, for what keeps an artifact from use.

    A broken question does not.
    """
    for note in find_obstacles(artifact, load):
        if note.pointer[:1] != ("questions",) or len(note.pointer) == 1:
            message, hint = describe_note(note)
            raise SchemaError(
                message, place=locate_note(note, artifact.document), hint=hint or None
            )
