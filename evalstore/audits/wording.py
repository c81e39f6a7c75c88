"""Words an audit: what moved the score, and whether the outputs are better; pure.

A sentence says no more than its table: it names a direction of outputs only where the table calls
it significant, it names factors jointly where they cannot be told apart, and it calls exact only
what was graded again. The answer takes the strongest of three claims: of the mean, of the verdicts,
of the typical question. Chance is said only where none of them holds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from math import ceil, floor
from typing import NamedTuple

from evalstore.audits.values import (
    OWN_FACTORS,
    VALUE_RULE,
    Audit,
    Cause,
    Factor,
    FactorName,
    Lines,
    PairsByInput,
    RunSide,
)
from evalstore.model.outcome import MAX_UNGRADED
from evalstore.runs import Run
from evalstore.runs.output_likeness import OutputLikeness
from evalstore.statistics import FEWEST_ANCHORS, Conclusion, MoveCounts
from evalstore.text import count_noun, make_excerpt

_PHRASES = {
    FactorName.RUBRIC: "the rubric",
    FactorName.JUDGE: "the judge",
    FactorName.JUDGE_SERVICE: "the judge service",
    FactorName.DATASET: "changed references",
    FactorName.INPUT: "changed questions",
}
_NAMES = {
    **_PHRASES,
    FactorName.DATASET: "references",
    FactorName.INPUT: "questions",
    FactorName.OUTPUTS: "outputs",
}
_OUTPUTS = {False: "worse outputs", True: "better outputs"}
_NOTHING = 1e-12  # what is left of a float where nothing is
_WIDE = Fraction(1, 2)  # of the larger: rubrics that far apart are said
_SHOWN_RENAMES = 5
_FEW_PEOPLE, _NAME_WIDTH = 3, 30
# Where a claim ends, and not where the doubt about it begins.
_CLAIM_END = re.compile(r"[,;] (?!which|within|although|estimated|a bounded|could be|if )")
_MANY = 100_000  # questions: beyond these nobody asks so many


def format_points(share: Fraction | float) -> str:
    """Format a share of the score in points of a hundred, with sign.

    Only what is nothing at all has no sign.
    """
    return f"{float(share) * 100:+.2f}" if abs(float(share)) > _NOTHING else "0.00"


def format_change(old: Fraction | None, new: Fraction | None) -> str:
    """Format the change of a score in points; `-` where one of both is unknown."""
    return "-" if old is None or new is None else format_points(new - old)


def format_size(share: Fraction | float) -> str:
    """Format how large a share is, in points; what is not nothing is never said to be 0.00."""
    text = f"{abs(float(share)) * 100:.2f}"
    return "less than 0.01" if text == "0.00" and share else text


def shorten_claims(text: str, limit: int) -> str:
    """Return a sentence of several claims, shortened to whole ones.

    None is shown without the doubt about it.
    """
    if len(text) <= limit:
        return text
    ends = [found.start() for found in _CLAIM_END.finditer(text, 0, limit - len(", …"))]
    return f"{text[: ends[-1]]}, …" if ends else make_excerpt(text, limit)


def write_sentence(audit: Audit) -> str:
    """Return what moved the score in a sentence.

    Other sentences say which verdicts turned and what else there was.
    """
    idle = join_phrases(
        [text for name, text in _word_questions(audit.lines) if not audit.lines.by_name[name].score]
    )
    rest = f" Without an effect on the score: {idle}." if idle else ""
    lead = f"Not comparable: {unscored}. " if (unscored := describe_unscored(audit)) else ""
    price = f"{_word_price(audit)}{_word_unmeasured(audit)}"
    return f"{lead}{_word_change(audit, idle)}{price}{rest}"


def describe_noise(reach: float) -> str:
    """Return the noise of judges in words, in points."""
    return f"the judge's own noise ({format_size(reach)})"


def _word_unmeasured(audit: Audit) -> str:
    """Return that the noise of an edited judge was never measured, with the command.

    It is empty where it was.
    """
    judging = (one for one in audit.factors if FactorName.JUDGE in one.members)
    edited = [one for one in judging if (one.share or one.flipped) and one.noise is None]
    causes = (cause for one in edited for cause in one.causes if cause.share or cause.passes)
    judges = dict.fromkeys((cause.source.origin.ref or "").partition("@")[0] for cause in causes)
    known = (
        {ref.partition("@")[0] for ref in audit.judge_noise.measured} if audit.judge_noise else ()
    )
    names = [name for name in judges if name.startswith("judge/") and name not in known]
    if not names:
        return ""
    command = f"evalstore judge noise {names[0]} --run RUN_B"
    return f" The noise of {join_phrases(names)} was never measured ({command})."


def describe_least(effect: float, digits: int) -> str:
    """Return which changes of a mean some questions show.

    They show none where the smallest were beyond 100 points.
    """
    if effect >= 1:
        return "are too few to show any change"
    return f"show only changes of {effect * 100:.{digits}f} points or more"


def describe_unscored(audit: Audit) -> str:
    """Return which runs have no score of their own, and what was not graded.

    It is empty where both have one.
    """
    sides = (("A", audit.a), ("B", audit.b))
    return join_phrases(
        [f"{name} has no score ({side.ungraded})" for name, side in sides if side.ungraded]
    )


def _ask_better(a: RunSide, b: RunSide) -> str:
    """Return the question that an audit of two runs answers."""
    if a.model != b.model:
        return "Is the model better?"
    if has_other_prompt(a, b):
        return f"Is {name_prompt(b.prompt)} better than {name_prompt(a.prompt)}?"
    return "Are the outputs better?"


def has_other_prompt(a: RunSide | Run, b: RunSide | Run) -> bool:
    """Whether two runs name two prompts."""
    return bool(a.prompt and b.prompt) and a.prompt != b.prompt


def name_prompt(prompt: str) -> str:
    """Return the name of a prompt in a sentence: `prompt 2`, and one of several words in quotes."""
    shown = make_excerpt(prompt, _NAME_WIDTH)
    if prompt.lower().startswith("prompt"):
        return shown
    return f"prompt {json.dumps(shown, ensure_ascii=False) if ' ' in shown else shown}"


def write_answer(audit: Audit) -> str:
    """Return whether the outputs are better, as far as these questions tell.

    It says what would tell it.
    """
    question = _ask_better(audit.a, audit.b)
    zero, own = audit.lines.no_answer_as_zero.score, audit.own_as_zero.shapley
    total = f"it {_word_gain(own)}" if own else "it neither gained nor lost"
    rest = "" if not zero or own is None else f" With missing answers counted as 0, {total}."
    asides = "".join(f" {one}." for one in audit.asides)
    return f"{question} {_word_answer(audit)}.{describe_assumption(audit)}{rest}{asides}"


def describe_assumption(audit: Audit) -> str:
    """Return what is taken for granted of the service behind the judges.

    It has the price of knowing it. Empty where nothing rests on it: no outputs changed, and no edit
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
    names = join_phrases([make_excerpt(name, _NAME_WIDTH) for name in found.served])
    alike = f"both runs name {names}" if names else "neither run names it"
    outputs = min(FEWEST_ANCHORS, audit.common)
    return (
        f" {what} holds if the judge service did not change: {alike}, and no prompt was asked "
        f"in both. {count_noun(found.calls, 'judge call')} would show it: score {outputs} of "
        "A's outputs again with --fresh, and audit A against that."
    )


