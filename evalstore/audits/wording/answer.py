"""Answers whether the outputs are better, and says what would tell; pure.

The answer takes the strongest of three claims: about the mean, the verdicts, or the typical
question. Chance is mentioned only if none of them holds.
"""

from __future__ import annotations

from collections.abc import Sequence

from evalstore.audits.values import (
    Audit,
    Factor,
    FactorName,
    RunSide,
)
from evalstore.audits.wording.factors import (
    NAME_WIDTH,
    has_other_prompt,
    name_change,
    name_factor,
    name_prompt,
)
from evalstore.audits.wording.gaps import (
    describe_empty_checks,
    describe_selection,
    describe_unscored,
    has_much_emptied,
)
from evalstore.audits.wording.output_claims import (
    OutputClaim,
    describe_by_rubric,
    describe_effect,
    describe_gain,
    describe_own_gain,
    list_claims,
)
from evalstore.audits.wording.points import join_phrases
from evalstore.statistics import FEWEST_ANCHORS, Conclusion
from evalstore.text import count_noun, make_excerpt

_MANY = 100_000  # questions: nobody asks more than this


def _ask_better(a: RunSide, b: RunSide) -> str:
    """Return the question that an audit of two runs answers."""
    if a.model != b.model:
        return "Is the model better?"
    if has_other_prompt(a, b):
        return f"Is {name_prompt(b.prompt)} better than {name_prompt(a.prompt)}?"
    return "Are the outputs better?"


def write_answer(audit: Audit) -> str:
    """Return whether the outputs are better, as far as these questions tell.

    If they cannot tell, it says what would.
    """
    question = _ask_better(audit.a, audit.b)
    zero, own = audit.lines.no_answer_as_zero.score, audit.own_as_zero.shapley
    total = f"it {describe_gain(own)}" if own else "it neither gained nor lost"
    rest = "" if not zero or own is None else f" With missing answers counted as 0, {total}."
    asides = "".join(f" {one}." for one in audit.asides)
    return f"{question} {_word_answer(audit)}.{describe_assumption(audit)}{rest}{asides}"


def describe_assumption(audit: Audit) -> str:
    """Return what is assumed about the service behind the judges.

    It has the price of knowing. It is empty if nothing rests on it: no outputs changed, and no edit
    of a judge is more than noise.
    """
    found = audit.assumption
    changed = [one for one in audit.factors if one.changed]
    has_outputs = any(FactorName.OUTPUTS in one.members for one in changed)
    has_edits = any(
        FactorName.JUDGE in one.members and one.share and one.noise is None for one in changed
    )
    is_untold = has_much_emptied(audit) or describe_unscored(audit)
    if found is None or not (has_outputs or has_edits) or is_untold:
        return ""
    what = "This" if has_outputs else "What the judge's edit did"
    names = join_phrases([make_excerpt(name, NAME_WIDTH) for name in found.served])
    alike = f"both runs name {names}" if names else "neither run names it"
    outputs = min(FEWEST_ANCHORS, audit.common)
    return (
        f" {what} holds if the judge service did not change: {alike}, and no prompt was asked "
        f"in both. {count_noun(found.calls, 'judge call')} would show it: score {outputs} of "
        "A's outputs again with --fresh, and audit A against that."
    )


