"""A rubric as a value with every default written out: two spellings of one rubric are equal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, NamedTuple

from evalstore.checks import CheckKind, find_check_kind
from evalstore.checks.steps import STEPS_KEY
from evalstore.diff.answers.raw_answers import RawAnswer
from evalstore.diff.kinds import (
    KINDS,
    UnreadableError,
    find_compared_kind,
    find_plain_kind,
    read_params,
    read_texts,
)
from evalstore.diff.limits import COMPARED
from evalstore.model import (
    Check,
    CheckResult,
    Combine,
    Scoring,
    Verdict,
    VerdictRule,
    read_rubric,
)

_COMMON_KEYS = frozenset({"id", "kind", "threshold", "negate"})
_SCORING_KEYS = frozenset(
    {"combine", "weights", "required", "threshold", "missing", "errors", "verdict"}
)
_TWO = {Fraction(0), Fraction(1)}


class CompositeFacts(NamedTuple):
    """What is known about a composite's rubric: its scores (empty if many), and its threshold."""

    scores: tuple[Fraction, ...]
    threshold: Fraction
    may_miss: bool
    may_err: bool


@dataclass(frozen=True, slots=True)
class CheckState:
    """One check and its weight; `token` survives a rename, `index` is its place in the file.

    `rubrics` has facts about the rubrics that a composite may name, by reference.
    """

    token: str
    index: int
    id: str
    has_id: bool
    kind: str
    params: Mapping[str, Any]
    threshold: Fraction | None
    negate: bool
    weight: Fraction
    is_required: bool
    extras: Mapping[str, Any]
    rubrics: Mapping[str, CompositeFacts] = field(default_factory=dict, compare=False, repr=False)

    @property
    def facts(self) -> CompositeFacts | None:
        """What is known about the rubric that a composite names; else None."""
        return self.rubrics.get(self.params["rubric_ref"]) if self.rubrics else None

    @property
    def bar(self) -> Fraction | None:
        """The score it needs to pass: its threshold, else its rubric's; None if unknown."""
        return self.facts.threshold if self.threshold is None and self.facts else self.threshold

    @property
    def grading(self) -> CheckKind:
        """What its kind says about grading; nothing if values come from the question."""
        return find_check_kind(self.kind)

    @property
    def is_portable(self) -> bool:
        """Whether it needs no program that other machines may lack."""
        return not find_check_kind(find_plain_kind(self.kind)).exact_engine

    @property
    def binary(self) -> bool:
        """Whether its score is 0 or 1 and its verdict says the same."""
        return self.two_valued and self.bar is not None and 0 < self.bar <= 1

    @property
    def two_valued(self) -> bool:
        """Whether its score is 0 or 1."""
        return (
            {*self.facts.scores} == _TWO if self.facts else KINDS[self.kind].is_binary(self.params)
        )

    @property
    def may_miss(self) -> bool:
        """Whether some output or question leaves it nothing to grade."""
        return self.facts.may_miss if self.facts else KINDS[self.kind].may_miss(self.params)

    @property
    def may_err(self) -> bool:
        """Whether it can fail to grade."""
        return self.facts.may_err if self.facts else KINDS[self.kind].may_err(self.params)

    @property
    def reads_part(self) -> bool:
        """Whether it reads only what the steps of `on` leave."""
        return bool(self.params.get(STEPS_KEY))

    @property
    def reads_threshold(self) -> bool:
        """Whether its threshold changes its score, and not only its verdict."""
        return KINDS[self.kind].reads_threshold(self.params)

    def grade_answer(self, raw: RawAnswer) -> CheckResult:
        """Return its result for a raw answer, after `negate` and the threshold."""
        if raw.score is None:
            return CheckResult(self.token, self.kind, None, Verdict.UNSCORED, unscored=raw.unscored)
        score, side = (1 - raw.score, -raw.side) if self.negate else (raw.score, raw.side)
        passes = raw.passes if self.bar is None else (score, side) >= (self.bar, 0)
        verdict = Verdict.PASS if passes else Verdict.FAIL
        return CheckResult(self.token, self.kind, score, verdict)

    def to_check(self) -> Check:
        """Return the check that scoring runs; its id is its token."""
        params = {name: value for name, value in self.params.items() if value is not None}
        kind = find_plain_kind(self.kind)
        return Check(self.token, kind, params, self.threshold, self.negate)


