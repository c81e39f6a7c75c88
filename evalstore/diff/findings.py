"""The result of a comparison: findings, each with its level, and the bump that all need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from fractions import Fraction
from typing import Any, NamedTuple

from evalstore.errors import Place
from evalstore.model import Verdict, format_decimal
from evalstore.model.measures import NO_MEASURES, Measures
from evalstore.notebook import PageValue, format_repr
from evalstore.text import count_noun
from evalstore.versions import Bump


class Direction(StrEnum):
    """How the score (or the verdict) of one fixed output can change."""

    NONE = "none"
    STRICTER = "stricter"
    LOOSER = "looser"
    EITHER = "either"


class Profile(StrEnum):
    """What must not move without a major bump: an output's score, or a headline mean as well."""

    SCORE = "score"
    HEADLINE = "headline"


class Detail(StrEnum):
    """How much a comparison finds out; each member adds to the one before it.

    RULES: the rule of each edit, with no search for its effect. LEVELS: levels without messages.
    BUMP: messages, places and values. FINDINGS: directions and bounds. WITNESSES: an output that
    shows each edit, which is most of the work.
    """

    RULES = "rules"
    LEVELS = "levels"
    BUMP = "bump"
    FINDINGS = "findings"
    WITNESSES = "witnesses"


class Certainty(StrEnum):
    """How sure a finding is: something that ran shows it, scoring is defined so, or neither."""

    PROVED = "proved"
    BY_DEFINITION = "by-definition"
    ASSUMED = "assumed"


class JudgedScore(NamedTuple):
    """The score that judges are assumed to give: for a check, or `about` some of its statements."""

    check: str
    score: Fraction
    about: str = ""


@dataclass(frozen=True, slots=True)
class Witness:
    """An output whose score or verdict moves, graded before and after the edit.

    `tool_calls` are its recorded calls, if any; `measures` are the numbers recorded about it.

    `judged` has the checks whose judges are assumed to give these scores. `least_shift` is how far
    the score rises at least (below 0: falls), whatever score judges give; None if unknown.
    `question` is the question that the output answers, if any. If the output is an example of a
    file, `example` is its place; else the output is invented. `supposed`: it is assumed that judges
    answer two wordings differently, which only their replies can show.
    """

    output: str
    old_score: Fraction | None
    new_score: Fraction | None
    old_verdict: Verdict
    new_verdict: Verdict
    tool_calls: tuple[Mapping[str, Any], ...] | None = None
    judged: tuple[JudgedScore, ...] = ()
    least_shift: Fraction | None = None
    question: Mapping[str, Any] | None = None
    example: Place | None = None
    supposed: bool = False
    measures: Measures = NO_MEASURES


@dataclass(frozen=True, slots=True)
class ReplyWitness:
    """A reply that an edited judge reads differently, with both scores.

    Scores are from 0 to 1; None means no score.
    """

    reply: str
    old_score: Fraction | None
    new_score: Fraction | None


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two documents: its reference, if it has one, and its digest."""

    ref: str | None
    digest: str


@dataclass(frozen=True, slots=True)
class AcceptedLevel:
    """A finding's level that somebody accepted as lower: why, who, and from when until when.

    The last day is inclusive. `was` is the level that the finding had then.
    """

    level: Bump
    was: Bump
    reason: str
    by: str
    day: date
    until: date | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """How an output's score and verdict can change, and how far if it is scored on both sides.

    `max_shift` bounds how far such a score moves, whatever errs or is missing; `max_shift_scored`
    is the bound if every check, and each of its statements, has a score. None means unknown.
    """

    direction: Direction
    verdict_direction: Direction
    max_shift: Fraction | None
    max_shift_scored: Fraction | None = None

    @property
    def directions(self) -> tuple[Direction, Direction]:
        """The directions of the score and of the verdict."""
        return self.direction, self.verdict_direction


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffFinding(Claim):
    """A rule's judgement on one edit; without place and message if only levels are asked for.

    `level` counts; `level_before` is the rule's own level, before an override (`overridden` is the
    setting that matched) and an acceptance. Claim and witness are about this edit alone. `before`
    and `after` are the exchanged plain values, which the message states; None means absent. A
    finding on the rubric of questions is true for this number of `questions`, and `question_ids`
    are the first of them. `is_sent`: the edit changes what judges are sent, so only their replies
    show its effect.
    """

    rule: str
    level: Bump
    level_before: Bump
    certainty: Certainty
    pointer: str = ""
    old: Place | None = None
    new: Place | None = None
    message: str
    reason: str
    witness: Witness | ReplyWitness | None = None
    fingerprint: str = ""
    children: tuple[DiffFinding, ...] = ()
    overridden: str | None = None
    accepted: AcceptedLevel | None = None
    questions: int = 0
    question_ids: tuple[str, ...] = ()
    is_sent: bool = False
    # These repeat what `old`, `new` and the message say, so they do not count when two findings are
    # compared.
    before: Any = field(default=None, compare=False, repr=False)
    after: Any = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{str(self.level).upper()} {self.message}"

    @property
    def is_certain(self) -> bool:
        """Whether it is shown or follows by definition; else only replies of judges can show it."""
        return self.certainty is not Certainty.ASSUMED

    @property
    def can_be_asked(self) -> bool:
        """Whether judges, asked before and after the edit (`diff --ask`), would show its effect."""
        by_child = any(child.can_be_asked for child in self.children)
        return self.level is Bump.MAJOR and (self.is_sent or by_child)

    @property
    def adjusted(self) -> bool:
        """Whether its level is not the rule's own."""
        return self.overridden is not None or self.accepted is not None

    @property
    def lowered(self) -> str | None:
        """What lowered its level, if anything: `check-removed from major to patch (override)`."""
        if self.level >= self.level_before:
            return None
        cause = "accepted" if self.accepted else "override"
        return f"{self.rule} from {self.level_before} to {self.level} ({cause})"


