"""Opens a run for replay: with the versions that it names, else with those that reproduce its record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from evalstore.audits.inference import Inference, RulerCandidate, RulerSearch
from evalstore.audits.rulers import OutputGrader, RunResults
from evalstore.audits.stored_run import RunRubric, StoredRun, index_rows, read_stored_run
from evalstore.audits.version_path import ArtifactVersion, VersionFinder
from evalstore.errors import RefusedError
from evalstore.judging import JudgeSession
from evalstore.model import parse_ref
from evalstore.runs import GradedRow, Run, UsedArtifact, read_run
from evalstore.store import ArtifactStore, Resolved


def open_stored_run(run: Run | Path | str, finder: VersionFinder, session: JudgeSession) -> StoredRun:
    """Return a run ready for replay; one that names no versions gets the released ones that give its scores again.

    Raises `RefusedError` where its artifacts are not in the store, or none gives all of its scores. A note says what
    was inferred, and what the outputs cannot tell apart. The scores of such a run are those of the replay: tools that
    know no fractions round theirs.
    """
    source = run if isinstance(run, Run) else read_run(Path(run))
    if source.dataset is not None:
        return read_stored_run(source, finder)
    inference = RulerSearch(finder, session, source, None, None).run()
    dataset, rubric = _choose_rulers(source, inference)
    finder.notes += _describe_choice(source, inference, dataset, rubric)
    return _build_stored_run(source, finder, session, dataset.resolved, rubric.resolved if rubric else None)


def _choose_rulers(run: Run, inference: Inference) -> tuple[RulerCandidate, RulerCandidate | None]:
    """Return the dataset, and the rubric of all its questions unless the dataset's own pins are it."""
    # Both lists have the best first, and the newest among equals.
    dataset, rubric = inference.datasets[0], inference.rubrics[0]
    if dataset.is_exact:
        return dataset, None
    if rubric.is_exact and rubric.of == inference.scored:
        return dataset, rubric
    best = max(dataset, rubric, key=lambda one: one.agree)
    raise RefusedError(
        f"{run.path} names no versions, and no released ruler gives its {inference.scored:,} scores again: "
        f"{best.resolved.ref} gives {best.agree:,}"
        + (f", and for {best.not_graded:,} replies of judges are missing" if best.not_graded else ""),
        hint=f"score its outputs here: evalstore score DATASET {run.path}",
    )


def _describe_choice(
    run: Run, inference: Inference, dataset: RulerCandidate, rubric: RulerCandidate | None
) -> Iterator[str]:
    chosen, candidates = (rubric, inference.rubrics) if rubric else (dataset, inference.datasets)
    others = [one.resolved.ref for one in candidates if one.is_exact and one is not chosen]
    more = f"; so does {', '.join(others)}, and its outputs cannot tell them apart" if others else ""
    yield f"{run.path.name} names no versions; {chosen.resolved.ref} gives all of its scores again{more}"


def _build_stored_run(
    source: Run, finder: VersionFinder, session: JudgeSession, dataset: Resolved, rubric: Resolved | None
) -> StoredRun:
    store, rows = finder.store, index_rows(source)
    known = {question.id: question for question in store.questions(dataset)}
    questions = {id_: question for id_, question in known.items() if id_ in rows}
    refs = {id_: rubric.ref if rubric else question.rubric_ref or "" for id_, question in questions.items()}
    asked = [ref for ref in dict.fromkeys(refs.values()) if ref]
    resolved = dict(zip(asked, store.resolve_all(asked), strict=True))
    rubrics = {ref: RunRubric.from_version(_build_version(store, one)) for ref, one in resolved.items()}
    named = {id_: replace(row, rubric=refs[id_]) for id_, row in rows.items()}
    run = replace(source, dataset=_build_used(dataset), rubrics=tuple(map(_build_used, resolved.values())), score=None)
    bare = StoredRun(run, named, _build_version(store, dataset), rubrics, known)
    results = OutputGrader(bare, finder, session).grade_under(dataset if rubric is None else rubric)
    return replace(bare, rows=_replace_scores(named, results))


def _replace_scores(rows: Mapping[str, GradedRow], results: RunResults) -> dict[str, GradedRow]:
    """Return the rows with exact scores; what was unscored stays so."""
    return {
        id_: row
        if row.score is None or (result := results[id_]) is None
        else replace(row, score=result.score, verdict=result.verdict)
        for id_, row in rows.items()
    }


def _build_version(store: ArtifactStore, resolved: Resolved) -> ArtifactVersion:
    releases = store.releases(resolved.kind, resolved.id)
    return ArtifactVersion(resolved, next((one for one in releases if one.tag == resolved.tag), None))


def _build_used(resolved: Resolved) -> UsedArtifact:
    ref = f"{parse_ref(resolved.ref).name}@{resolved.version}"
    return UsedArtifact(ref, resolved.version, resolved.digest, resolved.scoring_digest, resolved.commit, resolved.tag)
