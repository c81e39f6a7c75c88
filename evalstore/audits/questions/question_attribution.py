"""Attributes common questions one by one.

It finds which factors differ, who answered as the judge, and what each edit did.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import chain

from evalstore.audits.attribution import Coalition, find_blocks
from evalstore.audits.check_matching import CheckNames
from evalstore.audits.edits.rubric_plan import (
    DATASET,
    INPUT,
    OUTPUTS,
    SERVICE,
    ContentLoader,
    PlanBuilder,
    RubricPlan,
    RunReferences,
)
from evalstore.audits.edits.version_comparison import prove_direction
from evalstore.audits.judge_evidence import JudgedPair, JudgeEvidence, list_served_models
from evalstore.audits.questions.question_cells import MissingCalls, MixedGrades
from evalstore.audits.questions.question_sets import (
    Gap,
    QuestionHistory,
    QuestionPair,
    find_gaps,
    find_repin,
    has_equal_words,
    trace_reference,
)
from evalstore.audits.questions.question_shares import (
    QuestionShares,
    Trees,
    find_idle_edits,
    grade_mixes,
    grade_steps,
    prune_tree,
    share_question,
)
from evalstore.audits.questions.share_patterns import AttributedChange, SharePatterns
from evalstore.audits.shapley import list_unions
from evalstore.audits.stored_run import Grader, RecordedResults, StoredRun, is_judged
from evalstore.audits.values import Drift, EditSource, FactorName, LineEffect, Origin
from evalstore.audits.version_path import VersionFinder
from evalstore.audits.wording.factors import has_other_prompt, name_prompt
from evalstore.diff.direction import join_directions
from evalstore.diff.findings import Direction
from evalstore.errors import RefusedError
from evalstore.identity_cache import IdentityCache
from evalstore.model import CheckResult, JudgeCall, Question, RubricResult, UnscoredReason, Verdict
from evalstore.model.question import compute_asked_digest
from evalstore.runs import GradedRow, Run
from evalstore.runs.question_mean import QuestionMean
from evalstore.runs.run_search import find_run_time
from evalstore.scoring.judging import JudgeSession
from evalstore.text import make_excerpt

_BLANK_EDIT = "white space of the question changed"
_ZERO = Fraction(0)
_CONTEXT_BITS = {
    FactorName.JUDGE_SERVICE: SERVICE,
    FactorName.DATASET: DATASET,
    FactorName.INPUT: INPUT,
    FactorName.OUTPUTS: OUTPUTS,
}

_CONTEXTS = 1 << DATASET | 1 << INPUT | 1 << OUTPUTS


def _is_other_question(row: GradedRow, question: Question) -> bool:
    # An empty digest is one that the run did not record.
    asked = compute_asked_digest(row.asked) if row.asked is not None else ""
    is_same = row.reference_digest in {"", question.reference_digest}
    return not is_same or row.input_digest not in {"", question.input_digest, asked}


def _describe_check_drift(
    names: CheckNames, recorded: Sequence[CheckResult], replayed: Sequence[CheckResult]
) -> str:
    """Return in words a check's first recorded result that replay does not reproduce.

    It is empty if there is none.
    """
    results = {names[check.id]: check for check in recorded if check.id in names}
    for check in replayed:
        before = results.get(check.id)
        if before is None or (before.score, before.verdict) != (check.score, check.verdict):
            was = "absent" if before is None else _describe(before.score, before.verdict)
            return f"{check.id} was {was}, is {_describe(check.score, check.verdict)}"
    if len(recorded) != len(replayed):
        return f"{len(recorded)} checks were recorded, the rubric has {len(replayed)}"
    return ""


def _describe(score: Fraction | None, verdict: Verdict) -> str:
    return "unscored" if score is None else f"{score} ({verdict})"


@dataclass(frozen=True, slots=True)
class AttributedQuestion:
    """One question: its result, and what is specific to it.

    Questions with equal answers share the result. `anchors` is how many questions an estimated
    share rests on, 0 if nothing is estimated; `service_keys` are the judged checks and models for
    which it is an anchor, or by which it is estimated. `cells` are what was graded.
    """

    id: str
    result: AttributedChange
    anchors: int
    service_keys: tuple[tuple[object, ...], ...]
    drift: tuple[Drift, ...]
    cells: MixedGrades

    @property
    def is_estimated(self) -> bool:
        """Whether any share in it rests on anchors."""
        return self.anchors > 0


@dataclass(frozen=True, slots=True)
class _SharedQuestion:
    """One question that both runs scored, and the plan of its rubrics.

    It has the row and the question itself in each run.
    """

    id: str
    rows: tuple[GradedRow, GradedRow]
    questions: tuple[Question, Question]
    plan: RubricPlan

    @property
    def has_other_reference(self) -> bool:
        # If both runs asked one version of the question, no digest is needed.
        old, new = self.questions
        return old is not new and old.reference_digest != new.reference_digest

    @property
    def has_other_input(self) -> bool:
        old, new = self.questions
        return (old is not new and old.input_digest != new.input_digest) or self.has_other_asked

    @property
    def has_other_asked(self) -> bool:
        """Whether the two runs asked different things, according to their own records."""
        old, new = self.rows
        is_recorded = old.asked is not None or new.asked is not None
        return (
            is_recorded
            and old.input_digest != new.input_digest
            and bool(old.input_digest and new.input_digest)
        )

    @property
    def has_same_content(self) -> bool:
        same = not self.has_other_input and not self.has_other_reference
        return same and self.rows[0].has_output_of(self.rows[1])

    def index_results(self, checks: Sequence[CheckResult], side: int) -> dict[str, CheckResult]:
        """Return the results of one run by the names of their checks."""
        names = self.plan.rubric.owner.names[side]
        return {names[check.id]: check for check in checks if check.id in names}

    def read_composites(self, checks: Sequence[CheckResult], side: int) -> RecordedResults:
        """Return results of composites with edits inside, by name.

        Their content does not show what is inside.
        """
        if self.plan.is_plain:
            return {}
        names = [check.name for check in self.plan.rubric.checks if check.inner]
        results = self.index_results(checks, side) if names else {}
        return {name: results[name] for name in names if name in results}

    def read_recorded(self, checks: Sequence[CheckResult], side: int) -> RecordedResults:
        """Return results that may not be obtainable again, by the content of their check.

        They rest on replies, or on engines that were missing.
        """
        failed = (one for one in checks if one.unscored is UnscoredReason.ERROR)
        if self.plan.is_plain and next(failed, None) is None:
            return {}
        results, found = self.index_results(checks, side), dict[str, CheckResult]()
        for check in self.plan.rubric.checks:
            result = results.get(check.name)
            if result and (check.slots or result.unscored is UnscoredReason.ERROR):
                variant = check.build_variant(check.relevant if side else 0)
                found |= {variant.content: result} if variant else {}
        return found


@dataclass
class QuestionAttributor:
    """Attributes common questions; plans of rubrics are made once.

    `asks_service` allows asking today's judge.
    """

    a: StoredRun
    b: StoredRun
    finder: VersionFinder
    session: JudgeSession
    tokens: ContentLoader
    references: tuple[RunReferences, RunReferences]
    graders: tuple[Grader, Grader]
    history: QuestionHistory
    asks_service: bool
    evidence: JudgeEvidence = field(default_factory=JudgeEvidence)
    price: MissingCalls = field(default_factory=MissingCalls)
    patterns: SharePatterns = field(default_factory=SharePatterns)
    _plans: dict[tuple[str, str, Origin | None], RubricPlan] = field(default_factory=dict)
    # Most questions share the objects of their checks' results with others.
    _check_drifts: IdentityCache[str] = field(
        default_factory=lambda: IdentityCache(_describe_check_drift)
    )

    @property
    def is_judged(self) -> bool:
        """Whether a judge may be involved in any score.

        If so, evidence about services is worth a look.
        """
        return is_judged(self.a, self.b)

    def add_evidence(self, pair: QuestionPair) -> None:
        """Note what one question shows about the service behind the judges.

        All are noted before any is attributed.
        """
        shared = self._open_question(pair)
        score = shared.rows[0].score
        if (pairs := _read_pairs(shared)) and score is not None:
            self.evidence.add_question(pairs, score)

    def attribute_question(self, pair: QuestionPair) -> AttributedQuestion:
        """Return the shares of one question that both runs have scored, by its cells.

        The cells mix what both runs used.
        """
        shared = self._open_question(pair)
        plan, pairs = shared.plan, _read_pairs(shared)
        cells = self._open_cells(shared, self._find_moved(pairs))
        contexts = {
            name: Coalition((_CONTEXT_BITS[name],)) for name in _list_contexts(shared, cells.moved)
        }
        attribute = partial(self._attribute_change, shared, cells, contexts)
        if plan.is_plain:
            find_source = partial(self._find_source, shared, {})
            sources = [(name, find_source(name, _CONTEXT_BITS[name])) for name in contexts]
            # A plan lives as long as these patterns, so no other has its id.
            result = self.patterns.find_change((id(plan), *sources), cells, attribute)
        else:
            result = attribute()
        known = {pair.key: self.evidence.count_anchors(pair) for pair in cells.moved.values()}
        anchors = (
            {key: count for key, count in known.items() if count} if cells.is_estimated else {}
        )
        return AttributedQuestion(
            id=shared.id,
            result=result,
            anchors=max(anchors.values(), default=0),
            service_keys=tuple(anchors) or tuple(self.evidence.list_anchor_keys(pairs)),
            drift=tuple(self._list_drift(shared, result.ends)),
            cells=cells,
        )

    def _attribute_change(
        self, shared: _SharedQuestion, cells: MixedGrades, contexts: Mapping[FactorName, Coalition]
    ) -> AttributedChange:
        plan = shared.plan
        # All edits: those that are idle here are not in the pruned tree.
        whole = sum(tree.edits for tree in (*plan.trees.values(), *contexts.values()))
        samples = zip((0, whole), map(len, cells.rows), strict=True)
        ends = [[cells.grade_all(mask, at) for at in range(count)] for mask, count in samples]
        gaps, left_out, is_emptied = _leave_gaps_out(shared, cells, whole, ends)
        shares = self._share_question(shared, cells, contexts)
        return AttributedChange(
            shares=shares,
            ends=ends,
            changed=frozenset((*plan.trees, *contexts)),
            is_judged=plan.rubric.is_judged,
            silent=plan.silent,
            whole=whole,
            gaps=gaps,
            left_out=left_out,
            is_emptied=is_emptied,
            alike=cells.alike,
            empty_checks=cells.left_out,
        )

    def _share_question(
        self, shared: _SharedQuestion, cells: MixedGrades, contexts: Mapping[FactorName, Coalition]
    ) -> QuestionShares | None:
        """Return the shares of a question; None if replay leaves either end of it unscored."""
        trees: Trees = {**_prune_trees(shared.plan, cells, contexts), **contexts}
        trees = {name: trees[name] for name in FactorName if name in trees}
        self.price.in_steps = False
        grade_mixes(trees, cells)
        blocks = find_blocks(tuple(trees.values()), cells.grade_score)
        self.price.in_steps = True
        grade_steps(trees, cells)
        if blocks is None:
            return None
        return share_question(trees, blocks, cells, partial(self._find_source, shared, cells.moved))

    def _list_drift(
        self, shared: _SharedQuestion, ends: Sequence[Sequence[RubricResult]]
    ) -> Iterator[Drift]:
        for side, run in enumerate("AB"):
            for row, results in zip(shared.rows[side].outputs, ends[side], strict=True):
                if what := self._describe_drift(shared, side, row, results):
                    yield Drift(run, row.id, what)

    def _describe_drift(
        self, shared: _SharedQuestion, side: int, row: GradedRow, replayed: RubricResult
    ) -> str:
        if _is_other_question(row, shared.questions[side]):
            return "the question differs from the recorded one"
        names = shared.plan.rubric.owner.names[side]
        # Runs of other tools record no checks.
        if row.checks and (what := self._check_drifts.find(names, row.checks, replayed.checks)):
            return what
        if (row.score, row.verdict) == (replayed.score, replayed.verdict):
            return ""
        was, found = (_describe(one.score, one.verdict) for one in (row, replayed))
        return f"the score was {was}, is {found}"

    def prove_direction(self) -> Direction:
        """Return which way the rubrics of the questions so far can move a score that has them."""
        pairs = dict.fromkeys((old, new) for old, new, _ in self._plans)
        versions = (
            (self.a.rubrics[old].version, self.b.rubrics[new].version) for old, new in pairs
        )
        return join_directions(*(prove_direction(self.finder, *pair) for pair in versions))

    def _open_question(self, pair: QuestionPair) -> _SharedQuestion:
        """Return a question with what graded it.

        Raises `RefusedError` if its run does not name that.
        """
        if pair.old is None or pair.new is None:
            raise AssertionError("a question that one run lacks cannot be compared")
        for stored, row in ((self.a, pair.old), (self.b, pair.new)):
            if pair.id not in stored.questions:
                raise RefusedError(
                    f"{stored.run.path} has a row for {row.id}, which is not a question of "
                    "its dataset"
                )
            if row.rubric not in stored.rubrics:
                what = row.rubric or "the rubric"
                raise RefusedError(
                    f"{stored.run.path} does not say what {what} was that graded {row.id}"
                )
        old, new = pair.old.rubric, pair.new.rubric
        versions = self.a.rubrics[old].version, self.b.rubrics[new].version
        # If a question moved to another rubric, all edits come from the reference in the dataset.
        repin = find_repin(self.history, pair.id)
        if repin is not None and self.finder.find_line(*versions):
            repin = None
        key = old, new, repin
        if key not in self._plans:
            builder = PlanBuilder(self.finder, self.tokens, self.references)
            self._plans[key] = builder.build_plan(self.a.rubrics[old], self.b.rubrics[new], key[2])
        questions = self.a.questions[pair.id], self.b.questions[pair.id]
        return _SharedQuestion(pair.id, (pair.old, pair.new), questions, self._plans[key])

    def _open_cells(self, shared: _SharedQuestion, moved: Mapping[str, JudgedPair]) -> MixedGrades:
        rows = shared.rows[0].outputs, shared.rows[1].outputs
        recorded = [
            [shared.read_recorded(row.checks, side) for row in rows[side]] for side in (0, 1)
        ]
        composites = [
            [shared.read_composites(row.checks, side) for row in rows[side]] for side in (0, 1)
        ]
        return MixedGrades(
            rubric=shared.plan.rubric,
            graders=self.graders,
            questions=shared.questions,
            rows=rows,
            recorded=(recorded[0], recorded[1]),
            composites=(composites[0], composites[1]),
            moved=moved,
            evidence=self.evidence,
            note_calls=self._note_calls,
        )

    def _note_calls(
        self,
        calls: Sequence[JudgeCall],
        again: bool,  # noqa: FBT001  # a callback
    ) -> None:
        self.price.add_calls(calls)
        for call in calls:
            if not again:
                self.session.ask(call)
            elif self.asks_service:
                self.session.ask_again(call)

    def _find_moved(self, pairs: Mapping[str, JudgedPair]) -> dict[str, JudgedPair]:
        """Return the judged checks that another service answered in run B."""
        return {name: pair for name, pair in pairs.items() if self.evidence.has_moved(pair)}

    def _find_source(
        self, shared: _SharedQuestion, moved: Mapping[str, JudgedPair], name: FactorName, bit: int
    ) -> EditSource:
        if name in {FactorName.RUBRIC, FactorName.JUDGE}:
            return shared.plan.sources[bit]
        if name is FactorName.JUDGE_SERVICE:
            return shared.plan.sources.get(SERVICE) or self._name_service(moved)
        if name is FactorName.DATASET:
            change = self._change_sources[FactorName.DATASET].origin
            return trace_reference(self.history, shared.id, shared.questions, change)
        source = self._change_sources[name]
        if name is FactorName.INPUT:
            if shared.has_other_asked:
                return replace(source, message="the two runs asked different things")
            message = (
                _BLANK_EDIT if has_equal_words(shared.questions, shared.rows) else source.message
            )
            origin = self.history.inputs.get(shared.id, source.origin)
            return replace(source, origin=origin, message=message)
        return source

    def _name_service(self, moved: Mapping[str, JudgedPair]) -> EditSource:
        """Name who answered as the judge in each run, and since when.

        Models are named as they name themselves.
        """
        old = _join_served(pair.old for pair in moved.values())
        new = _join_served(pair.new for pair in moved.values())
        if not moved:  # the runs asked for other models
            old, new = (str(grader.model.get("id", "")) for grader in self.graders)
        what = "the same model gave other replies"
        if old != new:
            named = f"{make_excerpt(new)} answered instead of {make_excerpt(old)}"
            what = named if old and new else "another model answered"
        message = f"{what}, since run B{self._day_of_b}"
        return EditSource(None, Origin(ref=None, old=old or "A", new=new or "B"), message=message)

    @cached_property
    def _day_of_b(self) -> str:
        time = find_run_time(self.b.run)
        return f" of {time.date()}" if time else ""

    @cached_property
    def _change_sources(self) -> Mapping[FactorName, EditSource]:
        """The sources that are the same for all questions: other datasets, inputs or outputs."""
        old, new, models = self.a.dataset, self.b.dataset, (self.a.run.model, self.b.run.model)
        dataset = Origin(ref=new.resolved.name, old=old.label, new=new.label)
        answered = _word_answering(self.a.run, self.b.run)
        return {
            FactorName.DATASET: EditSource(None, dataset),
            FactorName.INPUT: EditSource(None, dataset, message="the question itself changed"),
            FactorName.OUTPUTS: EditSource(
                None, Origin(ref=None, old=models[0], new=models[1]), message=answered
            ),
        }


def _join_served(results: Iterable[CheckResult]) -> str:
    """Return the models that answered as the judge, each once."""
    return ", ".join(dict.fromkeys(chain.from_iterable(map(list_served_models, results))))


def _word_answering(a: Run, b: Run) -> str:
    """Return what may have caused other outputs, according to the two runs."""
    prompts = f"{name_prompt(b.prompt)} against {name_prompt(a.prompt)}"
    if a.model != b.model:
        also = f"{prompts}, and " if has_other_prompt(a, b) else ""
        return f"{also}another model or its settings; stored outputs cannot say"
    return prompts if has_other_prompt(a, b) else "the same model answered again"


def _read_pairs(shared: _SharedQuestion) -> dict[str, JudgedPair]:
    """Return the results of the judged checks that both runs have graded, by check name."""
    plan, rows = shared.plan, shared.rows
    if not plan.rubric.is_judged:
        return {}
    old, new = (shared.index_results(rows[side].checks, side) for side in (0, 1))
    pairs: dict[str, JudgedPair] = {}
    for check in plan.rubric.checks:
        if not check.is_judged or check.name not in old or check.name not in new:
            continue
        # A result that no judge gave in either run says nothing about a service.
        if old[check.name].score is None and new[check.name].score is None:
            continue
        is_alike = check.asks_equally and not check.relevant >> SERVICE & 1
        pairs[check.name] = JudgedPair(
            check=(rows[0].rubric, rows[1].rubric, check.name),
            old=old[check.name],
            new=new[check.name],
            is_alike=is_alike,
            asks_alike=check.asks_alike,
            is_anchor=is_alike and shared.has_same_content,
            has_edits=check.inner is not None,
        )
    return pairs


def _list_contexts(
    shared: _SharedQuestion, moved: Mapping[str, JudgedPair]
) -> Iterator[FactorName]:
    """Yield the factors other than rubric and judge that differ in a question."""
    if shared.plan.floats or moved:
        yield FactorName.JUDGE_SERVICE
    if shared.has_other_reference:
        yield FactorName.DATASET
    # An answer to another question is not an answer to this one: the two enter together, as the
    # input.
    if shared.has_other_input:
        yield FactorName.INPUT
    elif not shared.rows[0].has_output_of(shared.rows[1]):
        yield FactorName.OUTPUTS


def _leave_gaps_out(
    shared: _SharedQuestion,
    cells: MixedGrades,
    whole: int,
    ends: Sequence[Sequence[RubricResult]],
) -> tuple[tuple[Gap, ...], LineEffect, bool]:
    """Leave out of all cells the checks that have nothing to grade in only one run.

    What the run answered or asked is the reason. `ends` are the results of all samples under the
    rubrics of their own run. Returns the checks, what the change of the question loses with them,
    and whether an end has no score without them.
    """
    checks = {check.name: check for check in shared.plan.rubric.checks}
    edits = whole & ~_CONTEXTS
    gaps: list[Gap] = []
    by_sample: list[frozenset[str]] = []
    for number, results in enumerate(zip(*ends, strict=False)):
        old, new = (shared.index_results(one.checks, side) for side, one in enumerate(results))
        both = ((gap, checks[gap.path[0]]) for gap in find_gaps(old, new))
        found = [gap for gap, check in both if cells.is_content_empty(check, edits, number)]
        gaps += found
        by_sample.append(frozenset(gap.path[0] for gap in found))
    if not gaps:
        return (), LineEffect(), False
    before = [cells.grade_mix(mask) for mask in (0, whole)]
    cells.leave_out(by_sample)
    after = [cells.grade_mix(mask) for mask in (0, whole)]
    is_emptied = False
    for mask, graded, left in zip((0, whole), before, after, strict=True):
        is_lost = graded.score is not None and left.score is None
        is_emptied |= is_lost and not cells.is_unasked(mask)
    changes = [_measure_change(*ends) for ends in (before, after)]
    lost = LineEffect(changes[0].score - changes[1].score, changes[0].passes - changes[1].passes)
    return tuple(gaps), LineEffect() if is_emptied else lost, is_emptied


def _measure_change(old: QuestionMean, new: QuestionMean) -> LineEffect:
    score = (new.score or _ZERO) - (old.score or _ZERO)
    passes = (new.pass_share or _ZERO) - (old.pass_share or _ZERO)
    return LineEffect(score, passes)


def _prune_trees(
    plan: RubricPlan, cells: MixedGrades, contexts: Trees
) -> dict[FactorName, Coalition]:
    trees = dict(plan.trees)
    if FactorName.RUBRIC in trees:
        # Checks without judges do not depend on who answered as the judge.
        mixes = list_unions(
            tree.edits for name, tree in contexts.items() if name is not FactorName.JUDGE_SERVICE
        )
        cells.idle = find_idle_edits(plan.rubric, cells, mixes)
        pruned = prune_tree(trees.pop(FactorName.RUBRIC), cells.idle)
        trees |= {FactorName.RUBRIC: pruned} if pruned else {}
    return trees