@dataclass(frozen=True, slots=True)
class MovedOutput:
    """One stored output that the change moves, and where it is."""

    id: str
    place: Place
    old_score: Fraction | None
    new_score: Fraction | None
    old_verdict: Verdict
    new_verdict: Verdict


@dataclass(frozen=True, slots=True)
class RunMeasurement:
    """What a change does to the stored outputs of one run; it never lowers a level.

    `outputs` is how many the change could affect. Of these, `asked_otherwise` answer an input that
    it edits, and `unscored` others could not be graded under both sides; `moved` have another score
    or verdict, `verdict_moved` another verdict. `mean_shift` is the new side's mean score minus the
    old side's, None if one side scores nothing. If none of n moved, `bound` is 3/n: with 95 %
    confidence, no larger share of such outputs moves.
    """

    run: str
    outputs: int
    moved: int
    verdict_moved: int
    asked_otherwise: int
    unscored: int
    mean_shift: Fraction | None
    bound: Fraction | None
    examples: tuple[MovedOutput, ...] = ()


@dataclass(frozen=True, slots=True)
class FlippedVerdict:
    """A stored output on which a judge's verdict flips with the new wording.

    `reason` is the judge's reason with the new wording.
    """

    id: str
    check: str
    old_score: Fraction | None
    new_score: Fraction | None
    old_verdict: Verdict
    new_verdict: Verdict
    reason: str


@dataclass(frozen=True, slots=True)
class AskedChange:
    """What judges said about stored outputs in old and new wording; it never lowers a level.

    Each of the `verdicts` is on one check and one output. `to_fail` and `to_pass` flip from the old
    to the new wording, `own` flip when the same wording is asked twice; `unjudged` lack a score in
    one of these. `beyond_noise`: the new wording flips more than the judge does by itself, by more
    than chance. `mean_shift` is that of the checks' scores. If none of n flips, `bound` is 3/n:
    with 95 % confidence, no larger share of such verdicts flips. `engines` are the models that
    answered. `flips` are the first verdicts that flip.
    """

    run: str
    verdicts: int
    to_fail: int
    to_pass: int
    own: int
    unjudged: int = 0
    beyond_noise: bool = False
    mean_shift: Fraction | None = None
    bound: Fraction | None = None
    engines: tuple[str, ...] = ()
    flips: tuple[FlippedVerdict, ...] = ()

    @property
    def flipped(self) -> int:
        """How many verdicts flip from the old wording to the new."""
        return self.to_fail + self.to_pass

    @property
    def summary(self) -> str:
        """The counts in one clause, as in the tag of a release and in its log."""
        own = f"{self.own} of {self.verdicts} flip by themselves"
        if self.bound is not None:
            most = (
                f"at most {format_decimal(round(self.bound * 100, 1))} % of such do (95 % "
                "confidence)"
            )
            return f"none of {self.verdicts} verdicts flips, {most}; {own}"
        directions = f"{self.to_fail} to fail, {self.to_pass} to pass"
        return f"{self.flipped} of {self.verdicts} verdicts flip ({directions}), {own}"