class _Claim(NamedTuple):
    """What is claimed of outputs: its direction, and the words of it.

    `answer` is it alone, `words` what goes beside a stronger one.
    """

    direction: int
    answer: str
    words: str


def _word_answer(audit: Audit) -> str:
    if unscored := describe_unscored(audit):
        return f"These runs cannot tell: {unscored}"
    if has_much_emptied(audit):
        own = audit.own.shapley
        gain = f"{_word_gain(own)} points" if own else "neither gained nor lost"
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
    claims = [*_list_claims(factor)]
    if claims and _word_rubrics(audit):
        ends = [_word_effect(end) for end in (audit.own.old, audit.own.new) if end is not None]
        return (
            f"It depends on the rubric: its outputs {ends[0]} under A's rubrics, {ends[1]} under "
            "B's"
        )
    # A mean that is next to nothing is said before how many questions moved so little.
    if factor.conclusion is Conclusion.BOUNDED_NULL and not _turns_verdicts(factor):
        moves = f", although {claims[0].words}" if claims else ""
        return f"About the same: {_word_own_gain(factor)}{moves}"
    if claims:
        return _word_claims(claims)
    if factor.conclusion is Conclusion.MOVED_NONE:
        return "Its outputs differ, but no score does"
    return _word_doubt(audit, factor)


