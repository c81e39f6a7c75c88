"""Grades one question in the cells of its audit.

A cell is a mix of rubrics, judges, question and outputs that is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from itertools import chain
from typing import NamedTuple

from evalstore.audits.attribution import EditClass
from evalstore.audits.check_matching import EncodedCheck
from evalstore.audits.edits.rubric_plan import (
    ANSWERS,
    DATASET,
    SERVICE,
    CheckPath,
    PlannedCheck,
    PlannedRubric,
)
from evalstore.audits.judge_evidence import JudgedPair, JudgeEvidence, list_served_models
from evalstore.audits.stored_run import Grader, RecordedResults, ReplyChoice, can_be_replayed
from evalstore.audits.values import Price
from evalstore.audits.version_path import mix_questions
from evalstore.checks import find_check_kind
from evalstore.checks.evaluate import apply_threshold, is_never_scored
from evalstore.checks.kinds.composite import grade_inner_result
from evalstore.languages.patterns import OUTPUT_LIMIT
from evalstore.model import (
    CheckResult,
    JudgeCall,
    Question,
    RubricResult,
    Sample,
    UnscoredReason,
    Verdict,
)
from evalstore.model.rubric import JUDGED_THRESHOLD
from evalstore.runs import GradedRow
from evalstore.runs.question_mean import QuestionMean, compute_question_mean

# Called with the calls that a cell lacks; the flag says that they are to be asked although replies
# are kept.
NoteCalls = Callable[[Sequence[JudgeCall], bool], None]


_NONE: frozenset[str] = frozenset()


class Content(NamedTuple):
    """What a grader looks at: which question's reference, whose answer, and which sample of it."""

    dataset: int
    answer: int
    sample: int


class AskedCheck(NamedTuple):
    """What was asked of a question: one check in a cell.

    Where `mask` is None, it is which of its edited items hit.
    """

    check: PlannedCheck
    mask: int | None
    content: Content


@dataclass(frozen=True)
class AlikeItems:
    """Items of one check that act alike on a question.

    `bits` has each of their bits, with whether its edit adds the item. They hit in the `contents`,
    and make no difference to what else graders look at. `decisive` is how many hits decide: of a
    banned phrase one, and more are no worse.
    """

    bits: tuple[tuple[int, bool], ...]
    contents: frozenset[Content]
    decisive: int

    @cached_property
    def added(self) -> int:
        """The items whose edits add them, as a set."""
        return sum(1 << bit for bit, adds in self.bits if adds)

    @cached_property
    def removed(self) -> int:
        """The items whose edits remove them, as a set."""
        return sum(1 << bit for bit, adds in self.bits if not adds)

    @cached_property
    def masks(self) -> tuple[int, ...]:
        """By number of items that count, the edits that leave so many of them.

        They are always the first ones.
        """
        return tuple(map(self._keep_first, range(min(len(self.bits), self.decisive) + 1)))

    def _keep_first(self, count: int) -> int:
        """Return the edits that leave the first `count` items that count."""
        items = enumerate(self.bits)
        return sum(1 << bit for number, (bit, adds) in items if adds == (number < count))

    def merge(self, mask: int) -> int:
        """Return the mask in which as many items count, always the first ones."""
        present = (mask & self.added).bit_count() + (~mask & self.removed).bit_count()
        return mask & ~(self.added | self.removed) | self.masks[min(present, self.decisive)]


class _GradedRubric(NamedTuple):
    """One rubric, or one within a composite, in one cell.

    Without checks that were not asked it is not complete.
    """

    score: Fraction | None
    verdict: Verdict
    results: tuple[CheckResult, ...]
    is_complete: bool


@dataclass(slots=True)
class MissingCalls:
    """The calls that are missing.

    `joint` are those that would tell factors apart, `steps` those for the steps of judges.
    """

    joint: set[str] = field(default_factory=set)
    steps: set[str] = field(default_factory=set)
    in_steps: bool = False

    def add_calls(self, calls: Sequence[JudgeCall]) -> None:
        """Add calls, each once."""
        (self.steps if self.in_steps else self.joint).update(call.key for call in calls)

    def count_calls(self) -> Price:
        """Return how many calls are missing for the factors.

        The second number is that for the steps of judges as well.
        """
        return Price(len(self.joint), len(self.joint | self.steps))