@dataclass(frozen=True, slots=True)
class RubricState:
    """A rubric as scoring reads it.

    `required` has ids of checks, `extras` the keys that scoring ignores.
    """

    checks: tuple[CheckState, ...]
    combine: Combine
    threshold: Fraction
    missing: str
    errors: str
    required: tuple[str, ...]
    extras: Mapping[str, Any]
    verdict: VerdictRule = VerdictRule.SCORE

    def __getitem__(self, token: str) -> CheckState:
        for check in self.checks:
            if check.token == token:
                return check
        raise KeyError(token)

    @property
    def tokens(self) -> list[str]:
        """The checks' tokens in order."""
        return [check.token for check in self.checks]

    def replace_check(self, check: CheckState) -> RubricState:
        """Return the rubric with this check in place of the one with its token."""
        return replace(
            self, checks=tuple(check if old.token == check.token else old for old in self.checks)
        )

    def drop_check(self, token: str) -> RubricState:
        """Return the rubric without this check."""
        return replace(self, checks=tuple(one for one in self.checks if one.token != token))

    def may_skip(self, check: CheckState) -> bool:
        """Whether an output with nothing to grade can leave the check out of the score."""
        return check.may_miss and self.missing == "skip"

    def may_leave_out(self, check: CheckState) -> bool:
        """Whether anything at all can leave the check out of the score."""
        return self.may_skip(check) or (check.may_err and self.errors == "skip")

    @property
    def needs_all(self) -> bool:
        """Whether its verdict depends on all checks with a weight, and not on its score."""
        return self.verdict is VerdictRule.ALL

    def needs_verdict(self, check: CheckState) -> bool:
        """Whether a check's verdict is read by itself: it is required, or all have to pass."""
        return check.is_required or self.needs_all

    def to_scoring(self) -> Scoring:
        """Return how scoring combines the checks."""
        weights = {check.token: check.weight for check in self.checks}
        required = frozenset(check.token for check in self.checks if check.is_required)
        return Scoring(
            self.combine, weights, required, self.threshold, self.missing, self.errors, self.verdict
        )


def read_rubric_state(value: Mapping[str, Any]) -> RubricState | None:
    """Read a rubric's mapping; None if its schema would refuse it."""
    # Every error of the readers below means one thing: the schema refuses the document.
    try:
        return _read_state(value)
    except (UnreadableError, AttributeError, KeyError, TypeError, ValueError, ArithmeticError):
        return None


def _read_state(value: Mapping[str, Any]) -> RubricState:
    rubric, written = read_rubric(value), value["scoring"]
    scoring, required = rubric.scoring, read_texts(written.get("required", []))
    thresholds = [
        scoring.threshold,
        *(check.threshold for check in rubric.checks if check.threshold is not None),
    ]
    if len(rubric.checks) > COMPARED.checks or max(thresholds) > 1:
        raise UnreadableError(
            "it has too many checks to compare one by one, or a threshold that no score reaches"
        )
    ids, weights = [check.id for check in rubric.checks], scoring.weights
    checks = []
    for index, check in enumerate(rubric.checks):
        weight = weights.get(check.id, Fraction(1))
        checks.append(_read_check_state(index, check, weight, is_required=check.id in required))
    return RubricState(
        checks=tuple(checks),
        combine=scoring.combine,
        threshold=scoring.threshold,
        missing=scoring.missing,
        errors=scoring.errors,
        verdict=scoring.verdict,
        required=tuple(required),
        # Scoring ignores a weight or a required id that belongs to no check.
        extras={
            **{f"weights/{id_}": str(weight) for id_, weight in weights.items() if id_ not in ids},
            **{f"required/{id_}": True for id_ in required if id_ not in ids},
            **{key: item for key, item in written.items() if key not in _SCORING_KEYS},
        },
    )


def _read_check_state(
    index: int, check: Check, weight: Fraction, *, is_required: bool
) -> CheckState:
    kind = find_compared_kind(check.params)
    known = {*_COMMON_KEYS, *KINDS[check.kind].params}
    return CheckState(
        token=f"c{index}",
        index=index,
        id=check.id,
        has_id="id" in check.params,
        kind=kind,
        params=read_params(kind, check.params),
        # A composite may have None: it passes by its rubric's threshold, which is not loaded here.
        threshold=check.threshold,
        negate=check.negate,
        weight=weight,
        is_required=is_required,
        extras={key: item for key, item in check.params.items() if key not in known},
    )