def describe_selection(found: OutputLikeness) -> str:
    """Return that only failures were asked again, which is no evidence.

    It is empty where that is not so.
    """
    if not found.is_selection:
        return ""
    return (
        f"all {found.changed:,} outputs that differ had failed in A and the other "
        f"{found.equal:,} are equal, so only failures were asked again, which is a selection"
    )


def _turns_verdicts(factor: Factor) -> bool:
    return factor.verdicts is not None and factor.verdicts.direction != 0


def _list_claims(factor: Factor) -> Iterator[_Claim]:
    """Yield what may be claimed of a factor, the strongest first.

    It is claimed of its mean, its verdicts, or its typical question.
    """
    if factor.conclusion is Conclusion.SIGNIFICANT:
        gain = _word_own_gain(factor)
        yield _Claim(1 if factor.share > 0 else -1, f": {gain}", gain)
    verdicts, typical = factor.verdicts, factor.typical
    if verdicts and verdicts.direction:
        turned = describe_turned(verdicts)
        yield _Claim(verdicts.direction, f": {turned}", turned)
    if typical and typical.direction:
        moves, comma = describe_moves(typical), "," if typical.direction > 0 else ""
        others = _word_mean_of_others(factor)
        yield _Claim(typical.direction, f"{comma} on typical questions: {moves}{others}", moves)


def _list_opposed(factor: Factor) -> list[_Claim]:
    """Return the claims that say the opposite of the strongest."""
    claims = [*_list_claims(factor)]
    return [one for one in claims if one.direction != claims[0].direction]


def _word_claims(claims: Sequence[_Claim]) -> str:
    """Return the strongest claim, and those that go the other way."""
    first = claims[0]
    if others := [one.words for one in claims if one.direction != first.direction]:
        return f"Mixed: {first.words}, but {join_phrases(others)}"
    return f"{'Yes' if first.direction > 0 else 'No, worse'}{first.answer}"


def describe_turned(found: MoveCounts) -> str:
    """Return how many verdicts turned, and which way, the most first."""
    noun = "verdicts" if found.units == found.questions else "groups"
    counts = sorted([(found.falls, "to fail"), (found.rises, "to pass")], reverse=True)
    (first, way), (other, other_way) = counts
    rest = f" and {other:,} {other_way}" if other else ""
    return f"{first:,} of {found.units:,} {noun} turned {way}{rest}"


def describe_moves(found: MoveCounts) -> str:
    """Return how many questions, or groups, moved, and which way, the most first."""
    noun = "" if found.units == found.questions else " groups"
    counts = sorted([(found.falls, "fell"), (found.rises, "rose")], reverse=True)
    (first, way), (other, other_way) = counts
    others = f"{other:,}" if other else "none"
    rest = f" and {others} {other_way}" if first < found.units else ""
    return f"{first:,} of {found.units:,}{noun} {way}{rest}"


def describe_shown(verdicts: MoveCounts | None, typical: MoveCounts | None) -> str:
    """Return what is more than chance of a change whose mean may be chance.

    It is empty where nothing is.
    """
    if verdicts and verdicts.direction:
        return describe_turned(verdicts)
    return describe_moves(typical) if typical and typical.direction else ""


