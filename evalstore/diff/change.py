"""The values of a comparison: changes (facts), and the rules, proofs and decisions on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from types import MappingProxyType
from typing import Any, NamedTuple

from evalstore.diff.findings import Certainty, Diff, Direction, TotalEffect, Witness
from evalstore.diff.rubric_state import CheckState, RubricState
from evalstore.documents import Pointer
from evalstore.versions import Bump

# The rule of changes that match no other rule; it is major.
UNCLASSIFIED = "unclassified-change"
# The rule of an edit of the statements that judges are asked about.
STATEMENTS_CHANGED = "check-statements-changed"
# How the reason of a decision begins if a comparison could not be finished.
UNDECIDED = "undecided: "


class Scope(StrEnum):
    """What a rule's direction is about; the directions of the rubric follow from it."""

    NOTHING = "nothing"
    CHECK = "the check's score"
    CHECK_VERDICT = "the check's verdict"
    ANSWER = "what the check answers"
    SCORE = "the score"
    VERDICT = "the verdict"


# Scopes whose directions are lifted from one check to its rubric. The direction of an answer
# already includes the signs of its parts, so that only `negate` turns it round.
CHECK_SCOPES = frozenset({Scope.CHECK, Scope.CHECK_VERDICT, Scope.ANSWER})


