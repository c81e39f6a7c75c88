"""Words an audit that graded nothing: the ends of each share, and what is proved, of these questions alone."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from evalstore.audits.wording import ask_better, format_points, format_size
from evalstore.report.text_layout import format_percent, join_names
from evalstore.text import count_noun

if TYPE_CHECKING:
    from evalstore.audits.shapley import ShareBounds
    from evalstore.audits.static_audit import BoundedFactor, ProvedDirection, StaticAudit

_DIRECTIONS = {
    "none": "scores cannot move",
    "stricter": "scores can only fall",
    "looser": "scores can only rise",
    "either": "how scores can move is not proved",
}
_VERDICTS = {"stricter": ", and fewer pass", "looser": ", and more pass", "either": ", and verdicts can turn"}


def write_sentence(audit: StaticAudit) -> str:
    """Return how the score moved, and between which ends each share is proved to be; it says nothing of other data."""
    verb = "fell" if audit.delta < 0 else "rose"
    moved = f"{verb} by {format_size(audit.delta)} points" if audit.delta else "did not move"
    shares = [f"{factor.player.label} {describe_bounds(factor.score)}" for factor in audit.factors]
    effects = audit.lines.by_name.items()
    lines = [f"{audit.lines.labels[name]} {format_points(effect.score)}" for name, effect in effects if effect.score]
    named = join_names([*shares, *lines]) or "nothing differs"
    count = count_noun(audit.common, "question")
    return f"The score {moved}. Nothing was graded again; the records of {count} alone prove: {named}."


def write_answer(audit: StaticAudit) -> str:
    """Return what the outputs did on these questions, as far as the records prove; they do not tell it from chance."""
    question = ask_better(audit.a, audit.b)
    least, most = audit.own
    if least == most == 0:
        return f"{question} The outputs moved no score."
    # The table has the share of the answers that both runs have.
    zeros = ", with missing answers counted as 0," if audit.lines.silent_b else ""
    if least > 0 or most < 0:
        found = f"gained {_word_ends(least, most)}" if least > 0 else f"lost {_word_ends(-most, -least)}"
        return f"{question} On these questions{zeros} its outputs {found} points; records do not tell that from chance."
    return f"{question} The records cannot tell: its outputs{zeros} moved the score by {describe_bounds(audit.own)}."


def _word_ends(least: Fraction, most: Fraction) -> str:
    return format_size(least) if least == most else f"{format_size(least)} to {format_size(most)}"


def list_rows(audit: StaticAudit) -> Iterator[tuple[str, ...]]:
    """Yield a row for each run, player and line: name, score, passes, where it differs, and what is proved."""
    yield "A", format_percent(audit.a.score), format_percent(audit.a.passes), "", ""
    for factor in audit.factors:
        words = describe_bounds(factor.score), describe_bounds(factor.passes)
        yield factor.player.label, *words, f"{factor.changed:,} of {audit.common:,}", describe_claim(factor)
    for name, effect in audit.lines.by_name.items():
        if effect.score or effect.passes:
            yield audit.lines.labels[name], format_points(effect.score), format_points(effect.passes), "", "exact"
    yield "B", format_percent(audit.b.score), format_percent(audit.b.passes), "", ""


def describe_bounds(bounds: ShareBounds) -> str:
    """Return both ends of a share in points, or that it is exact."""
    if bounds.least == bounds.most:
        return f"exactly {format_points(bounds.least)}"
    return f"{format_points(bounds.least)} to {format_points(bounds.most)}"


def describe_claim(factor: BoundedFactor) -> str:
    """Return which sign of a share is proved on these questions."""
    least, most = factor.score
    if least == most:
        return "exact"
    if most <= 0:
        return f"at most {format_points(most)}"
    if least >= 0:
        return f"at least {format_points(least)}"
    return "no sign"


def list_facts(audit: StaticAudit) -> Iterator[str]:
    """Yield what else the records say: verdicts, what is not stored, notes, and what was proved of each rubric."""
    own = audit.own
    yield f"the outputs' own share, answers that B lacks as 0: {describe_bounds(own)}"
    yield f"verdicts: {audit.flips[0]:,} from pass to fail, {audit.flips[1]:,} from fail to pass"
    for run, count in zip("AB", audit.unstored, strict=True):
        if count:
            verb = "is" if count == 1 else "are"
            yield f"{count_noun(count, 'output')} of {run} {verb} not stored: equal only where recorded digests are"
    yield from (f"note: {note}" for note in audit.notes)
    yield from map(_describe_proof, audit.proved)


def _describe_proof(proved: ProvedDirection) -> str:
    effect = _DIRECTIONS[proved.score] + (_VERDICTS.get(proved.verdict, "") if proved.score == "none" else "")
    return f"{proved.old} \u2192 {proved.new} ({count_noun(proved.questions, 'question')}): {effect}"
