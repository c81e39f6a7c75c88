"""Words a comparison.

It says which way scores can go, how that is known, which output shows it, and the bump needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING, Any

from evalstore.diff.findings import ReplyWitness
from evalstore.diff.plain_data import describe_value
from evalstore.documents import write_canonical
from evalstore.errors import Place
from evalstore.model import Verdict, format_decimal, format_score
from evalstore.model.example import describe_expected
from evalstore.report.text_layout import join_names
from evalstore.report.value_diff import Line, compare_values, format_one_line
from evalstore.text import count_noun, list_odd_letters, make_excerpt, make_printable, name_letter
from evalstore.versions import Bump
from evalstore.word_diff import WHITE_SPACE, compare_words, is_reworded

if TYPE_CHECKING:
    from evalstore.diff import (
        AskedChange,
        Diff,
        DiffFinding,
        FlippedVerdict,
        MovedOutput,
        RunMeasurement,
        TotalEffect,
        Witness,
    )
    from evalstore.diff.findings import ExampleEffect, JudgedScore, TurnedExample

_QUOTE_LIMIT = 60
_SCORES = {
    "stricter": "scores can only fall",
    "looser": "scores can only rise",
    "either": "scores can go either way",
}
_CERTAINTY = {"proved": "proved", "by-definition": "by definition", "assumed": "possible"}
_VERDICTS = {
    "stricter": "scores stay, fewer pass",
    "looser": "scores stay, more pass",
    "either": "scores stay, other outputs pass",
}
_NEXT_ASK = "evalstore diff REF --ask 30 --run RUN"
SUPPOSED = "possible"  # the label of an output that moves if judges answer two wordings differently
_PERCENT = 100
_SEVERAL = 2  # findings from which on there is a total
_SCORE_DECIMALS = 4  # of a score in a line of text
_ID_LIMIT = 40
_ODD_LETTERS = 3  # that are named
_ASKED_KEYS = frozenset({"id", "input"})  # of a question, which no check reads


def describe_other_causes(diff: Diff) -> Iterator[str]:
    """Yield sentences on why no release is possible, and on what else may move scores."""
    if diff.refused:
        yield f"This cannot be released: {diff.refused}"
    yield from map(describe_moved_reference, diff.notes)
    yield from (f"A setting moves scores, too: {change.sentence}" for change in diff.settings)


def describe_moved_reference(note: str) -> str:
    """Return the sentence on a reference that has changed its meaning since the release."""
    return f"But scores may move, which the next bump takes into account: {note}"


def describe_adjustments(finding: DiffFinding) -> Iterator[tuple[str, str]]:
    """Yield what changed a finding's level from its rule's default: a label, and a sentence."""
    if finding.overridden:
        yield "override", f"from {finding.level_before} by {finding.overridden} in evalstore.yaml"
    if acceptance := finding.accepted:
        until = f", until {acceptance.until}" if acceptance.until else ""
        name = acceptance.by.partition(" <")[0]
        yield (
            "accepted",
            (
                f"as {acceptance.level}, was {acceptance.was}, by {name} on "
                f"{acceptance.day}{until}: {acceptance.reason}"
            ),
        )


def can_accept_changes(diff: Diff) -> bool:
    """Whether the changes of a comparison can be accepted: only those of the working tree can."""
    return (diff.new.ref or "").endswith("@worktree")


def describe_finding(
    finding: DiffFinding, *, can_accept: bool, ask: str = ""
) -> Iterator[tuple[str, str]]:
    """Yield the labels and sentences about a finding.

    With `can_accept`, these include the command that accepts it. `ask` is the command that asks
    judges, if known.
    """
    yield from describe_adjustments(finding)
    certainty = _CERTAINTY[finding.certainty]
    effect = describe_movement(finding)
    if effect:
        yield "moves", f"{effect} ({certainty})"
    yield "why", finding.reason if effect else f"{finding.reason} ({certainty})"
    # Only replies show what a new wording moves; a witness says how far that can go.
    if finding.witness and not (finding.can_be_asked and not finding.is_certain):
        yield "shown by", _describe_witness(finding.witness)
    elif finding.can_be_asked:
        yield "shown by", f"the judge's replies: {ask or _NEXT_ASK}"
        if finding.witness:
            yield SUPPOSED, _describe_witness(finding.witness)
    if can_accept and finding.level is Bump.MAJOR and not finding.is_certain:
        yield "accept", f'evalstore accept {finding.fingerprint} --reason "…"'


def format_exchange(finding: DiffFinding, width: int) -> str | list[Line]:
    """Return the old and new value, on one line or as compared lines.

    It is empty if the message has both. A patch moves no score and needs no review line by line, so
    only a one-line exchange is shown.
    """
    sides = (finding.before, finding.after)
    if is_reworded(*sides):
        words = compare_words(finding.before, finding.after)
        if words in finding.message and not words.endswith(WHITE_SPACE):
            return ""
    values = [value for value in sides if value is not None]
    if all(_repeats_message(value, finding.message) for value in values):
        return ""
    if line := format_one_line(finding.before, finding.after, width):
        return line
    return (
        ""
        if finding.level_before is Bump.PATCH
        else compare_values(finding.before, finding.after, width)
    )


def write_step(ref: str | None, old: object, new: object) -> str:
    """Return the two sides of a step in the form that `evalstore diff` reads."""
    return f"{ref}@{old} {ref}@{new}"


def sort_by_level(findings: Iterable[DiffFinding]) -> list[DiffFinding]:
    """Return findings from major to patch, keeping their order within a level."""
    return sorted(findings, key=lambda finding: finding.level, reverse=True)


def describe_movement(effect: DiffFinding | TotalEffect) -> str:
    """Return which way and how far scores and verdicts can move; empty if they stay."""
    score, verdict = str(effect.direction), str(effect.verdict_direction)
    return (
        f"{_SCORES[score]}{_describe_bound(effect)}"
        if score in _SCORES
        else _VERDICTS.get(verdict, "")
    )


def _describe_bound(effect: DiffFinding | TotalEffect) -> str:
    if effect.max_shift and effect.max_shift < 1:
        return f", by at most {format_score(effect.max_shift)} points"
    if effect.max_shift_scored and effect.max_shift_scored < 1:
        points = format_score(effect.max_shift_scored)
        return f", by at most {points} points where everything has a score"
    return ", by up to 100 points" if effect.max_shift else ""


def describe_total(diff: Diff) -> str:
    """Return in a sentence what all changes do together.

    It is empty for a single change, or if none moves a score.
    """
    if len(diff.findings) < _SEVERAL or not any(map(describe_movement, diff.findings)):
        return ""
    effect = describe_movement(diff.total) or "no score and no verdict moves"
    # Assumptions about statements are read with each statement.
    witness = diff.total.witness
    shown = f"; {_describe_witness(witness)}" if witness and not witness.supposed else ""
    return f"Together: {effect}{shown}"


def describe_places(finding: DiffFinding) -> str:
    """Return where a change is on both sides, in words."""
    old, new = finding.old, finding.new
    if old and new:
        if not _is_same_file(old, new):
            return f"{_format_line(old)} → {_format_line(new)}"
        shown = f"{make_printable(_repository_path(new))}:{old.line}"
        return shown if old.line == new.line else f"{shown} → {new.line}"
    if place := old or new:
        return f"{_format_line(place)} ({'new' if new else 'gone'})"
    return finding.pointer or "the whole document"


def summary(diff: Diff) -> str:
    """Return the counts, the bump and the next version."""
    if diff.required_bump is Bump.NONE:
        return "no noticeable change: no bump is needed"
    levels = sorted({finding.level for finding in diff.findings}, reverse=True)
    counted_levels = ", ".join(_count_level(level, diff.findings) for level in levels)
    adjustment_counts = {
        "accepted": sum(finding.accepted is not None for finding in diff.findings),
        "overridden": sum(finding.overridden is not None for finding in diff.findings),
    }
    adjustments = ", ".join(f"{count} {word}" for word, count in adjustment_counts.items() if count)
    version = f": the next version is {diff.next_version}" if diff.next_version else ""
    if diff.later_release:
        version += f"; {diff.later_release} is released already"
    counted_levels = f"{counted_levels} ({adjustments})" if adjustments else counted_levels
    return f"{counted_levels}. This needs a {diff.required_bump} bump{version}"


def _count_level(level: Bump, findings: Iterable[DiffFinding]) -> str:
    """Return how many findings have a level.

    It says how many of them only judges' replies can decide.
    """
    counts = Counter(finding.is_certain for finding in findings if finding.level is level)
    certain, possible = counts[True], counts[False]
    apart = f"{certain} certain, {possible} possible" if certain else f"{possible} possible"
    return f"{certain + possible} {level}" + (f" ({apart})" if possible else "")


def summarize_measurement(measurement: RunMeasurement) -> str:
    """Return in a sentence how many outputs of a run move."""
    return f"{measurement.run}: {_measurement_sentence(measurement)}"


def describe_asked(asked: AskedChange) -> str:
    """Return what judges said about stored outputs under both wordings, and what that shows."""
    return (
        f"Judges asked about outputs of {make_printable(asked.run)}: "
        f"{'. '.join(_list_answer_sentences(asked))}"
    )


def _list_answer_sentences(asked: AskedChange) -> Iterator[str]:
    yield f"{asked.summary}, asked twice in the same wording"
    if asked.flipped:
        yield (
            "The new wording flips more than that"
            if asked.beyond_noise
            else _describe_chance(asked)
        )
    if asked.mean_shift:
        yield _shift_clause(asked.mean_shift).replace("the", "The", 1)
    if asked.unjudged:
        yield f"{asked.unjudged:,} could not be judged in both wordings"
    if asked.engines:
        yield f"Answered by {make_excerpt(join_names(asked.engines), _QUOTE_LIMIT)}"


def _describe_chance(asked: AskedChange) -> str:
    return (
        "That can be the judge's own noise" if asked.own else "So few may be chance: ask about more"
    )


def describe_flip(flip: FlippedVerdict) -> tuple[str, ...]:
    """Return the cells of a flipped verdict.

    They are its question, both scores, both verdicts, and the check that asks.
    """
    score = f"{_score_text(flip.old_score)} → {_score_text(flip.new_score)}"
    verdict = f"{flip.old_verdict} → {flip.new_verdict}"
    return make_excerpt(flip.id, _ID_LIMIT), score, verdict, make_excerpt(flip.check, _ID_LIMIT)


def _repeats_message(value: Any, message: str) -> bool:
    if isinstance(value, dict | list):
        return False
    word = describe_value(value)
    return not word.endswith("…") and word in message


def _describe_witness(witness: Witness | ReplyWitness) -> str:
    if isinstance(witness, ReplyWitness):
        reply = make_excerpt(witness.reply, _QUOTE_LIMIT)
        scores = (witness.old_score, witness.new_score)
        old, new = ("no score" if score is None else format_score(score) for score in scores)
        return f"the reply '{reply}' gave {old} and gives {new}"
    size = f"of {len(witness.output):,} characters " if len(witness.output) > _QUOTE_LIMIT else ""
    output = (
        f'{size}"{make_excerpt(witness.output, _QUOTE_LIMIT)}"{_name_odd_letters(witness.output)}'
    )
    if witness.tool_calls is not None:
        output += (
            " with the calls "
            f"{make_excerpt(write_canonical(list(witness.tool_calls)), _QUOTE_LIMIT)}"
        )
    if recorded := witness.measures.recorded:
        numbers = (f"{name} {number:f}" for name, number in recorded.items())
        output += f" recorded with {join_names(numbers)}"
    if asked := _describe_question(witness.question):
        output += f", to a question with {asked}"
    kind = f"example on {_format_line(witness.example)}," if witness.example else "output"
    old = _describe_grade(witness.old_score, witness.old_verdict)
    new = _describe_grade(witness.new_score, witness.new_verdict)
    return f"the {kind} {output} goes from {old} to {new}{_describe_judgements(witness)}"


def _name_odd_letters(text: str) -> str:
    """Return which characters of a text are not what they look like; empty if there are none."""
    odd = list_odd_letters(text)[:_ODD_LETTERS]
    return f" with {join_names(map(name_letter, odd))}" if odd else ""


def _describe_question(row: Mapping[str, Any] | None) -> str:
    """Return what a question contains besides its input."""
    parts = {key: value for key, value in (row or {}).items() if key not in _ASKED_KEYS}
    return make_excerpt(
        ", ".join(f"{key} {write_canonical(value)}" for key, value in parts.items()), _QUOTE_LIMIT
    )


def _describe_grade(score: Fraction | None, verdict: Verdict) -> str:
    return "unscored" if score is None else f"{format_score(score)} ({verdict})"


def summarize_examples(effect: ExampleEffect) -> str:
    """Return in a sentence how many examples a change turns."""
    turned, known = len(effect.turned), effect.total - effect.ungraded
    parts: list[str] = []
    if known:
        number, verb = f"{turned:,}" if turned else "none", "gets" if turned <= 1 else "get"
        parts.append(f"{number} of {count_noun(known, 'example')} {verb} another grade")
    if effect.ungraded:
        number = f"{effect.ungraded:,} more" if known else count_noun(effect.ungraded, "example")
        parts.append(f"{number} could not be graded on both sides: {make_excerpt(effect.why)}")
    return "; ".join(parts)


def describe_turned(one: TurnedExample) -> str:
    """Return an example with its place and its new result."""
    where = _format_line(one.place) if one.place else one.pointer
    old = _describe_verdict(one.old_verdict, one.old_score)
    new = _describe_verdict(one.new_verdict, one.new_score)
    expected = "as expected" if one.met else f"expected: {describe_expected(one.expected)}"
    return (
        f'{where}: "{make_excerpt(one.output, _QUOTE_LIMIT)}" goes from {old} to {new}, {expected}'
    )


def _describe_verdict(verdict: Verdict, score: Fraction | None) -> str:
    return str(verdict) if score is None else f"{verdict} ({format_score(score)})"


def _describe_judgements(witness: Witness) -> str:
    """Return which scores of judges a witness supposes.

    It also says how far the score moves whatever they are.
    """
    if not witness.judged:
        return ""
    by_check = groupby(witness.judged, key=lambda one: one.check)
    said = ((name, join_names(map(_describe_judged, scores))) for name, scores in by_check)
    scores = join_names(f"{make_excerpt(name)} scores {listing}" for name, listing in said)
    if not witness.least_shift:
        return f" where {scores}"
    verb, points = (
        "rises" if witness.least_shift > 0 else "falls",
        format_score(abs(witness.least_shift)),
    )
    return f" where {scores}, and {verb} by at least {points} points whatever it scores"


def _describe_judged(one: JudgedScore) -> str:
    about = f" for {make_excerpt(one.about, _QUOTE_LIMIT)}" if one.about else ""
    return f"{format_score(one.score)}{about}"


def _repository_path(place: Place) -> str:
    # A file read from git is named <tag>:<path>; the head of the report names the tags already.
    return place.file.rpartition(":")[2]


def _is_same_file(old: Place, new: Place) -> bool:
    """Whether two places are in the same file; git names files from the top of the repository."""
    one, other = _repository_path(old), _repository_path(new)
    return one == other or (other == new.file and one.endswith(f"/{other}"))


def _format_line(place: Place) -> str:
    return f"{make_printable(_repository_path(place))}:{place.line}"


def _measurement_sentence(measurement: RunMeasurement) -> str:
    if not measurement.outputs:
        return "the change grades none of its outputs"
    apart = measurement.asked_otherwise + measurement.unscored
    return "; ".join(_measurement_clauses(measurement, measurement.outputs - apart))


def _measurement_clauses(measurement: RunMeasurement, count: int) -> Iterator[str]:
    if measurement.moved:
        verb = "moves" if measurement.moved == 1 else "move"
        yield (
            f"{measurement.moved:,} of {count_noun(count, 'output')} {verb}, "
            f"{_verdict_clause(measurement)}"
        )
        yield _shift_clause(measurement.mean_shift)
    elif measurement.bound is not None:
        share = f"at most {_format_rounded(measurement.bound * _PERCENT, 1)} % of such outputs do"
        bound = f"with 95 % confidence {share}" if measurement.bound < 1 else "too few to say more"
        yield f"none of {count_noun(count, 'output')} moves; {bound}"
    if apart := measurement.asked_otherwise:
        yield f"{apart:,} {'answers' if apart == 1 else 'answer'} an input other than the new one"
    if measurement.unscored:
        yield f"{measurement.unscored:,} could not be graded under both"


def _verdict_clause(measurement: RunMeasurement) -> str:
    if not measurement.verdict_moved:
        return "no verdict does"
    every = measurement.verdict_moved == measurement.moved > 1
    return f"{'all' if every else f'{measurement.verdict_moved:,}'} to another verdict"


def _shift_clause(shift: Fraction | None) -> str:
    if not shift:
        return "the mean score stays"
    verb = "rises" if shift > 0 else "falls"
    return f"the mean score {verb} by {_format_rounded(abs(shift) * _PERCENT, 2)} points"


def describe_example(example: MovedOutput) -> tuple[str, ...]:
    """Return the cells of a moved output.

    They are its question, its scores, its verdicts if both are known, and its line.
    """
    old, new = example.old_verdict, example.new_verdict
    verdict = f"{old} → {new}" if old is not new else f"{new} as before"
    place = f"line {example.place.line}" if example.place.line else ""
    score = f"{_score_text(example.old_score)} → {_score_text(example.new_score)}"
    return (
        make_excerpt(example.id, _ID_LIMIT),
        score,
        "" if Verdict.UNSCORED in {old, new} else verdict,
        place,
    )


def _score_text(score: Fraction | None) -> str:
    return "unscored" if score is None else format_score(score)


def _format_rounded(value: Fraction, places: int) -> str:
    rounded = round(value, places)
    return (
        format_decimal(rounded)
        if rounded or not value
        else f"less than {format_decimal(Fraction(1, 10**places))}"
    )
