"""Says who differs in a question, grading nothing: by what the store has of two runs, or by their records alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from evalstore.audits.edits.edit_history import prove_directions
from evalstore.audits.edits.version_path import VersionFinder
from evalstore.audits.explain import open_attributor
from evalstore.audits.judge_evidence import JudgedPair, JudgeEvidence
from evalstore.audits.question_grid import QuestionAttributor
from evalstore.audits.question_sets import QuestionPair
from evalstore.audits.stored_run import find_renames, locate_rulers, read_judge_model, require_dataset
from evalstore.audits.values import PlayerName
from evalstore.diff.findings import Direction
from evalstore.errors import RefusedError
from evalstore.model import CheckResult, Question
from evalstore.runs import GradedRow, Run, UsedArtifact
from evalstore.runs.row_pairs import AskedQuestions, PairTables, RowPair
from evalstore.scoring.judging import Judges, open_session
from evalstore.store import ArtifactStore, Resolved
from evalstore.store.rows import read_row_pieces

_COMPOSITE = "composite"  # a check whose rubric no record ties to it


@contextmanager
def open_players(runs: tuple[Run, Run], store: ArtifactStore | None) -> Iterator[PlayerFinder]:
    """Yield who differs between two runs: by the store, where it has what graded them, else by their records."""
    missing = "there is no store here"
    if store is not None:
        finder = VersionFinder(store)
        try:
            located = [locate_rulers(run, finder) for run in runs]
        except RefusedError as error:
            missing = error.message
        else:
            held = dict[str, Question](), dict[str, Question]()
            a, b = (replace(one, questions=questions) for one, questions in zip(located, held, strict=True))
            with open_session(Judges(), store.git.common) as session:
                yield StoredPlayers(open_attributor(a, b, finder, session, asks_service=False), held)
            return
    yield RecordedPlayers(*runs, missing=missing)


@dataclass(slots=True)
class StoredPlayers:
    """The players of two runs whose datasets, rubrics and judges are in the store."""

    attributor: QuestionAttributor
    # The question that is looked at, in the dataset of either run.
    questions: tuple[dict[str, Question], dict[str, Question]]

    @property
    def asked(self) -> tuple[AskedQuestions, AskedQuestions | None]:
        """The questions of both datasets."""
        old, new = self.attributor.a.dataset.resolved, self.attributor.b.dataset.resolved
        store = self.attributor.finder.store
        return _list_asked(old, store), None if old.digest == new.digest else _list_asked(new, store)

    def prepare(self, tables: PairTables) -> None:
        """Let renamed questions have one name."""
        in_either = (partial(tables.has_question, side) for side in (0, 1))
        tables.rename(find_renames(self.attributor.b, self.attributor.finder, *in_either))

    @property
    def is_judged(self) -> bool:
        """Whether a judge may have a part in some score."""
        return self.attributor.is_judged

    def look_at(self, found: RowPair) -> None:
        """Let the attributor see one question as the rows recorded it."""
        for held, row, is_asked in zip(self.questions, (found.old, found.new), found.is_asked, strict=True):
            held.clear()
            recorded = row or found.old or found.new
            if is_asked and recorded:
                held[found.id] = _build_question(recorded)

    def add_evidence(self, pair: QuestionPair) -> None:
        """Note what one question says of the service behind the judges."""
        self.attributor.add_evidence(pair)

    def find_players(self, pair: QuestionPair) -> frozenset[PlayerName]:
        """Return who differs in one question, by what grades it."""
        return self.attributor.find_players(pair)

    def prove_directions(self, old: str, new: str) -> tuple[Direction, Direction]:
        """Return where one rubric in place of another can move the score and the verdict of an output."""
        rubrics = self.attributor.a.rubrics[old], self.attributor.b.rubrics[new]
        return prove_directions(self.attributor.finder, rubrics[0].version, rubrics[1].version)

    def list_notes(self) -> Iterator[str]:
        """Yield what was found elsewhere in the store, and what the evidence rests on."""
        yield from dict.fromkeys(self.attributor.finder.notes)
        yield from self.attributor.evidence.list_notes()


def _list_asked(dataset: Resolved, store: ArtifactStore) -> AskedQuestions:
    """Return the questions of a dataset, in the forms in which they can be read."""
    value = dataset.artifact.value

    def list_lines() -> Iterator[bytes]:
        if "rows" in value:
            return read_row_pieces(store, dataset.artifact, commit=dataset.commit)
        return AskedQuestions.from_ids(list_ids()).lines()

    def list_ids() -> Iterator[str]:
        return (question.id for question in store.questions(dataset))

    return AskedQuestions(list_lines, list_ids)


def _build_question(row: GradedRow) -> Question:
    """Return a question that differs from another one where the digests do that the rows recorded."""
    return Question(row.id, "", {"input": row.input_digest, "expected": row.reference_digest})


@dataclass
class RecordedPlayers:
    """The players of two runs by their records alone: digests of what graded, replies, and who answered.

    Whoever the records do not rule out may have moved a score: a judge of the run counts as that of every judged check,
    and any rubric of it as part of every composite.
    """

    a: Run
    b: Run
    missing: str
    evidence: JudgeEvidence = field(default_factory=JudgeEvidence)
    # Whether one output got two scores of a judge for which its edited rubric may be the reason, or another model.
    has_doubt: bool = False

    @property
    def asked(self) -> tuple[AskedQuestions, AskedQuestions | None]:
        """The questions that have no row, as each run recorded them."""
        old, new = ([*run.missing_outputs] for run in (self.a, self.b))
        return AskedQuestions.from_ids(old), AskedQuestions.from_ids(new)

    def prepare(self, tables: PairTables) -> None:
        """Count what has a row as a question of the dataset; where that is the same one, of both runs."""
        datasets = [(used.digest, used.rows) for used in map(require_dataset, (self.a, self.b))]
        tables.ask_answered(is_same=datasets[0] == datasets[1])

    @property
    def is_judged(self) -> bool:
        """Whether a judge may have a part in some score."""
        return bool(self.a.judges or self.b.judges)

    def look_at(self, found: RowPair) -> None:
        """Need nothing but the rows."""

    def add_evidence(self, pair: QuestionPair) -> None:
        """Note what one question says of the service behind the judges."""
        if pair.old and pair.new and pair.old.score is not None and (pairs := self._read_pairs(pair.old, pair.new)):
            self.evidence.add_question(pairs, pair.old.score)
            self.has_doubt |= self._may_have_moved(pair.old, pair.new, pairs.values())

    def find_players(self, pair: QuestionPair) -> frozenset[PlayerName]:
        """Return who may differ in one question."""
        if pair.old is None or pair.new is None:
            raise AssertionError("a question that one run lacks cannot be compared")
        return frozenset(self._list_players(pair.old, pair.new))

    def prove_directions(self, old: str, new: str) -> tuple[Direction, Direction]:  # noqa: ARG002  # of any two
        """Return that nothing is proved: a digest does not say what a rubric asks."""
        return Direction.EITHER, Direction.EITHER

    def list_notes(self) -> Iterator[str]:
        """Yield that there are only records, and what the evidence rests on."""
        yield f"{self.missing}: what differs is known by recorded digests, and no direction of a rubric is proved"
        yield from self.evidence.list_notes()

    def _list_players(self, old: GradedRow, new: GradedRow) -> Iterator[PlayerName]:
        if not self._has_same_rubric(old, new):
            yield PlayerName.RUBRIC
        judged = [{check.id for check in row.checks if _is_judged(check)} for row in (old, new)]
        if any(judged) and not self._has_same_judges:
            yield PlayerName.JUDGE
        pairs = self._read_pairs(old, new)
        # A judged check without its like may be the same one under another name.
        has_other = any(map(self.evidence.has_moved, pairs.values())) or all(ids - pairs.keys() for ids in judged)
        if has_other or self._may_have_moved(old, new, pairs.values()) or (any(judged) and not self._has_same_model):
            yield PlayerName.JUDGE_SERVICE
        if old.reference_digest != new.reference_digest:
            yield PlayerName.DATASET
        if old.input_digest != new.input_digest:
            yield PlayerName.INPUT
        elif not old.has_output_of(new):
            yield PlayerName.OUTPUTS

    def _may_have_moved(self, old: GradedRow, new: GradedRow, pairs: Iterable[JudgedPair]) -> bool:
        """Whether the model behind one judge may be another one below an edited rubric, whatever its name."""
        if not self._has_same_judges or self._has_same_rubric(old, new):
            return False
        if _has_same_content(old, new):
            return any(_read_judgement(pair.old) != _read_judgement(pair.new) for pair in pairs)
        return self.has_doubt

    def _read_pairs(self, old: GradedRow, new: GradedRow) -> dict[str, JudgedPair]:
        """Return the results of the judged checks that both runs have graded, by their ids."""
        results = {check.id: check for check in old.checks if _is_judged(check)}
        is_alike = self._has_same_judges and self._has_same_model and self._has_same_rubric(old, new)
        return {
            check.id: JudgedPair(
                check=(old.rubric, new.rubric, check.id),
                old=results[check.id],
                new=check,
                is_alike=is_alike,
                asks_alike=True,
                is_anchor=is_alike and _has_same_content(old, new),
                has_edits=False,
            )
            for check in new.checks
            if _is_judged(check) and check.id in results
        }

    def _has_same_rubric(self, old: GradedRow, new: GradedRow) -> bool:
        digests = [used.get(row.rubric) for used, row in zip(self._rubrics, (old, new), strict=True)]
        if digests[0] is None or digests[0] != digests[1]:
            return False
        has_parts = any(check.kind == _COMPOSITE for check in (*old.checks, *new.checks))
        return not has_parts or self._has_same_parts

    @cached_property
    def _rubrics(self) -> tuple[Mapping[str, str], Mapping[str, str]]:
        return _index_digests(self.a.rubrics), _index_digests(self.b.rubrics)

    @cached_property
    def _has_same_parts(self) -> bool:
        return {*self._rubrics[0].values()} == {*self._rubrics[1].values()}

    @cached_property
    def _has_same_judges(self) -> bool:
        old, new = ({*_index_digests(run.judges).values()} for run in (self.a, self.b))
        return old == new

    @cached_property
    def _has_same_model(self) -> bool:
        """Whether the runs themselves named one model for the judges that name none."""
        return read_judge_model(self.a) == read_judge_model(self.b)


# Who differs in the questions of two runs; whoever is not ruled out does.
PlayerFinder = StoredPlayers | RecordedPlayers


def _read_judgement(check: CheckResult) -> tuple[object, ...]:
    return check.replies, check.score


def _has_same_content(old: GradedRow, new: GradedRow) -> bool:
    """Whether question and output are the same."""
    same = (old.input_digest, old.reference_digest) == (new.input_digest, new.reference_digest)
    return same and old.has_output_of(new)


def _index_digests(used: Sequence[UsedArtifact]) -> dict[str, str]:
    """Return what tells the meaning of artifacts apart, by their references."""
    return {pinned.ref: pinned.scoring_digest for pinned in used}


def _is_judged(check: CheckResult) -> bool:
    return bool(check.replies)
