"""The values of an audit: exact numbers that add up, each with its cause; no logic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

from evalstore.audits.slices import AuditSlice
from evalstore.checks import find_check_kind
from evalstore.diff import DiffFinding
from evalstore.model import CheckResult, Verdict
from evalstore.model.outcome import NO_GRADINGS, Coverage
from evalstore.notebook import PageValue, format_repr
from evalstore.release.history.origins import PartOrigin
from evalstore.runs import GradedRow
from evalstore.runs.output_likeness import NO_OUTPUTS, OutputLikeness
from evalstore.statistics import Conclusion, Interval, MoveCounts
from evalstore.text import make_excerpt

# The rule for an edit that gave a question other values for the checks that read them.
VALUE_RULE = "question-value-changed"
# The lines that sum to what no factor moved, by name, each as people read it.
LINE_LABELS: Mapping[str, str] = {
    "mix": "question mix",
    "no_answer": "no answer",
    "nothing_to_grade": "nothing to grade",
    "judge_errors": "checks not graded",
    "not_reproduced": "not reproduced",
}


class FactorName(StrEnum):
    """What can move a score, in the order of the report.

    `JUDGE_SERVICE` is what answered as the judge.
    """

    RUBRIC = "rubric"
    JUDGE = "judge"
    JUDGE_SERVICE = "judge_service"
    DATASET = "dataset"
    INPUT = "input"
    OUTPUTS = "outputs"

    @property
    def label(self) -> str:
        """The name in sentences."""
        return self.replace("_", " ")


# Who has a part in what the outputs themselves did.
OWN_FACTORS = frozenset({FactorName.INPUT, FactorName.OUTPUTS})


@dataclass(frozen=True, slots=True)
class RunSide:
    """One of the two runs: its mean score and pass rate, and what it was made from.

    `run` is the path of its aggregate JSON. `coverage` is that of the gradings that its rubrics ask
    for. If a run has no score because gradings failed, `ungraded` says what was not graded, and
    `score` is that of the rest. `prompt` is the name that its outputs give their prompt template,
    if any.
    """

    run: str
    score: Fraction
    passes: Fraction
    questions: int
    scored: int
    model: str
    dataset: str
    rubrics: tuple[str, ...]
    coverage: Coverage = NO_GRADINGS
    ungraded: str = ""
    prompt: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin(PartOrigin):
    """Where an edit comes from: the origin of its part, and in which artifact.

    `undoes`: B lacks what its commit did. `ref` is the artifact without a pin (None for outputs);
    `old` and `new` are the versions at both ends.
    """

    ref: str | None
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class EditSource:
    """What one edit is: the diff rule that names it, and its origin.

    `rule` is None for new outputs; `rules` are all that fit. `findings` are those of the diff that
    name it.
    """

    rule: str | None
    origin: Origin
    part: str = ""
    rules: tuple[str, ...] = ()
    message: str = ""
    findings: tuple[DiffFinding, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Cause:
    """One edit's share of the mean score and of the pass rate.

    `error` bounds its standard error, and is 0 if the share is exact.
    """

    source: EditSource
    share: Fraction
    passes: Fraction
    moved: int
    error: float = 0.0


@dataclass(frozen=True, slots=True)
class QuestionShare:
    """One question, and how far one factor moved its score."""

    id: str
    share: Fraction


@dataclass(frozen=True, slots=True)
class Factor:
    """The share of one factor in the change on the compared questions.

    It may be that of several factors that move together. `share` is of the mean score, `passes` of
    the pass rate. `order` is the smallest and the largest share that any first-or-last order gives,
    `ci` the 95 % interval for questions like these, `standard_error` that of the mean over
    questions or groups, `p` the sign-flip mid-p (None if nothing was sampled), `changed` the number
    of questions in which the factor differs, `moved` the number of scores that it moved, `claim`
    what may be concluded. `anchors` is how many questions an estimated share of the service, or of
    what the outputs did besides, rests on; None if it is graded; if estimated, `p` of the outputs
    is Welch's test of the rest against the anchors. `flipped` counts the verdicts that it has a
    part in. `detectable` is the smallest share that this many questions can show (MDE). `typical`
    counts the questions, or groups, that it moved down and up, and `verdicts` those whose verdict
    it turned; None if nothing was sampled, or it is estimated. `noise` is how far the judge's own
    noise moves a score, if the share is within that. `ci_passes` is the 95 % interval of its share
    of the pass rate, if that was sampled and not estimated.
    """

    members: tuple[FactorName, ...]
    share: Fraction
    passes: Fraction
    order: tuple[Fraction, Fraction]
    ci: Interval | None
    standard_error: float | None
    p: float | None
    changed: int
    moved: int
    flipped: int
    claim: str
    causes: tuple[Cause, ...]
    worst: tuple[QuestionShare, ...]
    conclusion: Conclusion | None = None
    anchors: int | None = None
    detectable: float | None = None
    typical: MoveCounts | None = None
    verdicts: MoveCounts | None = None
    noise: float | None = None
    ci_passes: Interval | None = None

    @property
    def name(self) -> str:
        """The name of its factor, or the joint name."""
        return join_names(self.members)

    @property
    def label(self) -> str:
        """The name in sentences."""
        return self.name.replace("_", " ")

    @property
    def is_exact(self) -> bool:
        """Whether the share is fully graded, not estimated from some questions or orders."""
        return self.anchors is None and not any(cause.error for cause in self.causes)


def join_names(names: Sequence[FactorName]) -> str:
    """Return the name of a factor, or the joint name of several, with the judge service last."""
    if len(names) == 1:
        return str(names[0])
    return " + ".join(
        name.label for name in sorted(names, key=lambda one: one is FactorName.JUDGE_SERVICE)
    )


@dataclass(frozen=True, slots=True)
class LineEffect:
    """How far one line moves the mean score and the pass rate."""

    score: Fraction = Fraction(0)
    passes: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class Mix:
    """The questions that only one run has, because the other's dataset lacks them."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FailedCheck:
    """A check that one run graded and the other could not.

    It says on how many questions, and the first error.
    """

    run: str
    check: str
    kind: str
    questions: int
    error: str


