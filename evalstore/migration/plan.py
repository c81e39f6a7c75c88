"""Plans one source: its artifacts under final ids, their files, and an entry for each case."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import partial

from evalstore.documents import compute_digest, format_json_pointer
from evalstore.errors import EvalstoreError
from evalstore.migration.dataset_draft import (
    SourceContext,
    build_dataset,
    build_restorable,
    fold_companions,
    read_stated_ref,
)
from evalstore.migration.exporting.round_trip import check_restorable
from evalstore.migration.extraction import (
    ArtifactDraft,
    Extraction,
    LegacyCase,
    LegacySource,
    make_entry,
)
from evalstore.migration.folded_values import fold_value
from evalstore.migration.merging.artifact_groups import CaseKey
from evalstore.migration.merging.artifact_merge import list_refs
from evalstore.migration.merging.stored_artifacts import (
    StoredArtifact,
    find_former_ids,
    find_row_pins,
    index_rows,
    list_inputs,
    list_words,
)
from evalstore.migration.outcome import (
    FileState,
    MigrationEntry,
    MigrationOutcome,
    PinBehind,
    classify_losses,
    list_pins_behind,
)
from evalstore.migration.planned_writes import (
    PlannedText,
    build_path,
    keep_source_text,
    list_texts,
    read_current,
)
from evalstore.migration.remainder import encode_value
from evalstore.migration.shared_rubrics import Share, SharedCase, share_extraction
from evalstore.migration.suites.suite_artifacts import PlannedArtifact, StoreTarget, SuiteBatch
from evalstore.migration.suites.suite_names import SuiteFacts
from evalstore.migration.suites.suite_places import SuiteIdentity, find_nearest_id
from evalstore.model import Kind
from evalstore.runs.run_names import STORED_PATH, decode_path


@dataclass(frozen=True, slots=True)
class SourcePlan:
    """The plan of one source: texts by path, and an entry for each case.

    `target` is the path that represents the source. `claimed` are the stored artifacts,
    `<kind>/<id>`, that it uses.
    """

    files: dict[str, PlannedText]
    entries: tuple[MigrationEntry, ...]
    target: str | None = None
    claimed: AbstractSet[str] = frozenset()
    behind: tuple[PinBehind, ...] = ()


@dataclass(frozen=True, slots=True)
class _PlacedSource:
    """A source whose artifacts have their ids; `run` is the path of the run it is kept as."""

    batch: SuiteBatch
    rubrics: Sequence[ArtifactDraft | None]  # one for each usable case
    main: ArtifactDraft | None
    run: str
    files: dict[str, PlannedText]


def plan_source(context: SourceContext, place: SuiteIdentity, target: StoreTarget) -> SourcePlan:
    """Return the files of a source, merged with the store's; none if all cases are refused."""
    context = _find_stated_rubrics(context, target)
    extraction, legacy = context.extraction, context.legacy
    # A source without a usable case is written only as a dataset that keeps what was set aside, and
    # never if refused.
    if not extraction.is_run and not extraction.usable_cases:
        entries = tuple(_list_set_aside(extraction, legacy))
        is_refused = any(entry.outcome is MigrationOutcome.REFUSED for entry in entries)
        if extraction.dataset is None or is_refused:
            return SourcePlan({}, entries)
    # Names go to a trial first: a source that is refused below must not use up any id.
    trial = target.names.start_trial()
    try:
        placed = _place_source(context, place, replace(target, names=trial))
    except EvalstoreError as error:
        reason = f"cannot be kept: {error.message}"
        return SourcePlan({}, tuple(_refuse_source(extraction, legacy, reason)))
    # From here on the source is planned for good, and its ids are used.
    target.names.merge_trial(trial)
    placed.batch.settle_for_all()
    stands = _find_standing_path(placed, extraction)
    return SourcePlan(
        placed.files,
        tuple(_list_entries(context, placed, stands)),
        stands,
        placed.batch.claimed,
        tuple(_list_pins_behind(placed.batch)),
    )


def _place_source(
    context: SourceContext, place: SuiteIdentity, target: StoreTarget
) -> _PlacedSource:
    """Give every artifact of a source its id, and return the texts of all files.

    Raises `EvalstoreError` if the source could not be restored from them.
    """
    extraction, legacy = context.extraction, context.legacy
    run = ""
    if extraction.is_run:
        stored_run = place.run or target.stored.find_run(legacy.file, legacy.sha256)
        run = target.names.claim_run_path(stored_run or legacy.file, legacy.sha256)
    batch = _start_batch(context, place, target, run)
    shares, drafts = _share_rubrics(context, batch)
    rubrics = _place_drafts(context, batch, shares, drafts)
    main = _place_main(context, batch, rubrics, shares)
    documents = {"": legacy.document, **context.companions}
    if main and not run:
        pinned = {d.ref: d.value for d in rubrics if d and d.kind is Kind.RUBRIC}
        check_restorable(build_restorable(main, context), pinned, context.table, documents)
    # The size of the source decides whether rows get a separate file: it does not change when
    # artifacts are edited.
    size = sum(len(document.text) for document in documents.values())
    files: dict[str, PlannedText] = {}
    for item in batch.planned:
        files.update(_plan_item(item, batch, context, size))
    if run:
        stored = target.stored.root
        files[run] = keep_source_text(legacy, read_current(stored, run), target.side)
    return _PlacedSource(batch, rubrics, main, run, files)