def _word_mean_of_others(factor: Factor) -> str:
    """Return where a mean of other questions could lie, in whole points."""
    if factor.ci is None:
        return ""
    low, high = floor(factor.ci[0] * 100), ceil(factor.ci[1] * 100)
    ends = (f"{end:+d}" if end else "0" for end in (low, high))
    return f"; a mean of others could lie between {' and '.join(ends)}"


def _word_own_gain(factor: Factor) -> str:
    return f"its outputs {_word_gain(factor.share)} points{_word_span(factor)}"


def has_much_emptied(audit: Audit, most: Fraction = MAX_UNGRADED) -> bool:
    """Whether so much had nothing to grade that nothing can be said of outputs.

    That is checks in one run alone, on many questions.
    """
    return len(audit.lines.emptied) > most * audit.b.questions


def _word_same_outputs(audit: Audit) -> str:
    """Return that the outputs are the same: of how many questions, where some were not compared."""
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

    So nothing tells its edit from what answered it.
    """
    edits = audit.input_edits
    count = (
        f"all {audit.common:,}" if edits.white_space == audit.common else f"{edits.white_space:,}"
    )
    blank = f" (white space alone in {count})" if edits.white_space else ""
    changed = f"every question changed{blank}"
    if not edits.other_outputs:
        return f"These runs cannot tell: {changed}, and no text of the outputs did"
    who = _name_change(audit, "the model", "the prompt", "new outputs")
    return f"These runs cannot tell the edit and {who} apart: {changed}"


def _name_change(audit: Audit, model: str, prompt: str, outputs: str) -> str:
    """Return which of three names what answered differently.

    It is the model, the prompt, or nothing that the runs name.
    """
    if audit.a.model != audit.b.model:
        return model
    return prompt if has_other_prompt(audit.a, audit.b) else outputs


def _name_changed_questions(audit: Audit) -> str:
    """Return what moved the questions that were asked differently.

    That is their edit, and who answered them.
    """
    is_blank = audit.input_edits.white_space == len(audit.input_changed)
    edit = f"{_PHRASES[FactorName.INPUT]}{' (white space alone)' if is_blank else ''}"
    who = _name_change(audit, "another model", "another prompt", "new outputs")
    return f"{edit} and {who} together" if audit.input_edits.other_outputs else edit


def _word_doubt(audit: Audit, factor: Factor) -> str:
    """Return that so few questions cannot tell whether outputs are better, and how many would."""
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


def _word_gain(share: Fraction) -> str:
    return f"{'lost' if share < 0 else 'gained'} {format_size(share)}"


def _word_span(factor: Factor) -> str:
    return (
        f" (95 %: {format_points(factor.ci[0])} to {format_points(factor.ci[1])})"
        if factor.ci
        else ""
    )


def _word_price(audit: Audit) -> str:
    """Return what would grade shares that their anchors cannot tell apart.

    It is empty where they can, or where nothing would.
    """
    has_doubt = any(
        one.anchors and one.conclusion is Conclusion.NOT_RESOLVABLE for one in audit.factors
    )
    if not has_doubt or not audit.price.calls:
        return ""
    return f" {count_noun(audit.price.calls, 'judge call')} would replace the estimates (--ask)."


def _word_change(audit: Audit, idle: str) -> str:
    phrases = [*_list_phrases(audit)]
    turned = _describe_flips(audit)
    if phrases:
        by_each = _word_rubrics(audit)
        found = f"The score {_describe_delta(audit.delta)}: {_join_clauses(phrases)}{by_each}."
        return f"{found} {turned[:1].upper()}{turned[1:]}." if turned else found
    if turned:
        return f"The score did not move, but {turned}."
    if changed := [_word_change_of(factor) for factor in audit.factors if factor.changed]:
        return f"The score did not move, although {join_phrases(changed)}."
    if idle:
        return "The score did not move."
    if (audit.a.dataset, audit.a.rubrics) != (audit.b.dataset, audit.b.rubrics):
        return "The score did not move: the versions differ, but nothing that was graded does."
    return (
        f"The score did not move: {'no edit and no output' if audit.asides else 'nothing'} changed."
    )


def _word_change_of(factor: Factor) -> str:
    """Return what a factor without a share did.

    It moved questions up and down alike, or none of them.
    """
    name = join_phrases([_NAMES[one] for one in factor.members])
    if not factor.moved and (cancelled := describe_cancelled(factor.causes)):
        return f"{name} changed ({cancelled})"
    return (
        f"{name} moved {count_noun(factor.moved, 'question')}, up as much as down"
        if factor.moved
        else f"{name} changed"
    )


def describe_cancelled(causes: Sequence[Cause]) -> str:
    """Return what some edits gave and others took, where most of it cancels out; else empty."""
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


def describe_pairs(pairs: PairsByInput) -> Iterator[str]:
    """Yield how many questions are paired by what they ask, with an example, where some are."""
    for old, new in [*pairs.ids.items()][:1]:
        a, b = make_excerpt(old, _NAME_WIDTH), make_excerpt(new, _NAME_WIDTH)
        are = "question is" if pairs.count == 1 else "questions are"
        yield f"{pairs.count:,} {are} paired by equal input, not by id ({a} of A is {b} of B)"


def describe_renames(dataset: str, pairs: PairsByInput) -> str:
    """Return what to write so that the pairs are declared.

    Where an id means two questions, it says why that cannot be.
    """
    names, taken = pairs.renames, pairs.count - len(pairs.renames)
    shown = [
        f"{json.dumps(old)}: {json.dumps(new)}" for old, new in [*names.items()][:_SHOWN_RENAMES]
    ]
    more = (
        f" and {len(names) - len(shown):,} more, in --format json"
        if len(names) > len(shown)
        else ""
    )
    line = f"write into evalstore.yaml: renames: {{{dataset}: {{{', '.join(shown)}}}}}{more}"
    declared = f"to declare {len(names):,} of the pairs, {line}" if names else ""
    clash = (
        f"the ids of {taken:,} name other questions in B, which no rename can declare: give each "
        "question an id that does not count rows"
        if taken
        else ""
    )
    return "; ".join(filter(None, [clash, declared]))


def join_phrases(parts: Sequence[str]) -> str:
    """Return `a, b, and c`."""
    if not parts[2:]:  # a list of two needs no comma
        return " and ".join(parts)
    return f"{', '.join(parts[:-1])}, and {parts[-1]}"


def _join_clauses(clauses: Sequence[str]) -> str:
    """Return `a, b, and c`, and `a, and b` where one of two has a comma or an `and` of its own."""
    is_long = any(", " in clause or " and " in clause for clause in clauses)
    return (
        ", and ".join(clauses) if len(clauses) == len("ab") and is_long else join_phrases(clauses)
    )


def _list_phrases(audit: Audit) -> Iterator[str]:
    sign = -1 if audit.delta < 0 else 1
    # No better and worse under one rubric alone, by some of the checks, or of a selection.
    is_told = not (_word_rubrics(audit) or has_much_emptied(audit) or audit.outputs.is_selection)
    word = partial(_word_factor, audit=audit, is_told=is_told)
    parts = [(one.share, word(one)) for one in audit.factors if one.share]
    parts += _word_lines(audit.lines)
    # What moved the score in the direction of the whole comes first, the largest first.
    parts.sort(key=lambda part: (part[0] * sign < 0, -abs(part[0])))
    return (text for _, text in parts)


def _word_factor(factor: Factor, audit: Audit, *, is_told: bool) -> str:
    names, name, common = _sort_joint(factor.members), name_factor(factor), audit.common
    is_asked_anew = names == [FactorName.INPUT] and audit.input_edits.other_outputs > 0
    if names == [FactorName.INPUT]:
        name = _name_changed_questions(audit)
    if factor.conclusion not in {None, Conclusion.SIGNIFICANT}:
        moved = f"{name} {'lost' if factor.share < 0 else 'gained'} {format_size(factor.share)}"
        if factor.conclusion is Conclusion.BOUNDED_NULL:
            return f"{moved}, a bounded null"
        if shown := describe_shown(factor.verdicts, factor.typical):
            return f"{moved} ({shown})"
        if factor.conclusion is Conclusion.BOUNDED and factor.ci:
            low, high = map(format_points, factor.ci)
            return (
                f"{moved}, estimated on {count_noun(factor.anchors or common, 'question')} to be "
                f"{low} to {high}"
            )
        return (
            f"{moved}, which {count_noun(factor.anchors or common, 'question')} cannot tell from "
            f"{_name_doubt(factor)}"
        )
    if factor.noise is not None:
        return f"{name} {_word_gain(factor.share)}, within {describe_noise(factor.noise)}"
    # Outputs of which another claim says the opposite are not called better or worse, either.
    others = [one.words for one in _list_opposed(factor)]
    if names == [FactorName.OUTPUTS] and is_told and not others:
        name = _OUTPUTS[factor.share > 0]
    aside = f", although {join_phrases(others)}" if others else ""
    how = f", estimated on {count_noun(factor.anchors, 'question')}" if factor.anchors else ""
    return (
        f"{name} {'took' if factor.share < 0 else 'gave'} "
        f"{format_size(factor.share)}{how}{'' if is_asked_anew else _word_people(factor)}{aside}"
    )


def _word_people(factor: Factor) -> str:
    """Return who made the edits that moved something.

    It does so where that is one person or a few and all are known.
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
    names = join_phrases([make_excerpt(name, _NAME_WIDTH) for name in people])
    return f" ({'edit' if len(origins) == 1 else 'edits'} by {names})"


