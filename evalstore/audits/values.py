"""The values of an audit: exact numbers that add up, each with its cause; no logic."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from evalstore.statistics import Interval


class PlayerName(StrEnum):
    """Who can have moved a score, in the order of the report; `JUDGE_SERVICE` is what answered as the judge."""

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


class LineName(StrEnum):
    """What moves the mean without being a player, in the order of the report."""

    MIX = "mix"
    NO_ANSWER = "no_answer"
    JUDGE_ERRORS = "judge_errors"
    NOT_REPRODUCED = "not_reproduced"


class FactorName(StrEnum):
    """The factors of an audit, in the order of the report."""

    RUBRIC = "rubric"
    DATASET = "dataset"
    OUTPUTS = "outputs"


@dataclass(frozen=True, slots=True)
class RunSide:
    """One of the two runs: the path of its aggregate JSON, its mean score, and what it was made from."""

    run: str
    score: Fraction
    questions: int
    scored: int
    model: str
    dataset: str
    rubrics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an edit comes from: the commit in which the part took its value, and the release that first has it.

    `ref` is the artifact without a pin (None for outputs), `old` and `new` are the versions at both ends. `commit`,
    `author` and `date` are None where no commit holds the content; `released_in` and `released_by` where no release
    does. `co_authors` are those that the commit's trailers name. `undoes`: B lacks what this commit did. `gap` says why
    there is no commit: it is not committed, or this clone lacks it.
    """

    ref: str | None
    old: str
    new: str
    commit: str | None = None
    author: str | None = None
    date: str | None = None
    released_in: str | None = None
    released_by: str | None = None
    co_authors: tuple[str, ...] = ()
    undoes: bool = False
    gap: str = ""


@dataclass(frozen=True, slots=True)
class EditSource:
    """What one edit is: the diff rule that names it (None for new outputs), all rules that fit, and its origin."""

    rule: str | None
    origin: Origin
    part: str = ""
    rules: tuple[str, ...] = ()
    message: str = ""


@dataclass(frozen=True, slots=True)
class Cause:
    """One edit's share of the mean score of the common questions; `error` bounds its standard error, 0 if exact."""

    source: EditSource
    share: Fraction
    moved: int
    error: float = 0.0


@dataclass(frozen=True, slots=True)
class QuestionShare:
    """One question, and how far one factor moved its score."""

    id: str
    share: Fraction


@dataclass(frozen=True, slots=True)
class Factor:
    """One factor's share of the change on the common questions.

    `order` is the smallest and the largest share that any first-or-last order of swapping gives, `ci` the 95 % interval
    for questions like these, `p` the sign-flip mid-p (None where nothing was sampled), `changed` the number of
    questions in which the factor differs, `moved` the number of scores that it moved, `claim` what may be concluded.
    """

    name: FactorName
    share: Fraction
    order: tuple[Fraction, Fraction]
    ci: Interval | None
    p: float | None
    changed: int
    moved: int
    claim: str
    causes: tuple[Cause, ...]
    worst: tuple[QuestionShare, ...]


@dataclass(frozen=True, slots=True)
class Mix:
    """The effect of questions that only one run scored, or that are inseparable; ids in the order of the runs."""

    added: Fraction
    removed: Fraction
    not_separable: Fraction
    added_ids: tuple[str, ...]
    removed_ids: tuple[str, ...]
    not_separable_ids: tuple[str, ...]

    @property
    def effect(self) -> Fraction:
        """The sum of the three effects."""
        return self.added + self.removed + self.not_separable


@dataclass(frozen=True, slots=True)
class Flips:
    """The common questions whose verdict flipped, and McNemar's mid-p of so uneven a split (None: nothing sampled)."""

    pass_to_fail: tuple[str, ...]
    fail_to_pass: tuple[str, ...]
    mid_p: float | None


@dataclass(frozen=True, slots=True)
class Drift:
    """A recorded result that replay does not reproduce, in words."""

    run: str
    id: str
    what: str


@dataclass(frozen=True, slots=True)
class Audit:
    """Why run B scores otherwise than run A; `delta` is the sum of the shares, the mix and what was not reproduced."""

    a: RunSide
    b: RunSide
    delta: Fraction
    common: int
    common_a: Fraction
    common_b: Fraction
    factors: tuple[Factor, ...]
    mix: Mix
    not_reproduced: Fraction
    drift: tuple[Drift, ...]
    flips: Flips
    input_changed: tuple[str, ...]
    sentence: str
    notes: tuple[str, ...] = ()
