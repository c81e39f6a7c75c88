"""Says in a sentence what moved a score, largest share first; pure.

The sentence claims no more than the table: outputs are better or worse only if the table calls them
significant, and only what was graded again is exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial

from evalstore.audits.values import (
    Audit,
    Factor,
    FactorName,
    Lines,
)
from evalstore.audits.wording.factors import (
    FACTOR_PHRASES,
    describe_cancelled,
    describe_noise,
    describe_people,
    describe_shown,
    name_change,
    name_factor,
    name_subject,
    sort_joint,
)
from evalstore.audits.wording.gaps import describe_empty_checks, describe_unscored, has_much_emptied
from evalstore.audits.wording.output_claims import (
    describe_by_rubric,
    describe_gain,
    list_opposed_claims,
)
from evalstore.audits.wording.points import format_points, format_size, join_phrases
from evalstore.statistics import Conclusion
from evalstore.text import count_noun

_OUTPUTS = {False: "worse outputs", True: "better outputs"}


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


def _word_unmeasured(audit: Audit) -> str:
    """Return that the noise of an edited judge was never measured, with the command to do so.

    It is empty if it was.
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


def _name_changed_questions(audit: Audit) -> str:
    """Return what moved the questions that were asked differently: their edit, and who answered."""
    is_blank = audit.input_edits.white_space == len(audit.input_changed)
    edit = f"{FACTOR_PHRASES[FactorName.INPUT]}{' (white space alone)' if is_blank else ''}"
    who = name_change(audit, "another model", "another prompt", "new outputs")
    return f"{edit} and {who} together" if audit.input_edits.other_outputs else edit


def _word_price(audit: Audit) -> str:
    """Return what would grade shares that their anchors cannot separate.

    It is empty if they can, or if nothing would.
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
        by_each = describe_by_rubric(audit)
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
    name = join_phrases([name_subject(one, factor) for one in factor.members])
    if not factor.moved and (cancelled := describe_cancelled(factor.causes)):
        return f"{name} changed ({cancelled})"
    return (
        f"{name} moved {count_noun(factor.moved, 'question')}, up as much as down"
        if factor.moved
        else f"{name} changed"
    )


def _join_clauses(clauses: Sequence[str]) -> str:
    """Return `a, b, and c`, or `a, and b` if one of two contains a comma or an `and`."""
    is_long = any(", " in clause or " and " in clause for clause in clauses)
    return (
        ", and ".join(clauses) if len(clauses) == len("ab") and is_long else join_phrases(clauses)
    )


def _list_phrases(audit: Audit) -> Iterator[str]:
    sign = -1 if audit.delta < 0 else 1
    # Outputs are not called better or worse under one rubric alone, by some of the checks, or for a
    # selection.
    is_told = not (
        describe_by_rubric(audit) or has_much_emptied(audit) or audit.outputs.is_selection
    )
    word = partial(_word_factor, audit=audit, is_told=is_told)
    parts = [(one.share, word(one)) for one in audit.factors if one.share]
    parts += _word_lines(audit.lines)
    # What moved the score in the direction of the whole comes first, largest first.
    parts.sort(key=lambda part: (part[0] * sign < 0, -abs(part[0])))
    return (text for _, text in parts)


def _word_factor(factor: Factor, audit: Audit, *, is_told: bool) -> str:
    names, name, common = sort_joint(factor.members), name_factor(factor), audit.common
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
        return f"{name} {describe_gain(factor.share)}, within {describe_noise(factor.noise)}"
    # Outputs are not called better or worse, either, if another claim says the opposite.
    others = [one.words for one in list_opposed_claims(factor)]
    if names == [FactorName.OUTPUTS] and is_told and not others:
        name = _OUTPUTS[factor.share > 0]
    aside = f", although {join_phrases(others)}" if others else ""
    how = f", estimated on {count_noun(factor.anchors, 'question')}" if factor.anchors else ""
    return (
        f"{name} {'took' if factor.share < 0 else 'gave'} "
        f"{format_size(factor.share)}{how}{'' if is_asked_anew else describe_people(factor)}{aside}"
    )


def _name_doubt(factor: Factor) -> str:
    """Return what other than a factor may have caused a change.

    That is chance, or the other part of what was estimated.
    """
    if not factor.anchors or not factor.ci or factor.ci[0] <= 0 <= factor.ci[1]:
        return "chance"
    return (
        "what the outputs did"
        if FactorName.JUDGE_SERVICE in factor.members
        else "what the judge service did"
    )


def _word_lines(lines: Lines) -> Iterator[tuple[Fraction, str]]:
    words = dict(_word_questions(lines)) | {"not_reproduced": "what could not be reproduced"}
    for name, line in lines.by_name.items():
        if line.score:
            yield (
                line.score,
                f"{words[name]} {'took' if line.score < 0 else 'gave'} {format_size(line.score)}",
            )


def _word_questions(lines: Lines) -> Iterator[tuple[str, str]]:
    """Yield which questions are behind each line that has any."""
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


def _word_silence(lines: Lines) -> str:
    sides = ((lines.silent_a, "A"), (lines.silent_b, "B"))
    counts = [(count_noun(len(ids), "question"), run) for ids, run in sides if ids]
    missing = join_phrases([f"{count} without an answer in {run}" for count, run in counts])
    return f"{missing} (counted as 0: {format_points(lines.no_answer_as_zero.score)})"


def _describe_flips(audit: Audit) -> str:
    """Return the verdicts in which factors without a share had a part.

    All that had a part are named, whoever turned most first; it is empty if there are none.
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
    names = [f"{name_factor(factor)}{describe_people(factor)}" for factor in factors]
    return f"{join_phrases(names)} turned {turned}" if turned else ""


def _describe_delta(delta: Fraction) -> str:
    if not delta:
        return "did not move"
    return f"{'fell' if delta < 0 else 'rose'} by {format_size(delta)} points"