@dataclass(frozen=True, slots=True, eq=False)
class QuestionEdit:
    """One question on both sides: its new id, its own keys, and both sides' defaults."""

    id: str
    own: tuple[Mapping[str, Any], Mapping[str, Any]]
    defaults: tuple[Mapping[str, Any], Mapping[str, Any]]

    @property
    def rows(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """The question with all defaults, before and after."""
        (old, new), (was, now) = self.own, self.defaults
        return {**was, **old}, {**now, **new}


# Each edit is judged by itself: `before` and `after` differ by this edit alone, whatever else
# changed between the documents. In `made`, the edits follow each other, so what all of them do
# together follows from that.
@dataclass(frozen=True, slots=True)
class Change:
    """One edit: its values and places on both sides, and a rubric's states before and after.

    `made` has the states if this edit is made after the earlier edits; None if they are the same.

    `token` names the check that changes, `name` the key. A `proof` says that the change moves
    nothing; a `decision` says what is known about a change that may move something. `discriminator`
    is part of the fingerprint, for edits that `old` and `new` alone do not distinguish. `words`
    fill the rule's message. An edit of a judge has both `judges`; an edit of a dataset has the
    `questions` that it affects. An edit of a reference, or of something that checks read from a
    question, has the `imported_diff` of the other artifact or of these checks; `together` is what
    all edits of its questions do. `effect` is what an edit of a rubric does, given all that its
    checks can answer. `is_sent`: judges are asked on both sides, but other judges, or other texts.
    """

    rule: str
    old: Any = None
    new: Any = None
    old_pointer: Pointer | None = None
    new_pointer: Pointer | None = None
    before: RubricState | None = None
    after: RubricState | None = None
    made: tuple[RubricState, RubricState] | None = None
    token: str = ""
    name: str = ""
    imported_diff: Diff | None = None
    words: Mapping[str, str] = field(default_factory=dict)
    proof: Proof | None = None
    decision: Decision | None = None
    discriminator: Any = None
    questions: tuple[QuestionEdit, ...] = ()
    judges: tuple[Mapping[str, Any], Mapping[str, Any]] | None = None
    together: TotalEffect | None = None
    effect: RubricEffect | None = None
    is_sent: bool = False

    @property
    def is_addition(self) -> bool:
        """Whether there is a new value: neither None (absent) nor False (off)."""
        return self.new is not None and self.new is not False

    @property
    def item(self) -> Any:
        """The new value; the old one if the new one is absent or off."""
        return self.new if self.is_addition else self.old

    def with_words(self, **words: str) -> Change:
        """Return the change with more words for its message."""
        return replace(self, words={**self.words, **words})

    def with_reason(self, why: str) -> Change:
        """Return the change with a reason, which its message adds after a semicolon."""
        return self.with_words(why=f"; {why}")

    @property
    def states(self) -> tuple[RubricState, RubricState]:
        """The rubric before and after; raises `LookupError` for a change of anything else."""
        if self.before is None or self.after is None:
            raise LookupError(f"{self.rule} is not a change of a rubric")
        return self.before, self.after

    @property
    def step(self) -> Change:
        """The edit as made after the earlier edits, instead of alone."""
        if self.made is None:
            return self
        return replace(self, before=self.made[0], after=self.made[1], made=None, effect=None)

    @property
    def edited_checks(self) -> list[CheckState]:
        """The check on each side that has it: one if it is added or removed, else two."""
        token = self.token
        return [check for state in self.states for check in state.checks if check.token == token]

    @property
    def checks(self) -> tuple[CheckState, CheckState]:
        """The check before and after; only for a check that is on both sides."""
        before, after = self.states
        return before[self.token], after[self.token]


class Proof(NamedTuple):
    """Why a change moves nothing.

    `rule` is the rule that the change then belongs to, if that is another one. `since` is the first
    rule set that uses the proof. `declared` is the setting that says so, if nothing proves it.
    """

    text: str
    level: Bump = Bump.PATCH
    rule: str | None = None
    certainty: Certainty = Certainty.PROVED
    since: int = 1
    declared: str | None = None


Decider = Callable[[Change], Proof | None]


class AnswerGoal(NamedTuple):
    """Answers that move a rubric's score: each check's score before and after, by token.

    `judged` has the judges' own scores. `shift` is how far the rubric's score rises (below 0:
    falls); None if one side has no score. `text` gets these answers from the checks that read text
    alone, as far as automata can say.
    """

    text: str
    shift: Fraction | None
    scores: tuple[Mapping[str, Fraction | None], Mapping[str, Fraction | None]]
    judged: Mapping[str, Fraction]


class RubricEffect(NamedTuple):
    """What an edit does to one output's score and verdict.

    Bounds are about outputs that are scored on both sides; directions also include outputs that are
    scored on one side only.

    `moves`: some score or verdict may change, appear or disappear. `max_shift` is true whatever
    errs or is missing, `max_shift_scored` only if every check has a score. `ways` is how many ways
    to answer there are. `texts` are texts whose score may move, the best first; the number is how
    far the score rises at least (below 0: falls), whatever judges say, or None if it may stay.
    `list_goals` lists some of the answers that move the score.
    """

    moves: bool
    ways: int
    direction: Direction = Direction.NONE
    verdict_direction: Direction = Direction.NONE
    max_shift: Fraction = Fraction(0)
    max_shift_scored: Fraction = Fraction(0)
    texts: Mapping[str, Fraction | None] = MappingProxyType({})
    list_goals: Callable[[], Iterable[AnswerGoal]] = tuple


class MovingEdits(NamedTuple):
    """Which edits, by index, have an output whose score they move, and whether all together do."""

    alone: Mapping[int, Witness] = MappingProxyType({})
    together: bool = False


# Nothing was tried.
NOTHING_SHOWN = MovingEdits()


class Decision(NamedTuple):
    """What is known about an edit that may move a score: how surely, why, and by which outputs.

    `direction` is set if it is not the rule's; `since` is the first rule set with it.
    """

    certainty: Certainty
    reason: str
    outputs: tuple[str, ...] = ()
    direction: Direction | None = None
    since: int = 1

    @property
    def is_assumed(self) -> bool:
        """Whether it is only assumed: nothing that ran showed it."""
        return self.certainty is Certainty.ASSUMED


class DirectionRule(NamedTuple):
    """A rule's direction, in words and as a function of the change.

    `decide_verdict` finds the direction of the verdict, if that may differ from the score's.
    """

    words: str
    decide_score: Callable[[Change], Direction]
    decide_verdict: Callable[[Change], Direction] | None = None


NEVER = DirectionRule("none", lambda _: Direction.NONE)
UNKNOWN = DirectionRule("either", lambda _: Direction.EITHER)


class HeadlineLevel(NamedTuple):
    """The least level of a rule under the profile `headline`.

    `only` restricts it to changes of this name.
    """

    level: Bump
    only: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeRule:
    """One row of the catalogue; the defaults are those of an edit that may move a score.

    `mirror` is the rule of the reverse edit; the default is the rule itself. `example` is an edit
    that gets this rule and its level; `instead` is what to do if a lower level is wanted: an edit,
    or words. `since` is the first rule set with this rule; in older ones, its changes belong to the
    rule that it `replaces`. `is_sent`: its edits change what a model is sent.
    """

    id: str
    artifact: str = "rubric"
    level: Bump = Bump.MAJOR
    direction: DirectionRule = UNKNOWN
    scope: Scope = Scope.SCORE
    message: str
    reason: str
    example: str
    mirror: str = ""
    deciders: tuple[Decider, ...] = ()
    shift: Callable[[Change], Fraction | None] | None = None
    shift_scored: Callable[[Change], Fraction | None] | None = None
    certainty: Certainty = Certainty.BY_DEFINITION
    instead: str = ""
    headline: HeadlineLevel | None = None
    since: int = 1
    replaces: str = UNCLASSIFIED
    is_sent: bool = False