def _find_standing_path(placed: _PlacedSource, extraction: Extraction) -> str | None:
    """Return the path that represents a source: of its dataset or rubric, else of its run."""
    if placed.main and (extraction.dataset or not placed.run):
        return build_path(placed.main)
    return placed.run or None


def _list_entries(
    context: SourceContext, placed: _PlacedSource, stands: str | None
) -> list[MigrationEntry]:
    """Return an entry for each case and note of a planned source, in the order of their lines."""
    extraction = context.extraction
    entries = [*_list_set_aside(extraction, context.legacy, stands, placed.run or None)]
    for case, rubric in zip(extraction.usable_cases, placed.rubrics, strict=True):
        entries.append(_make_case_entry(case, rubric, stands, context))
    return sorted(entries, key=lambda entry: (entry.file, entry.line or 0))


def _list_pins_behind(batch: SuiteBatch) -> Iterator[PinBehind]:
    """Yield the pins of a dataset to rubrics whose files have later versions.

    The dataset is one that stays as it is.
    """
    versions = {f"{item.draft.kind}/{item.draft.id}": item.draft.version for item in batch.planned}
    main = next((item for item in batch.planned if item.draft.kind is Kind.DATASET), None)
    if main and main.result.state not in {FileState.NEW, FileState.UPDATED}:
        yield from list_pins_behind(f"dataset/{main.draft.id}", batch.pins.values(), versions)


def _plan_item(
    item: PlannedArtifact, batch: SuiteBatch, context: SourceContext, size: int
) -> Iterator[tuple[str, PlannedText]]:
    stands = "file" in item.origin
    head = {
        "format": context.table.format,
        **({"dialect": context.extraction.dialect} if stands else {}),
    }
    read_text = partial(read_current, batch.target.stored.root)
    return list_texts(item, head, batch.place.moved if stands else "", read_text, size)


def _refuse_source(
    extraction: Extraction, legacy: LegacySource, reason: str
) -> Iterator[MigrationEntry]:
    """Yield an entry for every case of a refused source, or one for a source without cases."""
    yield from _list_set_aside(extraction, legacy)
    for case in extraction.usable_cases:
        yield make_entry(
            case.document or legacy.document, case.pointer, MigrationOutcome.REFUSED, reason
        )
    if not extraction.usable_cases:
        yield make_entry(legacy.document, (), MigrationOutcome.REFUSED, reason)


def _list_set_aside(
    extraction: Extraction, legacy: LegacySource, target: str | None = None, run: str | None = None
) -> Iterator[MigrationEntry]:
    for broken in legacy.broken_lines:
        reasons = (broken.problem.message,)
        yield MigrationEntry(
            legacy.file, "", broken.line, MigrationOutcome.REFUSED, reasons=reasons
        )
    for note in extraction.notes:
        entry = make_entry(
            note.document or legacy.document,
            note.pointer,
            note.outcome,
            note.reason,
            cases=note.cases,
        )
        place = (
            target if note.outcome in {MigrationOutcome.MIGRATED, MigrationOutcome.LOSSY} else None
        )
        place = f"{run}#{entry.pointer}" if note.in_run else place
        yield replace(entry, target=f"{target}#{note.question}" if note.question else place)
    for case in extraction.cases:
        document = case.document or legacy.document
        yield from (
            make_entry(document, note.pointer, note.outcome, note.reason) for note in case.notes
        )
        if case.is_set_aside:
            yield make_entry(document, case.pointer, case.outcome, *case.reasons)


def _make_case_entry(
    case: LegacyCase, rubric: ArtifactDraft | None, target: str | None, context: SourceContext
) -> MigrationEntry:
    stated = read_stated_ref(case)
    document = case.document or context.legacy.document
    graded_by = rubric.ref if rubric and rubric.kind is Kind.RUBRIC else None
    if case.question:
        target = f"{target}#{case.question['id']}"
    elif rubric:
        target = build_path(rubric)
    return MigrationEntry(
        file=document.file,
        pointer=format_json_pointer(case.pointer),
        line=document.locate(case.pointer).line,
        outcome=case.outcome,
        target=target,
        rubric=graded_by or context.refs.get(stated, stated) or None,
        reasons=case.sentences,
        remarks=case.sentences if case.outcome is MigrationOutcome.MIGRATED else case.remarks,
    )


