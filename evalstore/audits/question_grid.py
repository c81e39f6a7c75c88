"""Attributes common questions one by one: which players differ, who answered as the judge, and what each edit did."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

from evalstore.audits.answer_replay import AnswerReplay
from evalstore.audits.attribution import Coalition, find_blocks
from evalstore.audits.drift import find_drift
from evalstore.audits.grader import Grader, RecordedResults
from evalstore.audits.idle_edits import find_idle_edits, prune_tree
from evalstore.audits.judge_evidence import JudgedPair, JudgeEvidence
from evalstore.audits.question_cells import QuestionCells
from evalstore.audits.question_shares import QuestionShares, Trees, grade_mixes, grade_steps, share_question
from evalstore.audits.rubric_plan import (
    DATASET,
    INPUT,
    OUTPUTS,
    SERVICE,
    PlanBuilder,
    RubricPlan,
    RunRulers,
    TokenLoader,
)
from evalstore.audits.shapley import join_masks
from evalstore.audits.stored_run import QuestionHistory, StoredRun, find_repin, is_judged, trace_reference
from evalstore.audits.values import Drift, EditSource, Origin, PlayerName, Price
from evalstore.audits.version_path import VersionFinder
from evalstore.judging import JudgeSession
from evalstore.model import CheckResult, JudgeCall, UnscoredReason

_CONTEXT_BITS = {
    PlayerName.JUDGE_SERVICE: SERVICE,
    PlayerName.DATASET: DATASET,
    PlayerName.INPUT: INPUT,
    PlayerName.OUTPUTS: OUTPUTS,
}
_SERVICE_SOURCE = EditSource(None, Origin(None, "A", "B"), message="another model or other replies behind the judge")


@dataclass(frozen=True, slots=True)
class AttributedQuestion:
    """One question: its shares (None where replay leaves an end of it unscored), and what differs in it.

    `anchors` is how many questions an estimated share rests on, 0 where nothing is estimated; `is_judged` says whether
    judges have a part in its score, and `silent` are findings about its rubric that can move nothing. `open_cells`
    gives its cells, of which `whole` is run B's.
    """

    id: str
    shares: QuestionShares | None
    changed: frozenset[PlayerName]
    is_judged: bool
    anchors: int
    silent: tuple[EditSource, ...]
    drift: tuple[Drift, ...]
    open_cells: Callable[[], QuestionCells]
    whole: int


@dataclass(slots=True)
class PriceList:
    """The calls that are missing: those that would tell players apart, and those for the steps of judges as well."""

    players: set[str] = field(default_factory=set)
    steps: set[str] = field(default_factory=set)
    in_steps: bool = False

    def add_calls(self, calls: Sequence[JudgeCall]) -> None:
        """Add calls, each once."""
        (self.steps if self.in_steps else self.players).update(call.key for call in calls)

    def count_calls(self) -> Price:
        """Return how many calls are missing for the players, and for the steps of judges as well."""
        return Price(len(self.players), len(self.players | self.steps))


@dataclass
class QuestionAttributor:
    """Attributes common questions; plans of rubrics are made once. `asks_service` lets today's judge be asked."""

    a: StoredRun
    b: StoredRun
    finder: VersionFinder
    session: JudgeSession
    tokens: TokenLoader
    rulers: tuple[RunRulers, RunRulers]
    graders: tuple[Grader, Grader]
    history: QuestionHistory
    asks_service: bool
    evidence: JudgeEvidence = field(default_factory=JudgeEvidence)
    price: PriceList = field(default_factory=PriceList)
    _plans: dict[tuple[str, str, Origin | None], RubricPlan] = field(default_factory=dict)
    # By the identity of a plan, all of which are kept.
    _replays: dict[int, AnswerReplay | None] = field(default_factory=dict)

    @property
    def is_judged(self) -> bool:
        """Whether a judge may have a part in some score, so that evidence of services is worth a look."""
        return is_judged(self.a, self.b)

    def add_evidence(self, id_: str) -> None:
        """Note what one question says of the service behind the judges; all are noted before one is attributed."""
        score = self.a.rows[id_].score
        if (pairs := self.read_pairs(id_)) and score is not None:
            self.evidence.add_question(pairs, score)

    def attribute_question(self, id_: str) -> AttributedQuestion:
        """Return the shares of one question that both runs have scored."""
        plan = self._find_plan(id_)
        return self._replay_answers(id_, plan) or self._mix(id_, plan)

    def _replay_answers(self, id_: str, plan: RubricPlan) -> AttributedQuestion | None:
        """Attribute a question that another one may be like; None for any other."""
        rows, (old, new) = (self.a.rows[id_], self.b.rows[id_]), (self.a.questions[id_], self.b.questions[id_])
        is_alike = old is new or (old.input_digest, old.reference_digest) == (new.input_digest, new.reference_digest)
        replay = self._prepare_replay(plan) if is_alike else None
        if replay is None:
            return None
        shares = replay.share_question(new, rows, lambda: self._mix(id_, plan).shares)
        if shares is None:
            return None
        changed = frozenset((*plan.trees, *(name for players in shares.blocks for name in players)))
        open_cells = partial(self._open_cells, id_, plan)
        return AttributedQuestion(
            id_,
            shares,
            changed,
            is_judged=False,
            anchors=0,
            silent=plan.silent,
            drift=(),
            open_cells=open_cells,
            whole=sum(tree.edits for tree in plan.trees.values())
            | (1 << OUTPUTS if PlayerName.OUTPUTS in changed else 0),
        )

    def _prepare_replay(self, plan: RubricPlan) -> AnswerReplay | None:
        if id(plan) not in self._replays:
            self._replays[id(plan)] = AnswerReplay.prepare(plan, self.graders[0])
        return self._replays[id(plan)]

    def _mix(self, id_: str, plan: RubricPlan) -> AttributedQuestion:
        """Attribute a question by its cells, which mix what both runs used."""
        cells = self._open_cells(id_, plan)
        contexts = {name: Coalition((_CONTEXT_BITS[name],)) for name in self._list_contexts(id_, plan, cells.moved)}
        trees: Trees = {**_prune_trees(plan, cells, contexts), **contexts}
        trees = {name: trees[name] for name in PlayerName if name in trees}
        self.price.in_steps = False
        grade_mixes(trees, cells)
        blocks = find_blocks(tuple(trees.values()), cells.find_score)
        self.price.in_steps = True
        grade_steps(trees, cells)
        shares = None
        if blocks is not None:
            find_source = partial(self._find_source, id_, plan)
            shares = share_question(trees, blocks, cells, find_source)
        # All edits: those that are idle here are not in the pruned tree.
        whole = sum(tree.edits for tree in (*plan.trees.values(), *contexts.values()))
        anchors = [self.evidence.count_anchors(pair) for pair in cells.moved.values()] if cells.is_estimated else []
        return AttributedQuestion(
            id=id_,
            shares=shares,
            changed=frozenset(plan.trees) | frozenset(contexts),
            is_judged=plan.rubric.is_judged,
            anchors=max(anchors, default=0),
            silent=plan.silent,
            drift=tuple(self._find_drift(id_, plan, cells, whole)),
            open_cells=lambda: cells,
            whole=whole,
        )

    def find_players(self, id_: str) -> frozenset[PlayerName]:
        """Return who differs in one question; nothing is graded."""
        plan = self._find_plan(id_)
        return frozenset(plan.trees) | frozenset(self._list_contexts(id_, plan, self._find_moved(id_)))

    def read_pairs(self, id_: str) -> dict[str, JudgedPair]:
        """Return the results of the judged checks that both runs have graded, by the name of the check."""
        plan, rows = self._find_plan(id_), (self.a.rows[id_], self.b.rows[id_])
        if not plan.rubric.is_judged:
            return {}
        old, new = (_index_results(plan, rows[side].checks, side) for side in (0, 1))
        pairs: dict[str, JudgedPair] = {}
        for check in plan.rubric.checks:
            if not check.is_judged or check.name not in old or check.name not in new:
                continue
            # What no judge answered in either run says nothing of a service.
            if old[check.name].score is None and new[check.name].score is None:
                continue
            variants = check.build_variant(0), check.build_variant(check.relevant)
            is_alike = (
                variants[0] is not None and variants[1] is not None and variants[0].content == variants[1].content
            )
            is_alike = is_alike and not check.relevant >> SERVICE & 1
            pairs[check.name] = JudgedPair(
                check=(rows[0].rubric, rows[1].rubric, check.name),
                old=old[check.name],
                new=new[check.name],
                is_alike=is_alike,
                asks_alike=check.asks_alike,
                is_anchor=is_alike and self._has_same_content(id_),
            )
        return pairs

    def _find_drift(self, id_: str, plan: RubricPlan, cells: QuestionCells, whole: int) -> Iterator[Drift]:
        for side, (run, stored) in enumerate((("A", self.a), ("B", self.b))):
            for number, row in enumerate(stored.rows[id_].outputs):
                results = cells.grade_all(whole if side else 0, number)
                recorded = _index_results(plan, row.checks, side)
                yield from find_drift(run, row, stored.questions[id_], recorded, results)

    def _has_same_content(self, id_: str) -> bool:
        old, new = self.a.questions[id_], self.b.questions[id_]
        same = old.input_digest == new.input_digest and old.reference_digest == new.reference_digest
        return same and self.a.rows[id_].has_output_of(self.b.rows[id_])

    def _find_plan(self, id_: str) -> RubricPlan:
        old, new = self.a.rows[id_].rubric, self.b.rows[id_].rubric
        name = new.partition("@")[0]
        # A question that moved to another rubric has one edit, whose origin is that of the reference in the dataset.
        key = old, new, None if old.partition("@")[0] == name else find_repin(self.history, id_)
        if key not in self._plans:
            builder = PlanBuilder(self.finder, self.tokens, self.rulers)
            self._plans[key] = builder.build_plan(self.a.rubrics[old], self.b.rubrics[new], key[2])
        return self._plans[key]

    def _open_cells(self, id_: str, plan: RubricPlan) -> QuestionCells:
        rows = self.a.rows[id_].outputs, self.b.rows[id_].outputs
        recorded = [
            [_read_recorded(plan, _index_results(plan, row.checks, side), side) for row in rows[side]]
            for side in (0, 1)
        ]
        return QuestionCells(
            rubric=plan.rubric,
            graders=self.graders,
            questions=(self.a.questions[id_], self.b.questions[id_]),
            rows=rows,
            recorded=(recorded[0], recorded[1]),
            moved=self._find_moved(id_),
            evidence=self.evidence,
            note_calls=self._note_calls,
        )

    def _note_calls(self, calls: Sequence[JudgeCall], again: bool) -> None:  # noqa: FBT001  # a callback
        self.price.add_calls(calls)
        for call in calls:
            if not again:
                self.session.ask(call)
            elif self.asks_service:
                self.session.ask_again(call)

    def _find_moved(self, id_: str) -> dict[str, JudgedPair]:
        """Return the judged checks that another service answered in run B."""
        return {name: pair for name, pair in self.read_pairs(id_).items() if self.evidence.has_moved(pair)}

    def _list_contexts(self, id_: str, plan: RubricPlan, moved: Mapping[str, JudgedPair]) -> Iterator[PlayerName]:
        """Yield the players beside rubric and judge that differ in a question."""
        old, new = self.a.questions[id_], self.b.questions[id_]
        if plan.floats or moved:
            yield PlayerName.JUDGE_SERVICE
        # Where both runs asked one version of the question, no digest is needed.
        is_other = old is not new
        if is_other and old.reference_digest != new.reference_digest:
            yield PlayerName.DATASET
        # An answer to another question is no answer to this one: the two enter together, as the input.
        if is_other and old.input_digest != new.input_digest:
            yield PlayerName.INPUT
        elif not self.a.rows[id_].has_output_of(self.b.rows[id_]):
            yield PlayerName.OUTPUTS

    def _find_source(self, id_: str, plan: RubricPlan, player: PlayerName, bit: int) -> EditSource:
        if player in {PlayerName.RUBRIC, PlayerName.JUDGE}:
            return plan.sources[bit]
        if player is PlayerName.JUDGE_SERVICE:
            return _SERVICE_SOURCE
        if player is PlayerName.DATASET:
            return trace_reference(self.history, id_, self._change_sources[PlayerName.DATASET].origin)
        return self._change_sources[player]

    @cached_property
    def _change_sources(self) -> Mapping[PlayerName, EditSource]:
        """The sources that are the same for all questions: another dataset, other inputs, other outputs."""
        old, new, models = self.a.dataset, self.b.dataset, (self.a.run.model, self.b.run.model)
        dataset = Origin(new.resolved.name, old.label, new.label)
        same = "the same model answered again"
        answered = same if models[0] == models[1] else "model and its settings, which stored outputs cannot separate"
        return {
            PlayerName.DATASET: EditSource(None, dataset),
            PlayerName.INPUT: EditSource(None, dataset, message="another question is asked, and answered"),
            PlayerName.OUTPUTS: EditSource(None, Origin(None, *models), message=answered),
        }