def _name_doubt(factor: Factor) -> str:
    """Return what else than a factor it may have been.

    That is chance, or the other part of what was estimated.
    """
    if not factor.anchors or not factor.ci or factor.ci[0] <= 0 <= factor.ci[1]:
        return "chance"
    return (
        "what the outputs did"
        if FactorName.JUDGE_SERVICE in factor.members
        else "what the judge service did"
    )


def name_factor(factor: Factor) -> str:
    """Name a factor's members, jointly where they cannot be told apart."""
    name = join_phrases([_word_name(one, factor) for one in _sort_joint(factor.members)])
    return f"{name} together" if len(factor.members) > 1 else name


def _word_name(name: FactorName, factor: Factor) -> str:
    if (
        name is FactorName.DATASET
        and factor.causes
        and all(VALUE_RULE in one.source.rules for one in factor.causes)
    ):
        return "changed values of checks"
    return _PHRASES.get(name, "the outputs")


def _word_rubrics(audit: Audit) -> str:
    """Return what the own share is under each rubric.

    It does so where that differs by more than half of the larger.
    """
    own, factors = audit.own, audit.factors
    if (
        own.old is None
        or own.new is None
        or abs(own.new - own.old) <= _WIDE * max(abs(own.old), abs(own.new))
    ):
        return ""
    sampled = [
        factor for factor in factors if factor.share and not OWN_FACTORS.isdisjoint(factor.members)
    ]
    has_outputs = any(FactorName.OUTPUTS in factor.members for factor in sampled)
    if has_outputs and all(any(_list_claims(factor)) for factor in sampled):
        ends = _word_effect(own.old), _word_effect(own.new)
        same = ends[0].partition(" ")[0] == ends[1].partition(" ")[0]
        after = ends[1].partition(" ")[2] if same else ends[1]
        return f", together: {name_own(audit)} {ends[0]} under A's rubrics, {after} under B's"
    old, new = format_points(own.old), format_points(own.new)
    return f", together: {name_own(audit)} come to {old} under A's rubrics, {new} under B's"