@dataclass(frozen=True, slots=True)
class SettingChange:
    """A setting that changed and moves scores: old and new value, and its effect in words."""

    setting: str
    old: str
    new: str
    level: Bump
    direction: Direction
    message: str

    @property
    def sentence(self) -> str:
        """The change in one sentence."""
        change = f"evalstore.yaml changes {self.setting} from {self.old} to {self.new}"
        return f"{change} ({self.level}, {self.direction}): {self.message}"


def write_setting(value: object) -> str:
    """Return the value of a setting as it is written in its file."""
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True, slots=True)
class TotalEffect(Claim):
    """What all edits of a diff do together to one output.

    It is not the sum of single effects: an edit may remove a score that the next one brings back,
    and two edits may undo each other.
    """

    witness: Witness | None = None


@dataclass(frozen=True, slots=True)
class TurnedExample:
    """An example that gets another verdict or score: its place, expectation and text.

    `met` says whether the new side meets the expectation.
    """

    pointer: str
    place: Place | None
    output: str
    expected: str
    old_score: Fraction | None
    new_score: Fraction | None
    old_verdict: Verdict
    new_verdict: Verdict
    met: bool


@dataclass(frozen=True, slots=True)
class ExampleEffect:
    """What a change does to both sides' examples: how many there are, and which turned.

    `ungraded` is how many were not graded under both sides, `why` the first reason for that.
    """

    total: int
    ungraded: int
    why: str
    turned: tuple[TurnedExample, ...]


@dataclass(frozen=True, slots=True)
class Diff(PageValue):
    """What changed between two artifacts, by which rules, and the bump that it needs.

    Attributes:
        old: The side before: `.ref` and `.artifact`.
        new: The side after.
        required_bump: The bump that all edits together need.
        next_version: The version to release; None if nothing needs a release, or if a later one is
            already released.
        later_release: That release, or one that already has the number that a bump would give.
        findings: One for each edit, and about that edit alone: `.level`, `.message`,
            `.direction`, `.witness`, `.max_shift` (a fraction of 1); `print` shows it in a line.
        total: What all edits do together.
        notes: What else moves scores, in sentences; it needs no bump.
        settings: Changes of evalstore.yaml that move scores, each at its level.
        asked: What judges said in the old and the new wording, if they were asked.
        examples: What becomes of the examples of both sides.
        measured: What the change does to the outputs of runs.
        profile: What counted as major.
        rule_set: The number of the rule set that was used.
        ask_command: The command that asks judges about the edits that only they can decide.
        refused: Why the new side cannot be released as it is, if it cannot be read.

    Examples:
        >>> print(compare("rubric/answer_style", "rubric/answer_style@worktree", store=store))
        rubric/answer_style@1.0.0 → rubric/answer_style@worktree
        <BLANKLINE>
        no noticeable change: no bump is needed
    """

    old: Side
    new: Side
    required_bump: Bump
    next_version: str | None
    findings: tuple[DiffFinding, ...]
    total: TotalEffect
    rule_set: int
    profile: Profile = Profile.SCORE
    measured: tuple[RunMeasurement, ...] = ()
    notes: tuple[str, ...] = ()
    settings: tuple[SettingChange, ...] = ()
    asked: AskedChange | None = None
    examples: ExampleEffect | None = None
    ask_command: str = ""
    later_release: str | None = None
    refused: str = ""

    @property
    def has_settings(self) -> bool:
        """Whether a setting that moves scores changed."""
        return bool(self.settings)

    @property
    def certain(self) -> int:
        """How many findings are certain."""
        return sum(finding.is_certain for finding in self.findings)

    @property
    def possible(self) -> int:
        """How many findings only a judge's replies can decide."""
        return len(self.findings) - self.certain

    @property
    def is_shown(self) -> bool:
        """Whether an output shows that all edits together move a score or a verdict."""
        return self.total.witness is not None and not self.total.witness.supposed

    def __repr__(self) -> str:
        sides = f"{self.old.ref or 'old'} -> {self.new.ref or 'new'}"
        return format_repr(
            self, sides, f"{self.required_bump} bump", count_noun(len(self.findings), "finding")
        )