def _prune_trees(plan: RubricPlan, cells: QuestionCells, contexts: Trees) -> dict[PlayerName, Coalition]:
    trees = dict(plan.trees)
    if PlayerName.RUBRIC in trees:
        # What answered as the judge has no part in checks without judges.
        bits = [tree.edits for name, tree in contexts.items() if name is not PlayerName.JUDGE_SERVICE]
        mixes = [join_masks(bits, held) for held in range(1 << len(bits))]
        pruned = prune_tree(trees.pop(PlayerName.RUBRIC), find_idle_edits(plan.rubric, cells, mixes))
        trees |= {PlayerName.RUBRIC: pruned} if pruned else {}
    return trees


def _index_results(plan: RubricPlan, checks: Sequence[CheckResult], side: int) -> dict[str, CheckResult]:
    """Return the results of one run by the names of their checks."""
    names = plan.rubric.owner.names[-side]
    return {names[check.id]: check for check in checks if check.id in names}


def _read_recorded(plan: RubricPlan, results: Mapping[str, CheckResult], side: int) -> RecordedResults:
    """Return results by content of their check: those that rest on replies, or on engines that were not there."""
    found: dict[str, CheckResult] = {}
    for check in plan.rubric.checks:
        result, variant = results.get(check.name), check.build_variant(check.relevant if side else 0)
        if variant and result and (check.slots or result.unscored is UnscoredReason.ERROR):
            found[variant.content] = result
    return found