@dataclass(frozen=True, slots=True)
class EmptyCheck:
    """A check with nothing to grade in one run, which the other graded.

    It says on how many questions, and the reason on the first. The reason is that no calls were
    recorded, that there is no code, or that the question lists nothing.
    """

    run: str
    check: str
    kind: str
    questions: int
    reason: str


@dataclass(frozen=True, slots=True)
class Lines:
    """What moves the means without being a factor, and the questions behind it.

    `no_answer_as_zero` is the line `no_answer` with missing answers counted as 0. `silent_a` and
    `silent_b` are the questions that run A and run B did not answer, `errors` those that one run
    could not grade, `emptied` those in which a check that one run graded had nothing to grade in
    the other: both are compared without it, and what that moves is `nothing_to_grade`.
    """

    mix: LineEffect = LineEffect()
    no_answer: LineEffect = LineEffect()
    no_answer_as_zero: LineEffect = LineEffect()
    nothing_to_grade: LineEffect = LineEffect()
    judge_errors: LineEffect = LineEffect()
    not_reproduced: LineEffect = LineEffect()
    questions: Mix = Mix()
    silent_a: tuple[str, ...] = ()
    silent_b: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    failed_checks: tuple[FailedCheck, ...] = ()
    emptied: tuple[str, ...] = ()
    empty_checks: tuple[EmptyCheck, ...] = ()

    @property
    def by_name(self) -> dict[str, LineEffect]:
        """The lines that sum to `total`, by the names of `LINE_LABELS`."""
        return {name: getattr(self, name) for name in LINE_LABELS}

    @property
    def labels(self) -> dict[str, str]:
        """The lines as people read them, by name.

        The line of failed checks is named after what failed.
        """
        kinds = [find_check_kind(one.kind) for one in self.failed_checks]
        if kinds and all(kind.is_judgement for kind in kinds):
            return {**LINE_LABELS, "judge_errors": "judge errors"}
        is_inner = all(kind.holds_rubric for kind in kinds)
        names = [*{one.check if is_inner else one.kind for one in self.failed_checks}]
        named = (
            {"judge_errors": f"{make_excerpt(names[0], 24)} not graded"} if len(names) == 1 else {}
        )
        return {**LINE_LABELS, **named}

    @property
    def told(self) -> dict[str, LineEffect]:
        """The lines to report.

        They moved a mean, or have questions behind them although their mean did not move.
        """
        mix = self.questions
        behind = {
            "mix": (*mix.added, *mix.removed),
            "no_answer": (*self.silent_a, *self.silent_b),
            "nothing_to_grade": self.emptied,
            "judge_errors": self.errors,
        }
        lines = self.by_name.items()
        return {name: line for name, line in lines if line != LineEffect() or behind.get(name)}

    @property
    def total(self) -> LineEffect:
        """The sum of the lines."""
        lines = self.by_name.values()
        return LineEffect(
            sum((line.score for line in lines), Fraction(0)),
            sum((line.passes for line in lines), Fraction(0)),
        )


