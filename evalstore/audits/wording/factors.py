"""Names the factors of an audit, and says what moved beneath each of them; pure.

Factors that cannot be separated are named jointly.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction

from evalstore.audits.values import (
    VALUE_RULE,
    Audit,
    Cause,
    Factor,
    FactorName,
    RunSide,
)
from evalstore.audits.wording.points import format_points, format_size, join_phrases
from evalstore.runs import Run
from evalstore.statistics import MoveCounts
from evalstore.text import make_excerpt

FACTOR_PHRASES = {
    FactorName.RUBRIC: "the rubric",
    FactorName.JUDGE: "the judge",
    FactorName.JUDGE_SERVICE: "the judge service",
    FactorName.INPUT: "changed questions",
}
_FACTOR_NAMES = {
    **FACTOR_PHRASES,
    FactorName.INPUT: "questions",
    FactorName.OUTPUTS: "outputs",
}
_FEW_PEOPLE, NAME_WIDTH = 3, 30


def describe_noise(reach: float) -> str:
    """Return the noise of judges in words, in points."""
    return f"the judge's own noise ({format_size(reach)})"


def describe_least(effect: float, digits: int) -> str:
    """Return which changes of a mean some questions can show.

    They show none if the smallest would exceed 100 points.
    """
    if effect >= 1:
        return "are too few to show any change"
    return f"show only changes of {effect * 100:.{digits}f} points or more"


def has_other_prompt(a: RunSide | Run, b: RunSide | Run) -> bool:
    """Whether two runs name different prompts."""
    return bool(a.prompt and b.prompt) and a.prompt != b.prompt


def name_prompt(prompt: str) -> str:
    """Return the name of a prompt in a sentence: `prompt 2`; several words are in quotes."""
    shown = make_excerpt(prompt, NAME_WIDTH)
    if prompt.lower().startswith("prompt"):
        return shown
    return f"prompt {json.dumps(shown, ensure_ascii=False) if ' ' in shown else shown}"


def describe_turned(found: MoveCounts) -> str:
    """Return how many verdicts turned, and which way, larger number first."""
    noun = "verdicts" if found.units == found.questions else "groups"
    counts = sorted([(found.falls, "to fail"), (found.rises, "to pass")], reverse=True)
    (first, way), (other, other_way) = counts
    rest = f" and {other:,} {other_way}" if other else ""
    return f"{first:,} of {found.units:,} {noun} turned {way}{rest}"


def describe_moves(found: MoveCounts) -> str:
    """Return how many questions, or groups, moved, and which way, larger number first."""
    noun = "" if found.units == found.questions else " groups"
    counts = sorted([(found.falls, "fell"), (found.rises, "rose")], reverse=True)
    (first, way), (other, other_way) = counts
    others = f"{other:,}" if other else "none"
    rest = f" and {others} {other_way}" if first < found.units else ""
    return f"{first:,} of {found.units:,}{noun} {way}{rest}"


def describe_shown(verdicts: MoveCounts | None, typical: MoveCounts | None) -> str:
    """Return what is more than chance in a change whose mean may be chance.

    It is empty if nothing is.
    """
    if verdicts and verdicts.direction:
        return describe_turned(verdicts)
    return describe_moves(typical) if typical and typical.direction else ""


def name_change(audit: Audit, model: str, prompt: str, outputs: str) -> str:
    """Return which of three names what answered differently.

    It is the model, the prompt, or nothing that the runs name.
    """
    if audit.a.model != audit.b.model:
        return model
    return prompt if has_other_prompt(audit.a, audit.b) else outputs


def describe_cancelled(causes: Sequence[Cause]) -> str:
    """Return what some edits gave and others took, if most of it cancels out; else empty."""
    for effects, of_what in (
        ([one.share for one in causes], ""),
        ([one.passes for one in causes], " of passes"),
    ):
        gave, took = (
            sum((one for one in effects if one * sign > 0), Fraction(0)) for sign in (1, -1)
        )
        if min(gave, -took) > abs(gave + took):
            return f"edits {format_points(gave)} and {format_points(took)}{of_what}"
    return ""


def describe_people(factor: Factor) -> str:
    """Return who made the edits that moved something.

    It is empty unless they are one person or a few, and all are known.
    """
    causes = [one for one in factor.causes if one.share or one.passes]
    origins = [one.source.origin for one in sorted(causes, key=lambda one: -abs(one.share))]
    is_noise = factor.noise is not None
    if is_noise or not origins or any(one.author is None or one.undoes for one in origins):
        return ""
    people = list(
        dict.fromkeys(name for one in origins for name in (str(one.author), *one.co_authors))
    )
    if len(people) > _FEW_PEOPLE:
        return ""
    names = join_phrases([make_excerpt(name, NAME_WIDTH) for name in people])
    return f" ({'edit' if len(origins) == 1 else 'edits'} by {names})"


def name_factor(factor: Factor) -> str:
    """Name a factor's members, jointly if they cannot be separated."""
    name = join_phrases([_word_name(one, factor) for one in sort_joint(factor.members)])
    return f"{name} together" if len(factor.members) > 1 else name


def _word_name(name: FactorName, factor: Factor) -> str:
    if name is FactorName.DATASET:
        return f"changed {name_subject(name, factor)}"
    return FACTOR_PHRASES.get(name, "the outputs")


def name_subject(name: FactorName, factor: Factor) -> str:
    """Return what a factor is about; of a dataset's edits, what they changed, as far as known."""
    if name is not FactorName.DATASET:
        return _FACTOR_NAMES[name]
    are_values = {VALUE_RULE in one.source.rules for one in factor.causes}
    if len(are_values) != 1:
        return "references or values of checks"
    return "values of checks" if are_values.pop() else "references"


def name_own(audit: Audit) -> str:
    """Return whose the own share is: the outputs' alone only if nothing else in it moved."""
    changed = {one for factor in audit.factors if factor.changed for one in factor.members}
    names = (
        (FactorName.OUTPUTS in changed, "the outputs"),
        (FactorName.INPUT in changed, FACTOR_PHRASES[FactorName.INPUT]),
        (bool(audit.lines.no_answer.score), "missing answers"),
    )
    return join_phrases([name for holds, name in names if holds])


def sort_joint(names: Sequence[FactorName]) -> list[FactorName]:
    """Return the names of a factor's members, the judge service last."""
    return sorted(names, key=lambda name: name is FactorName.JUDGE_SERVICE)