def name_own(audit: Audit) -> str:
    """Return whose the own share is: the outputs' alone only where nothing else of it moved."""
    changed = {one for factor in audit.factors if factor.changed for one in factor.members}
    names = (
        (FactorName.OUTPUTS in changed, "the outputs"),
        (FactorName.INPUT in changed, _PHRASES[FactorName.INPUT]),
        (bool(audit.lines.no_answer.score), "missing answers"),
    )
    return join_phrases([name for holds, name in names if holds])


def _word_effect(share: Fraction) -> str:
    if not share:
        return "lose nothing"
    return f"{'lose' if share < 0 else 'gain'} {format_size(share)}"


def _word_lines(lines: Lines) -> Iterator[tuple[Fraction, str]]:
    words = dict(_word_questions(lines)) | {"not_reproduced": "what could not be reproduced"}
    for name, line in lines.by_name.items():
        if line.score:
            yield (
                line.score,
                f"{words[name]} {'took' if line.score < 0 else 'gave'} {format_size(line.score)}",
            )


def _word_questions(lines: Lines) -> Iterator[tuple[str, str]]:
    """Yield for each line that has questions behind it which they are."""
    mix = lines.questions
    others = ((mix.added, "added question"), (mix.removed, "removed question"))
    counts = [count_noun(len(ids), noun) for ids, noun in others if ids]
    if counts:
        yield "mix", join_phrases(counts)
    if lines.silent_a or lines.silent_b:
        yield "no_answer", _word_silence(lines)
    if lines.emptied:
        yield "nothing_to_grade", describe_empty_checks(lines)
    if lines.errors:
        yield (
            "judge_errors",
            f"{lines.labels['judge_errors']} on {count_noun(len(lines.errors), 'question')}",
        )