def survey_source(context: SourceContext) -> SuiteFacts | None:
    """Return what identifies the suite of a source; None if no artifact comes from it."""
    extraction = context.extraction
    main = extraction.dataset or next(
        (case.rubric for case in extraction.usable_cases if case.rubric), None
    )
    if main is None:
        return None
    inputs = list_inputs(case.question for case in extraction.usable_cases)
    file, format_ = _name_file(context), context.table.format
    folder_file, shape = context.table.named_by_folder, _find_one_shape(context)
    words = list_words(case.question for case in extraction.usable_cases)
    return SuiteFacts(file, format_, main.kind, extraction.name, inputs, folder_file, shape, words)


def _find_one_shape(context: SourceContext) -> str:
    """Return the digest of the rubric that grades all cases, if they share one; else nothing."""
    extraction = context.extraction
    if extraction.dataset is None or extraction.is_run or not extraction.usable_cases:
        return ""
    shares, _ = share_extraction(extraction, context.table, lambda _: False)
    shapes = {compute_digest(share.rubric.value) if share.rubric else "" for share in shares}
    return shapes.pop() if len(shapes) == 1 else ""


def _name_file(context: SourceContext) -> str:
    """Return the recorded path of a source.

    For a source that is a stored run itself, it is the original's path.
    """
    file = context.legacy.file
    return decode_path(file) if context.extraction.is_run and STORED_PATH.fullmatch(file) else file


def _start_batch(
    context: SourceContext, place: SuiteIdentity, target: StoreTarget, run: str
) -> SuiteBatch:
    extraction, stored = context.extraction, place.stored
    # A suite that is merely named from another folder keeps the recorded path.
    file = stored.origin.file if stored and not place.moved else _name_file(context)
    name = stored.origin.name if stored and not place.moved else extraction.name
    head = {**({"name": name} if name else {}), "file": file, **({"run": run} if run else {})}
    main = target.stored.read_value(stored) if stored else None
    rows = index_rows((main or {}).get("questions"))
    former = find_former_ids(
        rows, [case.question for case in extraction.usable_cases if case.question]
    )
    pins = find_row_pins(rows, former)
    graded = sum(case.rubric is not None for case in extraction.usable_cases)
    headless = extraction.is_run and extraction.dataset is None
    share, is_converted = _choose_share(extraction, stored, target)
    return SuiteBatch(
        context.table.format,
        place,
        target,
        head,
        graded,
        pins,
        former,
        run=run,
        is_headless=headless,
        main=main,
        share=share,
        is_converted=is_converted,
    )


def _choose_share(
    extraction: Extraction, stored: StoredArtifact | None, target: StoreTarget
) -> tuple[Share, bool]:
    """Return who shares the rubrics of a source, and whether the store has it in another form.

    A source without questions can leave no value to them. A suite with shared rubrics is not taken
    apart again.
    """
    if extraction.dataset is None or extraction.is_run:
        return Share.ALL if target.share is Share.ALL else Share.CASES, False
    if stored is None:
        return target.share or target.new_share, False
    there = Share(stored.origin.share) if stored.origin.share in {*Share} else Share.CASES
    if target.share in {None, Share.CASES}:
        return there, False
    return target.share or there, there is Share.CASES


def _share_rubrics(
    context: SourceContext, batch: SuiteBatch
) -> tuple[list[SharedCase], Sequence[ArtifactDraft]]:
    """Return the rubric of each usable case as the suite shares it, and what these refer to."""
    extraction = context.extraction
    if batch.share is Share.CASES or extraction.dataset is None:
        return [SharedCase(case.rubric) for case in extraction.usable_cases], extraction.drafts
    # A case's rubric that somebody changed stays the rubric of that case.
    return share_extraction(
        extraction, context.table, lambda case: batch.has_own_rubric(_anchor_case(case).case)
    )