def _leave_empty(variant: EncodedCheck | None) -> CheckResult:
    """Return the result of a check that is left out; the rubric's policy decides what it counts."""
    if variant is None:
        raise AssertionError("a check that both runs have is missing in a cell")
    check = variant.check
    reason = "it had nothing to grade in one of the runs"
    return CheckResult(check.id, check.kind, None, Verdict.UNSCORED, reason, UnscoredReason.MISSING)


def _read_answer(result: CheckResult | None) -> Hashable:
    """Return what a score can see of a result, as plain values.

    Hashes of fractions take their time.
    """
    if result is None or result.score is None:
        return result and (result.unscored, is_never_scored(result))
    return result.score.as_integer_ratio(), result.verdict


@dataclass(slots=True)
class MixedGrades:
    """The cells of one question; each is graded once.

    `is_estimated` says that some rest on anchors. `rows` are the samples of run A and of run B,
    `recorded` what each of them recorded by content of the check, and `composites` by name, of
    composites with edits inside. `questions` are the question in both datasets, `moved` the judged
    checks that another service answered in run B. Items that are `alike` are interchangeable within
    a check, so that a check is graded once for as many of them. No cell can tell edits that are
    `idle` from not made. Checks that are `left_out` have nothing to grade in any cell, because they
    had nothing in one of the two runs. `trail` is what was asked so far, in that order.
    """

    rubric: PlannedRubric
    graders: tuple[Grader, Grader]
    questions: tuple[Question, Question]
    rows: tuple[Sequence[GradedRow], Sequence[GradedRow]]
    recorded: tuple[Sequence[RecordedResults], Sequence[RecordedResults]]
    composites: tuple[Sequence[RecordedResults], Sequence[RecordedResults]]
    moved: Mapping[str, JudgedPair]
    evidence: JudgeEvidence
    note_calls: NoteCalls
    alike: dict[CheckPath, list[AlikeItems]] = field(default_factory=dict)
    idle: int = 0
    # By sample the checks that are left out of every cell.
    left_out: tuple[frozenset[str], ...] = ()
    is_estimated: bool = False
    trail: list[AskedCheck] = field(default_factory=list)
    _unasked: set[int] = field(default_factory=set)
    _same_reference: bool = False
    _same_answers: list[bool] = field(default_factory=list)
    _has_records: bool = False
    # Whether a run recorded the composite that is graded, so that no call within it need be made.
    _is_recorded: bool = False
    _contents: dict[tuple[int, int], list[Content]] = field(default_factory=dict)
    _scores: dict[int, QuestionMean] = field(default_factory=dict)
    _graded: dict[tuple[CheckPath, int, Content, frozenset[str]], _GradedRubric] = field(
        default_factory=dict
    )
    _results: dict[tuple[CheckPath, int, Content], CheckResult | None] = field(default_factory=dict)
    _hits: dict[tuple[CheckPath, Content], tuple[tuple[int, int], ...]] = field(
        default_factory=dict
    )
    _samples: dict[Content, Sample] = field(default_factory=dict)

    def __post_init__(self) -> None:
        old, new = self.questions
        # Where both runs asked one version of the question, no digest is needed.
        self._same_reference = old is new or old.reference_digest == new.reference_digest
        same_input = old is new or old.input_digest == new.input_digest
        self._same_answers = [
            same_input and a.has_output_of(b) for a, b in zip(*self.rows, strict=False)
        ]
        self._has_records = any(found for side in self.recorded for found in side)

    @property
    def shape(self) -> Hashable:
        """What differs between the two runs' questions and answers.

        It also has how many samples each has.
        """
        return self._same_reference, *self._same_answers, *map(len, self.rows)

    def grade_score(self, mask: int) -> Fraction | None:
        """Return the score in one cell.

        It is None where it has none, or replies of judges are missing.
        """
        return self.grade_mix(mask).score

    def grade_mix(self, mask: int) -> QuestionMean:
        """Return the mean of one cell, which is of nothing where it has no score."""
        if mask in self._scores:
            return self._scores[mask]
        graded: list[_GradedRubric] = []
        for content in self.list_contents(mask):
            left_out = self._find_left_out(content)
            # A loop: a generator takes one frame more a question.
            graded.append(self._grade_rubric(self.rubric, mask, content, left_out))
        found = QuestionMean(None, None)
        # A sample without a score leaves the mean of the others; one that was not asked leaves
        # none.
        if all(one.is_complete for one in graded):
            found = compute_question_mean((one.score, one.verdict) for one in graded)
        else:
            self._unasked.add(mask)
        self._scores[mask] = found
        return found

    def grade_outcomes(self, check: PlannedCheck, mask: int) -> tuple[tuple[object, ...], ...]:
        """Return what the results of one check in a cell mean to a score, sample by sample."""
        found = [self._grade_check(check, mask, content) for content in self.list_contents(mask)]
        return tuple((one.score, one.verdict, one.unscored) if one else () for one in found)

    def grade_all(self, mask: int, sample: int = 0) -> RubricResult:
        """Return the result of a whole cell for one sample, without checks that were not asked."""
        content = self.list_contents(mask)[sample]
        found = self._grade_rubric(self.rubric, mask, content, self._find_left_out(content))
        return RubricResult(found.score, found.verdict, found.results)

    def leave_out(self, checks: Sequence[frozenset[str]]) -> None:
        """Leave checks out of all cells, by sample; what was graded with them is forgotten."""
        self.left_out = tuple(checks)
        self._scores.clear()
        self._unasked.clear()

    def _find_left_out(self, content: Content) -> frozenset[str]:
        return self.left_out[content.sample] if content.sample < len(self.left_out) else _NONE

    def is_content_empty(self, check: PlannedCheck, edits_to_b: int, sample: int) -> bool:
        """Whether what the runs answered, or asked, leaves a check nothing to grade in one.

        It does where either run's rubrics see it so; `edits_to_b` are the edits that lead to B's.
        Else an edit does.
        """
        if not check.relevant & ~(1 << SERVICE):
            return True
        contents = [self.find_content(side, side, sample) for side in (0, 1)]
        for mask in (0, edits_to_b):
            found = [self._grade_check(check, mask, content) for content in contents]
            gaps = {one.gaps for one in found if one is not None}
            if len(gaps) > 1:
                return True
        return False

    def list_contents(self, mask: int) -> list[Content]:
        """Return what the graders of a cell look at, sample by sample."""
        key = dataset, answer = mask >> DATASET & 1, int(bool(mask & ANSWERS))
        if key not in self._contents:
            numbers = range(len(self.rows[answer]))
            self._contents[key] = [self.find_content(dataset, answer, number) for number in numbers]
        return self._contents[key]

    def is_unasked(self, mask: int) -> bool:
        """Whether a cell has no score because replies of judges are missing."""
        return mask in self._unasked

    def _grade_rubric(
        self,
        rubric: PlannedRubric,
        mask: int,
        content: Content,
        left_out: frozenset[str] = _NONE,
    ) -> _GradedRubric:
        """Return what the checks that a cell has come to.

        All are graded, so that every missing call is noted.
        """
        key = rubric.path, mask, content, left_out
        if key not in self._graded:
            present, is_complete = list[CheckResult](), True
            for check in rubric.checks:
                if check.is_optional and check.build_variant(mask) is None:
                    continue
                if check.name in left_out:
                    present.append(_leave_empty(check.build_variant(mask)))
                    continue
                result = self._grade_check(check, mask, content)
                is_complete = is_complete and result is not None
                present += [result] if result is not None else []
            found = _GradedRubric(*rubric.combine_cell(mask, present), tuple(present), is_complete)
            if self._is_recorded and not is_complete:
                return found  # its calls are not noted yet
            self._graded[key] = found
        return self._graded[key]

    def _grade_check(self, check: PlannedCheck, mask: int, content: Content) -> CheckResult | None:
        mask &= check.relevant | 1 << SERVICE if check.is_judged else check.relevant
        for items in self.alike.get(check.path, ()):
            # One mask for all that make the check hold as many items that count.
            mask = (
                items.merge(mask)
                if content in items.contents
                else mask & ~(items.added | items.removed)
            )
        return self._grade_once(check, mask, content)

    def _grade_once(self, check: PlannedCheck, mask: int, content: Content) -> CheckResult | None:
        key = check.path, mask, content
        if key not in self._results:
            variant = check.build_variant(mask)
            found = self._grade_variant(check, variant, mask, content) if variant else None
            if self._is_recorded and found is None:
                return None  # its calls are not noted yet
            self._results[key] = found
            self.trail.append(AskedCheck(check, mask, content))
        return self._results[key]

    def grade_asked(self, asked: AskedCheck) -> Hashable:
        """Return what a score can see of the answer to what was asked of another question."""
        check, mask, content = asked
        if mask is None:
            return self.grade_hits(check, content)
        return _read_answer(self._grade_once(check, mask, content))

    def grade_hits(self, check: PlannedCheck, content: Content) -> tuple[tuple[int, int], ...]:
        """Return the places of the edited items that hit.

        Each has the number of its variant that does.
        """
        key = check.path, content
        if key not in self._hits:
            self._hits[key] = tuple(self._grade_phrases(check, self.get_sample(content)))
            self.trail.append(AskedCheck(check, None, content))
        return self._hits[key]

    def _grade_phrases(self, check: PlannedCheck, sample: Sample) -> Iterator[tuple[int, int]]:
        is_long = len(sample.text) > OUTPUT_LIMIT
        texts = sample.lowercase_text, sample.text
        for at, probe in enumerate(check.probes):
            for number, variant in enumerate(probe.variants):
                phrase = probe.phrases[number]
                # Most items are phrases, whose check need not be graded to see whether they are
                # there.
                if phrase is not None and not is_long:
                    is_hit = phrase.text in texts[phrase.is_exact]
                else:
                    result = self.graders[0].grade_check(variant, sample)
                    idle_score = find_check_kind(variant.check.kind).idle_score
                    is_hit = result is None or result.score != idle_score
                if is_hit:
                    yield at, number

    def list_alike(self) -> dict[int, EditClass]:
        """Return by bit the class of edits that are interchangeable.

        They are alike items, all added or all removed.
        """
        found: dict[int, EditClass] = {}
        for items in chain.from_iterable(self.alike.values()):
            classes = EditClass(items.decisive, adds=False), EditClass(items.decisive, adds=True)
            found |= {bit: classes[adds] for bit, adds in items.bits}
        return found

    def _grade_variant(
        self, check: PlannedCheck, variant: EncodedCheck, mask: int, content: Content
    ) -> CheckResult | None:
        if check.inner:
            return self._grade_composite(check, check.inner, mask, content)
        if not check.is_judged and not self._has_records:
            return self.graders[0].grade_check(variant, self.get_sample(content))
        service = mask >> SERVICE & 1 if check.is_judged else 0
        if (pair := self.moved.get(check.path[0])) is not None:
            return self._grade_moved(check, variant, service, content, pair)
        # What another model said is no record of this one.
        has_one_service = not check.relevant >> SERVICE & 1
        sides = (service, 1 - service) if has_one_service else (service,)
        recorded = next(
            filter(None, (self._find_recorded(side, content, variant) for side in sides)), None
        )
        seen = [
            self._list_composite_replies(check, side, content) for side in (service, 1 - service)
        ]
        grader = self.graders[service]
        choice = ReplyChoice(wanted=seen[0] or seen[1])
        found = grader.grade_check(variant, self.get_sample(content), recorded, choice)
        if found is None:
            self._note(grader.lacking, again=False)
        return found

    def _note(self, calls: Sequence[JudgeCall], *, again: bool) -> None:
        if not self._is_recorded:
            self.note_calls(calls, again)

    def _grade_composite(
        self, check: PlannedCheck, inner: PlannedRubric, mask: int, content: Content
    ) -> CheckResult | None:
        """Grade a composite by its checks.

        At both ends, where their replies or engines are not here, it is as recorded.
        """
        variant, recorded = check.build_variant(mask), self._find_recorded_end(check, mask, content)
        if variant is None:
            return None
        self._is_recorded = recorded is not None
        found = self._grade_rubric(inner, mask, content)
        self._is_recorded = False
        result = None
        if found.is_complete:
            graded = RubricResult(found.score, found.verdict, found.results)
            grade = grade_inner_result(variant.check.id, inner.build_scoring(mask), graded)
            result = apply_threshold(variant.check, grade, strict=self.graders[0].strict)
        if recorded and (result is None or not can_be_replayed(recorded, result)):
            self.graders[0].note_reuse(variant.content, self.get_sample(content), recorded)
            return recorded._replace(id=variant.check.id)
        return result

    def _find_recorded_end(
        self, check: PlannedCheck, mask: int, content: Content
    ) -> CheckResult | None:
        """Return what a run recorded of a composite.

        The cell is one in which all that the composite depends on is that run's.
        """
        decisive = check.relevant & ~self.idle | (
            1 << SERVICE if check.path[0] in self.moved else 0
        )
        for side in (0, 1):
            if mask & decisive == (decisive if side else 0) and (
                found := self._find_composite(check, side, content)
            ):
                return found
        return None

    def _find_composite(
        self, check: PlannedCheck, side: int, content: Content
    ) -> CheckResult | None:
        """Return what a run recorded of the composite that a check is or is in."""
        if content.sample >= len(self.rows[side]) or content != self.find_content(
            side, side, content.sample
        ):
            return None
        return self.composites[side][content.sample].get(check.path[0])

    def _list_composite_replies(
        self, check: PlannedCheck, side: int, content: Content
    ) -> tuple[str, ...]:
        found = self._find_composite(check, side, content) if len(check.path) > 1 else None
        return found.reply_digests if found else ()

    def _grade_moved(
        self,
        check: PlannedCheck,
        variant: EncodedCheck,
        service: int,
        content: Content,
        pair: JudgedPair,
    ) -> CheckResult | None:
        """Grade a check whose service moved.

        It is graded by its replies, else by the shift that is seen elsewhere, else not.
        """
        if known := self._grade_by_replies(check, variant, service, content, pair):
            return known
        lacking = tuple(self.graders[service].lacking)
        other = self._grade_by_replies(check, variant, 1 - service, content, pair)
        shift = self._grade_shift(check, variant, content, pair)
        # Only today's judge can be asked, and it stands for that of run B. Of a judge that was
        # edited as well this would not do: nobody can ask what run A's service says to the new
        # prompt.
        has_other = other is not None and other.score is not None
        if service and pair.is_alike and not (has_other and shift is not None):
            self._note(lacking, again=True)
        if shift is None and len(check.path) == 1:
            shift = self.evidence.find_shift(pair)
            self.is_estimated |= shift is not None
        if other is None or other.score is None or shift is None:
            return None
        score = other.score + (shift if service else -shift)
        passes = score >= (
            JUDGED_THRESHOLD if variant.check.threshold is None else variant.check.threshold
        )
        return other._replace(score=score, verdict=Verdict.PASS if passes else Verdict.FAIL)

    def _grade_shift(
        self, check: PlannedCheck, variant: EncodedCheck, content: Content, pair: JudgedPair
    ) -> Fraction | None:
        """Return what the service adds to a check on the other run's answer.

        It is None where not both were asked of it.
        """
        for side in (0, 1):
            place = self.find_content(side, side, content.sample)
            if place != content and place.sample < len(self.rows[place.answer]):
                grade = partial(self._grade_by_replies, check, variant)
                found = [grade(service, place, pair) for service in (0, 1)]
                scores = [result.score for result in found if result and result.score is not None]
                if len(scores) == len(found):
                    return scores[1] - scores[0]
        return None

    def _grade_by_replies(
        self,
        check: PlannedCheck,
        variant: EncodedCheck,
        service: int,
        content: Content,
        pair: JudgedPair,
    ) -> CheckResult | None:
        """Return the result that the replies of one run's service give.

        It is None where the service was not asked.
        """
        recorded, grader = self._find_recorded(service, content, variant), self.graders[service]
        seen = self._list_composite_replies(check, service, content)
        has_one_name = pair.old.engine == pair.new.engine
        if recorded is None and has_one_name and not seen:
            # Both services go by one name, so no kept reply says whose it is.
            grader.lacking.clear()
            return None
        served = None if recorded else {*list_served_models((pair.old, pair.new)[service])}
        choice = ReplyChoice(served, seen)
        found = grader.grade_check(variant, self.get_sample(content), recorded, choice)
        # Of one name, only the replies that the run saw are that service's; a failure of today is
        # not A's.
        is_other = (
            recorded is None
            and has_one_name
            and found is not None
            and not {*found.reply_digests} <= {*seen}
        )
        return None if is_other or (grader.has_failure and not recorded and not service) else found

    def _find_recorded(
        self, side: int, content: Content, variant: EncodedCheck
    ) -> CheckResult | None:
        if not self._has_records or content.sample >= len(self.recorded[side]):
            return None
        if content != self.find_content(side, side, content.sample):
            return None
        return self.recorded[side][content.sample].get(variant.content)

    def find_content(self, dataset: int, answer: int, sample: int) -> Content:
        """Return what a grader looks at, under one name where both runs have the same."""
        same_answer = sample < len(self._same_answers) and self._same_answers[sample]
        return Content(0 if self._same_reference else dataset, 0 if same_answer else answer, sample)

    def get_sample(self, content: Content) -> Sample:
        """Return the answer and the question that a grader looks at."""
        if content not in self._samples:
            question = mix_questions(
                self.questions[content.dataset], self.questions[content.answer]
            )
            self._samples[content] = Sample(
                self.rows[content.answer][content.sample].output, question
            )
        return self._samples[content]