@dataclass(frozen=True, slots=True)
class OwnShare:
    """What the outputs themselves did: outputs, input and no answer.

    `shapley` is the Shapley value; `old` is under all of A's rubrics, `new` under B's. None if it
    cannot be separated from what another factor did. `passes` is the Shapley value for the pass
    rate, and `typical` the change of the typical question. The 95 % intervals are for questions
    like these; None if there are too few questions, groups or anchors. They are 0 wide if nothing
    was sampled.
    """

    shapley: Fraction | None
    old: Fraction | None
    new: Fraction | None
    ci: Interval | None = None
    ci_old: Interval | None = None
    ci_new: Interval | None = None
    passes: Fraction | None = None
    ci_passes: Interval | None = None
    typical: Fraction | None = None
    ci_typical: Interval | None = None


@dataclass(frozen=True, slots=True)
class Flips:
    """The compared questions whose verdict flipped, and by whom.

    By factor they are those that it has a part in. `mid_p` is McNemar's: how often chance would
    give what was sampled (outputs, inputs, a judge's service) a part as uneven; a rubric's part is
    not chance. None if nothing was sampled.
    """

    pass_to_fail: tuple[str, ...]
    fail_to_pass: tuple[str, ...]
    by: Mapping[str, tuple[str, ...]]
    mid_p: float | None


@dataclass(frozen=True, slots=True)
class Drift:
    """A recorded result that replay does not reproduce, in words."""

    run: str
    id: str
    what: str


@dataclass(frozen=True, slots=True)
class InputEdits:
    """How the compared questions that B asks differently differ.

    It counts those edited in white space alone, and those with other outputs.
    """

    white_space: int = 0
    other_outputs: int = 0


@dataclass(frozen=True, slots=True)
class PairsByInput:
    """Questions paired because they ask the same under other ids.

    They are the ids of B by those of A. `renames` are those that `renames:` can declare: an id that
    both runs have names two questions.
    """

    ids: Mapping[str, str] = field(default_factory=dict)
    renames: Mapping[str, str] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.ids)


NO_PAIRS = PairsByInput()


@dataclass(frozen=True, slots=True)
class Price:
    """The judge calls that would separate more.

    `calls` are for factors that move together, `steps` for the steps of a judge as well.
    """

    calls: int = 0
    steps: int = 0


@dataclass(frozen=True, slots=True)
class ServiceAssumption:
    """The assumption that the service behind the judges did not change.

    Both runs name its models; `calls` would verify it.
    """

    served: tuple[str, ...]
    calls: int