def _word_answer(audit: Audit) -> str:
    if unscored := describe_unscored(audit):
        return f"These runs cannot tell: {unscored}"
    if has_much_emptied(audit):
        own = audit.own.shapley
        gain = f"{describe_gain(own)} points" if own else "neither gained nor lost"
        rest = "" if own is None else f"; by the checks that both runs graded its outputs {gain}"
        return f"These runs cannot tell: {describe_empty_checks(audit.lines)}{rest}"
    factor = next(
        (one for one in audit.factors if one.changed and FactorName.OUTPUTS in one.members), None
    )
    if factor is None:
        return _word_same_outputs(audit)
    if len(factor.members) > 1:
        price = (
            f"; {count_noun(audit.price.calls, 'judge call')} would separate them (--ask)"
            if audit.price.calls
            else ""
        )
        moved = "moved" if factor.moved else "did not move"
        return f"These runs cannot tell: {name_factor(factor)} {moved} the score{price}"
    if selection := describe_selection(audit.outputs):
        return f"These runs cannot tell: {selection}"
    claims = [*list_claims(factor)]
    if claims and describe_by_rubric(audit):
        ends = [describe_effect(end) for end in (audit.own.old, audit.own.new) if end is not None]
        return (
            f"It depends on the rubric: its outputs {ends[0]} under A's rubrics, {ends[1]} under "
            "B's"
        )
    # A mean close to nothing is mentioned before how many questions moved so little.
    if factor.conclusion is Conclusion.BOUNDED_NULL and not _turns_verdicts(factor):
        moves = f", although {claims[0].words}" if claims else ""
        return f"About the same: {describe_own_gain(factor)}{moves}"
    if claims:
        return _word_claims(claims)
    if factor.conclusion is Conclusion.MOVED_NONE:
        return "Its outputs differ, but no score does"
    return _word_doubt(audit, factor)


def _turns_verdicts(factor: Factor) -> bool:
    return factor.verdicts is not None and factor.verdicts.direction != 0


def _word_claims(claims: Sequence[OutputClaim]) -> str:
    """Return the strongest claim, and those that go the other way."""
    first = claims[0]
    if others := [one.words for one in claims if one.direction != first.direction]:
        return f"Mixed: {first.words}, but {join_phrases(others)}"
    return f"{'Yes' if first.direction > 0 else 'No, worse'}{first.answer}"


def _word_same_outputs(audit: Audit) -> str:
    """Return that the outputs are the same, and on how many questions if some were not compared."""
    if not audit.common:
        return "No question is compared"
    if len(audit.input_changed) == audit.common:
        return _word_changed_questions(audit)
    lines = audit.lines
    others = (
        *lines.silent_a,
        *lines.silent_b,
        *lines.errors,
        *lines.questions.added,
        *lines.questions.removed,
    )
    compared = f" to the {count_noun(audit.common, 'question')} compared" if others else ""
    has_edited = any(FactorName.INPUT in one.members for one in audit.factors if one.changed)
    return (
        f"The outputs{compared} are the "
        f"same{', apart from changed questions' if has_edited else ''}"
    )


def _word_changed_questions(audit: Audit) -> str:
    """Return that no question was asked twice.

    So nothing separates its edit from what answered it.
    """
    edits = audit.input_edits
    count = (
        f"all {audit.common:,}" if edits.white_space == audit.common else f"{edits.white_space:,}"
    )
    blank = f" (white space alone in {count})" if edits.white_space else ""
    changed = f"every question changed{blank}"
    if not edits.other_outputs:
        return f"These runs cannot tell: {changed}, and no text of the outputs did"
    who = name_change(audit, "the model", "the prompt", "new outputs")
    return f"These runs cannot tell the edit and {who} apart: {changed}"


def _word_doubt(audit: Audit, factor: Factor) -> str:
    """Return that so few questions cannot tell if outputs are better, and how many could."""
    asked = count_noun(factor.anchors or audit.common, "question")
    if factor.anchors:
        calls = (
            f"; {count_noun(audit.price.calls, 'judge call')} would (--ask)"
            if audit.price.calls
            else ""
        )
        return f"{asked} with equal outputs cannot tell{calls}"
    if factor.detectable is None or not factor.share:
        return f"{asked} cannot tell"
    enough = audit.common * (factor.detectable / abs(float(factor.share))) ** 2
    if enough <= audit.common:
        return f"{asked} cannot tell: only {factor.moved:,} of them moved"
    digits = 10 ** max(len(str(round(enough))) - 2, 0)
    needed = f"about {round(enough / digits) * digits:,} would"
    return (
        f"{asked} cannot tell; {needed if enough < _MANY else f'it would take more than {_MANY:,}'}"
    )