def describe_empty_checks(lines: Lines) -> str:
    """Return which checks had nothing to grade in one run.

    An example: `tools with nothing to grade in B on 4 questions`.
    """
    first, *others = lines.empty_checks or [None]
    count = count_noun(len(lines.emptied), "question")
    if first is None:
        return f"nothing to grade in one run on {count}"
    named = f"{make_excerpt(first.check, _NAME_WIDTH)} with nothing to grade in {first.run}"
    counted = f"{named} on {count_noun(first.questions, 'question')}"
    return f"{counted} and {len(others):,} more like it" if others else counted


def _word_silence(lines: Lines) -> str:
    sides = ((lines.silent_a, "A"), (lines.silent_b, "B"))
    counts = [(count_noun(len(ids), "question"), run) for ids, run in sides if ids]
    missing = join_phrases([f"{count} without an answer in {run}" for count, run in counts])
    return f"{missing} (counted as 0: {format_points(lines.no_answer_as_zero.score)})"


def _describe_flips(audit: Audit) -> str:
    """Return the verdicts that factors without a share had a part in.

    All that had one are named; it is empty where there are none. Whoever turned the most comes
    first.
    """
    flips = audit.flips
    silent = [factor.name for factor in audit.factors if factor.flipped and not factor.share]
    ids = {id_ for name in silent for id_ in flips.by[name]}
    counts = ((flips.pass_to_fail, "pass to fail"), (flips.fail_to_pass, "fail to pass"))
    numbers = [(sum(id_ in ids for id_ in turned), how) for turned, how in counts]
    turned = join_phrases(
        [f"{count_noun(number, 'verdict')} from {how}" for number, how in numbers if number]
    )

    def count_turned(factor: Factor) -> int:
        return len(ids.intersection(flips.by.get(factor.name, ())))

    factors = sorted(filter(count_turned, audit.factors), key=count_turned, reverse=True)
    names = [f"{name_factor(factor)}{_word_people(factor)}" for factor in factors]
    return f"{join_phrases(names)} turned {turned}" if turned else ""


def _describe_delta(delta: Fraction) -> str:
    if not delta:
        return "did not move"
    return f"{'fell' if delta < 0 else 'rose'} by {format_size(delta)} points"


def _sort_joint(names: Sequence[FactorName]) -> list[FactorName]:
    return sorted(names, key=lambda name: name is FactorName.JUDGE_SERVICE)