@dataclass(frozen=True, slots=True)
class JudgeNoiseEstimate:
    """How far judges alone move a change: 95 % stay below `reach`.

    `measured` are the measured standard deviations by reference. Judges that are `unmeasured` are
    not included, so their noise comes on top.
    """

    reach: float
    measured: Mapping[str, float]
    unmeasured: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QuestionCell:
    """One output under one rubric, each that of run A or B.

    `score` is None if it is unscored or a reply is missing. `recorded`: as the run has it, else
    graded now. `missing` counts the judge calls that it lacks; in the cells of an audit it is 1 if
    there are any.
    """

    output: str
    under: str
    rubric: str
    score: Fraction | None
    verdict: Verdict
    checks: tuple[CheckResult, ...]
    recorded: bool
    missing: int = 0


@dataclass(frozen=True, slots=True)
class MovedQuestion:
    """A question that some factor moved.

    `shares` and `edits` say by factor and by edit how far, in score and passes; zeros are left out.
    `rows` are those of run A and of run B; `cells` the four of outputs and rubrics, A's first, as
    the shares use them. `is_estimated` says that some of them rest on anchors.
    """

    id: str
    rows: tuple[GradedRow, GradedRow]
    tags: tuple[str, ...]
    shares: Mapping[str, LineEffect]
    edits: tuple[tuple[EditSource, LineEffect], ...]
    cells: tuple[QuestionCell, ...]
    is_estimated: bool = False


@dataclass(frozen=True, slots=True)
class Audit(PageValue):
    """Why two runs score differently.

    `delta` is the sum of the shares of all factors and of all lines.

    Attributes:
        a: The first run: `.run`, `.model`, `.score`, `.pass_rate`.
        b: The second run.
        delta: The score of B minus that of A, a fraction of 1.
        passes_delta: The same for the pass rate.
        common: How many questions both runs answered.
        common_a: The mean of A over those.
        common_b: The mean of B over those.
        factors: What moved the score, each with `.name`, `.share`, `.ci`, `.conclusion`, and
            `.causes`: the edits with version, commit and author.
        lines: What only one run has, or what could not be graded: `.added`, `.removed`,
            `.no_answer`.
        own: What the outputs themselves did, under both rubrics.
        own_as_zero: The same, with missing answers counted as 0.
        flips: The questions whose verdict turned.
        drift: Recorded results that grading again did not reproduce.
        input_changed: The questions that were asked differently.
        input_edits: How.
        pairs_by_input: The questions paired by equal input, if their ids differ.
        outputs: How similar the outputs are, for questions that did not change.
        price: How many judge calls would settle what is estimated.
        judge_noise: How far judges alone move the change.
        assumption: What is assumed about the service behind the judges.
        ungraded: On how many compared questions a check failed in both runs.
        sentence: What moved the score, in a sentence.
        asides: Notes without which the answer would mislead.
        notes: What else to know, in sentences.
        slices: The result by tag, group or check, if requested.
        moved: The questions that moved most, as many as requested, flips first.
        moved_count: How many questions moved.

    Examples:
        >>> run = score("dataset/help_desk", "outputs/model_a.jsonl", store=store, out=None)
        >>> audit(run, run, store).delta
        Fraction(0, 1)
    """

    a: RunSide
    b: RunSide
    delta: Fraction
    passes_delta: Fraction
    common: int
    common_a: Fraction
    common_b: Fraction
    factors: tuple[Factor, ...]
    lines: Lines
    own: OwnShare
    own_as_zero: OwnShare
    drift: tuple[Drift, ...]
    flips: Flips
    input_changed: tuple[str, ...]
    sentence: str
    input_edits: InputEdits = InputEdits()
    pairs_by_input: PairsByInput = NO_PAIRS
    outputs: OutputLikeness = NO_OUTPUTS
    price: Price = Price()
    judge_noise: JudgeNoiseEstimate | None = None
    assumption: ServiceAssumption | None = None
    ungraded: int = 0
    asides: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    slices: tuple[AuditSlice, ...] = ()
    moved: tuple[MovedQuestion, ...] = ()
    moved_count: int = 0

    def __repr__(self) -> str:
        points = f"{float(self.delta) * 100:+.2f} points"
        return format_repr(
            self, f"{self.a.run} -> {self.b.run}", points, f"{self.common:,} questions in both"
        )