def _place_drafts(
    context: SourceContext,
    batch: SuiteBatch,
    shares: Sequence[SharedCase],
    drafts: Sequence[ArtifactDraft],
) -> list[ArtifactDraft | None]:
    """Place the judges and inner rubrics, then the rubric of each case.

    Returns one for each usable case.
    """
    extraction = context.extraction
    keys = _anchor_drafts(drafts, extraction)
    # Layer by layer, so that every reference is final before it is copied into a rubric.
    for kind in (Kind.JUDGE, Kind.RUBRIC):
        pairs = zip(drafts, keys, strict=True)
        batch.add_layer([(draft, key) for draft, key in pairs if draft.kind is kind])
    cases = extraction.usable_cases
    graded = [index for index, case in enumerate(cases) if case.rubric]
    # Without a dataset or run, the first rubric represents the source and stores its remainder.
    skipped = 0 if extraction.dataset or extraction.is_run else 1
    drafted = [(shares[index].rubric, cases[index]) for index in graded[skipped:]]
    layer = [(draft, _anchor_case(case)) for draft, case in drafted if draft]
    placed = dict(zip(graded[skipped:], batch.add_layer(layer), strict=True))
    return [placed.get(index) for index in range(len(cases))]


def _place_main(
    context: SourceContext,
    batch: SuiteBatch,
    rubrics: list[ArtifactDraft | None],
    shares: Sequence[SharedCase],
) -> ArtifactDraft | None:
    """Place the artifact that represents the source and return it.

    A rubric is also put in `rubrics`.
    """
    extraction = context.extraction
    if extraction.dataset:
        return batch.add_main(
            build_dataset(context, extraction.dataset, rubrics, shares, batch.former)
        )
    if extraction.is_run:
        return next(filter(None, rubrics), None)
    if context.legacy.broken_lines:
        raise context.legacy.broken_lines[0].problem
    index, draft = next(
        (index, case.rubric) for index, case in enumerate(extraction.usable_cases) if case.rubric
    )
    # The rubric that represents its source keeps the parts of it that it does not express already.
    kept = fold_value(encode_value(context.legacy.document.value), draft.value)
    source = {"kept": kept, **fold_companions(context)}
    rubrics[index] = batch.add_main(replace(draft, value={**draft.value, "x_source": source}))
    return rubrics[index]


def _anchor_case(case: LegacyCase) -> CaseKey:
    return CaseKey(case.question["id"] if case.question else format_json_pointer(case.pointer))


def _anchor_drafts(drafts: Sequence[ArtifactDraft], extraction: Extraction) -> list[CaseKey]:
    """Return the places of judges and inner rubrics: the case of each pointer, and its rest.

    A grader of the whole suite is in no case: what it became for a case belongs to that.
    """
    cases = {case.pointer: case for case in reversed(extraction.usable_cases)}
    users = _find_users(extraction) if drafts else {}
    keys = []
    for draft in drafts:
        at = draft.pointer
        size = next((size for size in range(len(at), 0, -1) if at[:size] in cases), 0)
        case = cases[at[:size]] if size else users.get(draft.ref)
        part = (
            (format_json_pointer(at[size:]) or f"/{draft.kind}") if size else draft.name or draft.id
        )
        keys.append(CaseKey(_anchor_case(case).case if case else "", part))
    return keys


def _find_users(extraction: Extraction) -> dict[str, LegacyCase]:
    """Return the first case whose rubric refers to a draft, directly or through another draft."""
    inner = {draft.ref: draft for draft in extraction.drafts}
    users: dict[str, LegacyCase] = {}
    for case in extraction.usable_cases:
        refs = list_refs(case.rubric.value) if case.rubric else []
        for ref in refs:
            refs += list_refs(inner[ref].value) if ref in inner and ref not in users else []
            users.setdefault(ref, case)
    return users


def _find_stated_rubrics(context: SourceContext, target: StoreTarget) -> SourceContext:
    """Return a context that knows the rubrics of its questions.

    A missing rubric makes its questions lossy. Other sources of the format may have got another id
    than the name by which they are referred to.
    """
    cases = context.extraction.cases
    found = {
        ref: _find_stated_rubric(ref, context, target) for ref in map(read_stated_ref, cases) if ref
    }
    missing = {ref for ref, rubric in found.items() if rubric is None}
    marked = tuple(
        _mark_ungraded(case) if read_stated_ref(case) in missing else case for case in cases
    )
    refs = {ref: rubric for ref, rubric in found.items() if rubric is not None}
    return replace(context, extraction=replace(context.extraction, cases=marked), refs=refs)


def _find_stated_rubric(ref: str, context: SourceContext, target: StoreTarget) -> str | None:
    name, _, version = ref.removeprefix("rubric/").partition("@")
    files = target.rubric_ids.get((context.table.format, name), {})
    id_ = find_nearest_id(files, context.legacy.file) or (
        name if f"rubric/{name}" in target.stored.names else ""
    )
    return f"rubric/{id_}@{version}" if id_ else None


def _mark_ungraded(case: LegacyCase) -> LegacyCase:
    name = read_stated_ref(case).partition("@")[0]
    reasons = (
        *case.reasons,
        f"{name} is neither in the store nor in these sources, so nothing grades it",
    )
    return replace(case, outcome=classify_losses(reasons), reasons=reasons)
