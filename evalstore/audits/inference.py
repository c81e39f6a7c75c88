"""Finds the releases that a run was graded with if it does not name them.

They are those that reproduce its record.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

from evalstore.audits.side_replay import OutputGrader, RunResults
from evalstore.audits.stored_run import (
    IncomparableError,
    RunRubric,
    StoredRun,
    UnscoredRunError,
    follow_renames,
    index_rows,
    pair_by_input,
    read_stored_run,
)
from evalstore.audits.version_path import ArtifactVersion, VersionFinder
from evalstore.errors import EvalstoreError, LostGradersError
from evalstore.model import MALFORMED_ERRORS, Kind, Question, parse_ref, read_rubric
from evalstore.release.changes.comparison import compare_by_rules
from evalstore.runs import GradedRow, Run, UsedArtifact
from evalstore.runs.question_mean import QuestionMean
from evalstore.runs.records import read_graded_run
from evalstore.scoring.judging import JudgeSession
from evalstore.store import ArtifactStore, Release, Resolved
from evalstore.text import make_excerpt

_ROUNDING = Fraction(1, 2_000_000)  # tools without fractions print six decimals or more


@dataclass(frozen=True, slots=True)
class ArtifactCandidate:
    """A released artifact, and how many recorded results it reproduces.

    It reproduces `agree` of the `of` results that it may have given. `not_graded` of them could not
    be checked, because judges' replies are missing.
    """

    resolved: Resolved
    agree: int
    of: int
    not_graded: int = 0

    @property
    def is_exact(self) -> bool:
        """Whether it reproduces the whole record."""
        return self.agree == self.of


@dataclass(frozen=True, slots=True)
class Distinction:
    """What distinguishes two candidates.

    It is a question of the run, an output that nobody has given, or neither.
    """

    old: Resolved
    new: Resolved
    question: str | None = None
    output: str | None = None
    old_score: Fraction | None = None
    new_score: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Inference:
    """The artifacts that a run may have been graded with, best first.

    Among equals the newest comes first. `rubrics` are releases of rubrics, each compared with the
    questions that it may have graded; `datasets` are releases of datasets with the rubrics that
    they pin. `distinguish` is about the best rubrics. `calls` to judges were missing.
    """

    scored: int
    rubrics: tuple[ArtifactCandidate, ...]
    datasets: tuple[ArtifactCandidate, ...]
    distinguish: tuple[Distinction, ...]
    calls: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ArtifactSearch:
    """One search among all releases for the artifacts behind a run.

    It covers datasets that have all of the run's questions, and the rubrics that these pin.
    """

    finder: VersionFinder
    session: JudgeSession
    source: Run

    def run(self) -> Inference:
        """Return what reproduces the record.

        Raises `LostGradersError` if no dataset or rubric could have graded it.
        """
        rows = index_rows(self.source)
        scored = {id_: row for id_, row in rows.items() if row.score is not None}
        datasets = [*self._assume_datasets(scored)]
        if not datasets:
            raise LostGradersError(
                (
                    f"no released dataset has all of the {len(scored):,} scored questions of "
                    f"{self.source.path}"
                ),
                hint=self._suggest_dataset(scored),
            )
        candidates = []
        for one in datasets:
            counts = _count_agreeing(one, self._grade_by_pins(one), scored)
            candidates.append(ArtifactCandidate(one.dataset.resolved, *counts))
        ranked = _rank(candidates)
        best = next(one for one in datasets if one.dataset.resolved == ranked[0].resolved)
        rubrics, results = self._grade_rubrics(best, scored)
        return Inference(
            scored=len(scored),
            rubrics=rubrics,
            datasets=ranked,
            distinguish=tuple(
                _distinguish(self.finder.store, _list_best(rubrics), results, scored)
            ),
            calls=len(self.session.missing),
            notes=tuple(dict.fromkeys(self.finder.notes)),
        )

    def _assume_datasets(self, rows: Mapping[str, GradedRow]) -> Iterator[StoredRun]:
        """Yield the run as it would be with each released dataset that has its questions.

        The oldest dataset comes first.
        """
        store = self.finder.store
        recorded = parse_ref(self.source.dataset.ref).name if self.source.dataset else None
        for release in _list_releases(store, Kind.DATASET, recorded):
            try:
                resolved = store.resolve(f"{release.name}@{release.version}")
                questions = {q.id: q for q in store.questions(resolved) if q.id in rows}
            except (EvalstoreError, *MALFORMED_ERRORS) as error:
                self.finder.notes.append(
                    f"{release.tag} was skipped, because it cannot be read: {error}"
                )
                continue
            if questions.keys() == rows.keys() or (recorded and questions):
                yield _assume_dataset(
                    self.source, rows, ArtifactVersion(resolved, release), questions
                )

    def _suggest_dataset(self, scored: Mapping[str, GradedRow]) -> str:
        """Return the dataset that has the most of the questions."""
        store, counts = self.finder.store, Counter[str]()
        for release in reversed(_list_releases(store, Kind.DATASET, None)):
            with suppress(EvalstoreError, *MALFORMED_ERRORS):
                ref = f"{release.name}@{release.version}"
                counts[ref] = sum(question.id in scored for question in store.questions(ref))
        if not (best := counts.most_common(1)) or not best[0][1]:
            return "evalstore list shows the datasets that there are"
        ref, count = best[0]
        return (
            f"{ref} has {count:,} of them; to grade those: evalstore score {ref} {self.source.path}"
        )

    def _grade_by_pins(self, stored: StoredRun) -> RunResults:
        """Return the results under the rubrics that the dataset pins."""
        return OutputGrader(stored, self.finder, self.session).grade_under(stored.dataset.resolved)

    def _grade_rubrics(
        self, stored: StoredRun, scored: Mapping[str, GradedRow]
    ) -> tuple[tuple[ArtifactCandidate, ...], dict[str, RunResults]]:
        """Return the candidates among released rubrics, and the results of each by reference."""
        groups: defaultdict[str, dict[str, GradedRow]] = defaultdict(dict)
        for id_, row in stored.rows.items():
            question = stored.questions.get(id_)
            name = parse_ref(question.rubric_ref).name if question and question.rubric_ref else ""
            groups[name][id_] = row
        candidates, results = [], {}
        for name, rows in groups.items():
            part = replace(stored, rows=rows)
            for release in _list_releases(self.finder.store, Kind.RUBRIC, name) if name else ():
                if (found := self._grade_under_release(part, release)) is not None:
                    resolved, graded = found
                    candidates.append(
                        ArtifactCandidate(resolved, *_count_agreeing(part, graded, scored))
                    )
                    results[resolved.ref] = graded
        if not candidates:
            hint = f"grade its outputs here: evalstore score DATASET {self.source.path}"
            raise LostGradersError("no released rubric could have graded this run", hint=hint)
        return _rank(candidates), results

    def _grade_under_release(
        self, stored: StoredRun, release: Release
    ) -> tuple[Resolved, RunResults] | None:
        try:
            resolved = self.finder.store.resolve(f"{release.name}@{release.version}")
            read_rubric(resolved.artifact.value)
            return resolved, OutputGrader(stored, self.finder, self.session).grade_under(resolved)
        except (EvalstoreError, *MALFORMED_ERRORS) as error:
            self.finder.notes.append(f"{release.tag} was skipped, because it cannot grade: {error}")
            return None


def _list_releases(store: ArtifactStore, kind: Kind, named: str | None) -> list[Release]:
    if named is None:
        return store.releases(kind)
    return store.releases(kind, parse_ref(named).id)


def _assume_dataset(
    run: Run,
    rows: Mapping[str, GradedRow],
    dataset: ArtifactVersion,
    questions: Mapping[str, Question],
) -> StoredRun:
    """Return a run as it would be if it had named this dataset; its rows name no rubric."""
    bare = {id_: row._replace(rubric="") for id_, row in rows.items()}
    return StoredRun(run=run, rows=bare, dataset=dataset, rubrics={}, questions=questions)


def _count_agreeing(
    stored: StoredRun, results: RunResults, scored: Mapping[str, GradedRow]
) -> tuple[int, int, int]:
    """Return how many of the recorded results are reproduced, and out of how many.

    The third number is how many could not be graded.
    """
    ids = stored.rows.keys() & scored.keys()
    agree = sum(_agrees(scored[id_], results[id_]) for id_ in ids)
    return agree, len(ids), sum(results[id_] is None for id_ in ids)


def _agrees(row: GradedRow, result: QuestionMean | None) -> bool:
    if result is None or result.score is None or row.score is None:
        return False
    # Only what evalstore wrote is exact, and has the verdict of the rubric's threshold.
    if row.checks:
        return (row.score, row.verdict) == (result.score, result.verdict)
    return abs(row.score - result.score) <= _ROUNDING


def _rank(
    candidates: Iterator[ArtifactCandidate] | Sequence[ArtifactCandidate],
) -> tuple[ArtifactCandidate, ...]:
    """Return the candidates by the share of the record that they reproduce.

    Among equals, newer ones come first.
    """
    newest_first = [*candidates][::-1]
    return tuple(sorted(newest_first, key=lambda one: Fraction(-one.agree, max(one.of, 1))))


def _list_best(candidates: Sequence[ArtifactCandidate]) -> list[Resolved]:
    """Return the candidates as good as the first, oldest first."""
    first = candidates[0]
    best = [one.resolved for one in candidates if (one.agree, one.of) == (first.agree, first.of)]
    return [one for one in reversed(best) if one.name == first.resolved.name]


def _distinguish(
    store: ArtifactStore,
    best: Sequence[Resolved],
    results: Mapping[str, RunResults],
    rows: Mapping[str, GradedRow],
) -> Iterator[Distinction]:
    for old, new in pairwise(best):
        before, after = results[old.ref], results[new.ref]
        if apart := [id_ for id_ in before if _is_apart(rows.get(id_), before[id_], after[id_])]:
            # A score is more informative than a verdict.
            first = min(apart, key=lambda id_: _find_score(before[id_]) == _find_score(after[id_]))
            scores = [_find_score(side[first]) for side in (before, after)]
            yield Distinction(old, new, question=first, old_score=scores[0], new_score=scores[1])
        else:
            yield _find_witness(store, old, new)


def _list_recorded(row: GradedRow | None, result: QuestionMean | None) -> tuple[object, ...]:
    """Return those parts of a result that the record of its row would have.

    It has a verdict only if evalstore wrote it.
    """
    return (_find_score(result), result.verdict if result and row and row.checks else None)


def _is_apart(row: GradedRow | None, old: QuestionMean | None, new: QuestionMean | None) -> bool:
    return _list_recorded(row, old) != _list_recorded(row, new)


def _find_score(result: QuestionMean | None) -> Fraction | None:
    return result.score if result else None


def _find_witness(store: ArtifactStore, old: Resolved, new: Resolved) -> Distinction:
    """Return an output that two rubrics grade differently, as found by their diff."""
    witness = compare_by_rules(store, old, new).total.witness
    if witness is None or witness.judged or witness.old_score == witness.new_score:
        return Distinction(old, new)
    return Distinction(
        old, new, output=witness.output, old_score=witness.old_score, new_score=witness.new_score
    )


def open_stored_run(
    run: Run | Path | str, finder: VersionFinder, session: JudgeSession
) -> StoredRun:
    """Return a run ready for replay.

    A run that names no versions gets the released ones that reproduce its scores. Raises
    `LostGradersError` if its artifacts are not in the store, or none reproduces all of its scores.
    A note says what was inferred, and what the outputs cannot distinguish. The scores of such a run
    are those of the replay: tools without fractions round theirs.
    """
    source = run if isinstance(run, Run) else read_graded_run(Path(run))
    if source.dataset is not None:
        return read_stored_run(source, finder)
    inference = ArtifactSearch(finder, session, source).run()
    dataset, rubric = _choose_artifacts(source, inference)
    finder.notes += _describe_choice(source, inference, dataset, rubric)
    return _build_stored_run(
        source, finder, session, dataset.resolved, rubric.resolved if rubric else None
    )


def open_stored_pair(
    run_a: Run | Path | str, run_b: Run | Path | str, finder: VersionFinder, session: JudgeSession
) -> tuple[StoredRun, StoredRun]:
    """Return two runs ready to be compared, A with the ids of B.

    Raises `IncomparableError` for a run without a score.
    """
    found = []
    for name, run in (("A", run_a), ("B", run_b)):
        try:
            found.append(open_stored_run(run, finder, session))
        except UnscoredRunError as error:
            raise IncomparableError(name, error.why) from None
    a, b = found
    return pair_by_input(follow_renames(a, b, finder), b, finder), b


def _choose_artifacts(
    run: Run, inference: Inference
) -> tuple[ArtifactCandidate, ArtifactCandidate | None]:
    """Return the dataset, and the rubric of all its questions.

    The rubric is None if the dataset's own pins name it.
    """
    # Both lists have the best first, and the newest among equals.
    dataset, rubric = inference.datasets[0], inference.rubrics[0]
    if dataset.is_exact:
        return dataset, None
    if rubric.is_exact and rubric.of == inference.scored:
        return dataset, rubric
    best = max(dataset, rubric, key=lambda one: one.agree)
    raise LostGradersError(
        f"{run.path} names no versions, and no release reproduces its {inference.scored:,} scores: "
        f"{best.resolved.ref} reproduces {best.agree:,}"
        + (
            f", and for {best.not_graded:,} replies of judges are missing"
            if best.not_graded
            else ""
        ),
        hint=f"score its outputs here: evalstore score DATASET {run.path}",
    )


def _describe_choice(
    run: Run, inference: Inference, dataset: ArtifactCandidate, rubric: ArtifactCandidate | None
) -> Iterator[str]:
    chosen, candidates = (rubric, inference.rubrics) if rubric else (dataset, inference.datasets)
    others = [one.resolved.ref for one in candidates if one.is_exact and one is not chosen]
    more = (
        f"; so does {', '.join(others)}, and its outputs cannot tell them apart" if others else ""
    )
    yield (
        f"{run.path.name} names no versions; {chosen.resolved.ref} reproduces all of its "
        f"scores{more}"
    )
    yield from filter(None, map(_describe_distinction, inference.distinguish)) if others else ()


def _describe_distinction(one: Distinction) -> str:
    """Return the question, or the output nobody gave, that distinguishes two candidates.

    It is empty if none is known.
    """
    pair = f"{one.old.ref} from {one.new.ref}"
    if one.question is not None:
        return f"question {make_excerpt(one.question)} would tell {pair}"
    return (
        f"an output such as {make_excerpt(one.output)!r} would tell {pair}"
        if one.output is not None
        else ""
    )


def _build_stored_run(
    source: Run,
    finder: VersionFinder,
    session: JudgeSession,
    dataset: Resolved,
    rubric: Resolved | None,
) -> StoredRun:
    store, rows = finder.store, index_rows(source)
    known = {question.id: question for question in store.questions(dataset)}
    questions = {id_: question for id_, question in known.items() if id_ in rows}
    if rubric:
        refs = dict.fromkeys(questions, rubric.ref)
    else:
        refs = {id_: question.rubric_ref or "" for id_, question in questions.items()}
    asked = [ref for ref in dict.fromkeys(refs.values()) if ref]
    resolved = dict(zip(asked, store.resolve_all(asked), strict=True))
    rubrics = {
        ref: RunRubric.from_version(finder.find_release(one)) for ref, one in resolved.items()
    }
    named = {id_: row._replace(rubric=refs[id_]) for id_, row in rows.items()}
    run = replace(
        source,
        dataset=_build_used(dataset),
        rubrics=tuple(map(_build_used, resolved.values())),
    )
    bare = StoredRun(run, named, finder.find_release(dataset), rubrics, known, is_inferred=True)
    results = OutputGrader(bare, finder, session).grade_under(dataset if rubric is None else rubric)
    return replace(bare, rows=_replace_scores(named, results))


def _replace_scores(rows: Mapping[str, GradedRow], results: RunResults) -> dict[str, GradedRow]:
    """Return the rows with exact scores; what was unscored stays unscored."""
    exact = dict(rows)
    for id_, row in rows.items():
        if row.score is not None and (result := results[id_]):
            exact[id_] = row._replace(score=result.score, verdict=result.verdict)
    return exact


def _build_used(resolved: Resolved) -> UsedArtifact:
    ref = f"{parse_ref(resolved.ref).name}@{resolved.version}"
    return UsedArtifact(
        ref,
        resolved.version,
        resolved.digest,
        resolved.scoring_digest,
        resolved.commit,
        resolved.tag,
    )
