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

# The rule of changes that match no other rule: major.
UNCLASSIFIED = "unclassified-change"
# The rule of an edit of the statements that judges are asked about.
STATEMENTS_CHANGED = "check-statements-changed"
# How the reason of a decision begins where a comparison came to no end.
UNDECIDED = "undecided: "


class Scope(StrEnum):
    """What a rule's direction is about; the directions of the rubric follow from it."""

    NOTHING = "nothing"
    CHECK = "the check's score"
    CHECK_VERDICT = "the check's verdict"
    ANSWER = "what the check answers"
    SCORE = "the score"
    VERDICT = "the verdict"


# Scopes whose directions are lifted from one check to its rubric. What a check answers is made of
# its parts with their signs, so that only `negate` turns it round.
CHECK_SCOPES = frozenset({Scope.CHECK, Scope.CHECK_VERDICT, Scope.ANSWER})


@dataclass(frozen=True, slots=True, eq=False)
class QuestionEdit:
    """One question on both sides: its new id, what it says itself, and both sides' defaults."""

    id: str
    own: tuple[Mapping[str, Any], Mapping[str, Any]]
    defaults: tuple[Mapping[str, Any], Mapping[str, Any]]

    @property
    def rows(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """The question with all defaults, before and after."""
        (old, new), (was, now) = self.own, self.defaults
        return {**was, **old}, {**now, **new}


# `before` and `after` differ by this edit alone, whatever else changed between the documents: each
# is judged by itself. What all edits do follows from `made`, where one is made after the other.
@dataclass(frozen=True, slots=True)
class Change:
    """One edit: its values and places on both sides, and a rubric's states before and after.

    `made` are the states of the edit made after those before it, None where they are the same.

    `token` names the check that changes, `name` the key. A `proof` says that the change moves
    nothing, a `decision` what a prover knows of one that may; `discriminator` is part of the
    fingerprint, where `old` and `new` do not tell one edit from another. `words` fill the rule's
    message. An edit of a judge has both `judges`, one of a dataset the `questions` that it reaches.
    An edit of a reference, or of what is read of a question, has the `imported_diff` of what it
    names or of the checks that read it; `together` is what all edits of its questions do. `effect`
    is what an edit of a rubric does, by all that its checks can answer. `is_sent`: judges are asked
    on both sides, and differ, or are sent what differs.
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
        """Whether there is a new value: not None, which is absent, and not off."""
        return self.new is not None and self.new is not False

    @property
    def item(self) -> Any:
        """The new value; the old one where the new one is absent or off."""
        return self.new if self.is_addition else self.old

    def with_words(self, **words: str) -> Change:
        """Return the change with more words for its message."""
        return replace(self, words={**self.words, **words})

    def with_reason(self, why: str) -> Change:
        """Return the change with the reason why its effect is unknown."""
        return self.with_words(why=f"; {why}")

    @property
    def states(self) -> tuple[RubricState, RubricState]:
        """The rubric before and after; for the rules of rubrics only."""
        if self.before is None or self.after is None:
            raise LookupError(f"{self.rule} is not a change of a rubric")
        return self.before, self.after

    @property
    def step(self) -> Change:
        """The edit made after those before it, instead of alone."""
        if self.made is None:
            return self
        return replace(self, before=self.made[0], after=self.made[1], made=None, effect=None)

    @property
    def edited_checks(self) -> list[CheckState]:
        """The check on each side that has it: one where it is added or removed, else two."""
        token = self.token
        return [check for state in self.states for check in state.checks if check.token == token]

    @property
    def checks(self) -> tuple[CheckState, CheckState]:
        """The check before and after; for the rules of checks only."""
        before, after = self.states
        return before[self.token], after[self.token]


class Proof(NamedTuple):
    """Why a change moves nothing.

    `rule` is the rule that it then belongs to; an assumed proof keeps the direction.

    `since` is the first rule set that uses it; `declared` is the setting that says so, where
    nothing proves it.
    """

    text: str
    level: Bump = Bump.PATCH
    rule: str | None = None
    certainty: Certainty = Certainty.PROVED
    since: int = 1
    declared: str | None = None


Decider = Callable[[Change], Proof | None]


class AnswerGoal(NamedTuple):
    """Answers that move a rubric: each check's score before and after, by token.

    `judged` are the judges' own scores. `shift` is how far its score rises (falls, below 0), None
    where it is lost or won. `text` is one that makes the checks answer so that read text alone, as
    far as an automaton knows.
    """

    text: str
    shift: Fraction | None
    scores: tuple[Mapping[str, Fraction | None], Mapping[str, Fraction | None]]
    judged: Mapping[str, Fraction]


class RubricEffect(NamedTuple):
    """What an edit does to one output's score and verdict.

    Bounds are about outputs that are scored on both sides; directions also count what is scored on
    one side alone.

    `moves`: some score or verdict may be another one, or be lost or won. `max_shift` holds whatever
    errs or is missing, `max_shift_scored` where every check has a score. `ways` are the ways to
    answer that were looked at; `texts` those that move, the best first, with how far each rises at
    least (falls, below 0) whatever the judges say, if it must; `list_goals` lists some of the
    answers that move.
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
    """Which edits an output moves, by index, and whether one moves under all of them."""

    alone: Mapping[int, Witness] = MappingProxyType({})
    together: bool = False


# Nothing was tried.
NOTHING_SHOWN = MovingEdits()


class Decision(NamedTuple):
    """What a prover knows of an edit that may move a score: how surely, why, and which outputs.

    `direction` is there where it is not the rule's; `since` is the first rule set that uses it.
    """

    certainty: Certainty
    reason: str
    outputs: tuple[str, ...] = ()
    direction: Direction | None = None
    since: int = 1

    @property
    def is_assumed(self) -> bool:
        """Whether nothing that ran knows it."""
        return self.certainty is Certainty.ASSUMED


class DirectionRule(NamedTuple):
    """A rule's direction, in words and as a function of the change.

    `decide_verdict` finds the direction of the verdict where that is another one.
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
    """One row of the catalogue; what it leaves out means an edit that may move a score.

    Its direction is none where it moves nothing. `mirror` is the rule of the edit taken back, the
    rule itself where none is named. `example` is an edit that the rule finds at its level,
    `instead` what to do to need less: as an edit, or in words; `since` is the first rule set that
    has it: under an older one its changes belong to the rule that it `replaces`. `is_sent`: its
    edits are of what a model is sent.
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
