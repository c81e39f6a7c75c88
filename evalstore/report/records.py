"""Renders two records compared as pairs: the change with its interval, flips, and differences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from evalstore.audits.claims import format_p
from evalstore.audits.conditions import RecordReport
from evalstore.audits.records.comparison import (
    RECORD_NAMES,
    RecordChange,
    RecordComparison,
    RecordDifference,
    RecordSeries,
)
from evalstore.audits.values import RunSide
from evalstore.audits.wording.factors import describe_least, describe_shown
from evalstore.audits.wording.gaps import describe_pairs
from evalstore.audits.wording.points import format_points, format_size
from evalstore.model.outcome import MAX_UNGRADED
from evalstore.report.audit import describe_side
from evalstore.report.audit_report import describe_result, format_results
from evalstore.report.formats.markdown import escape_prose, format_code, format_table
from evalstore.report.json_values import select_json_keys, write_json_value
from evalstore.report.text_layout import (
    PAPER,
    Part,
    Screen,
    format_columns,
    format_percent,
    join_blocks,
    join_names,
)
from evalstore.statistics import Conclusion
from evalstore.text import count_noun, make_excerpt

HEAD = ("points", "score", "passes", "")
_NAME = 40
_SHOWN = 5  # names of answers on a line
_NOT_NAMED = "not named"
_CLAIMS = {
    Conclusion.SIGNIFICANT: "That is more than chance",
    Conclusion.BOUNDED_NULL: "That is next to nothing",
    Conclusion.MOVED_NONE: "No answer has a different score",
}


def text(report: RecordReport, screen: Screen = PAPER) -> str:
    """Return the change in a sentence, both means, and what else there is.

    The answers to conditions come last.
    """
    limit = None if screen.whole else _SHOWN
    blocks: list[Sequence[str]] = []
    for one, (title, facts) in zip(report.all, _list_titled_facts(report, limit), strict=True):
        heading = screen.wrap(title, inner="", part=Part.HEAD) if title else []
        blocks.append([*heading, *screen.wrap(*facts)])
        blocks.append(format_results(one.results, screen))
    return join_blocks(
        *(screen.wrap(sentence, inner="", part=Part.HEAD) for sentence in _write_sentences(report)),
        format_columns([HEAD, *_list_all_rows(report)], right={1, 2}),
        *blocks,
    )


def markdown(report: RecordReport) -> str:
    """Return a comment for a pull request."""
    found = report.comparison
    is_one_file = found.names != RECORD_NAMES
    other = "" if is_one_file else f" \u2192 {format_code(found.b.run)}"
    return join_blocks(
        "### evalstore audit",
        f"{format_code(found.a.run)}{other}",
        *(f"**{escape_prose(sentence)}**" for sentence in _write_sentences(report)),
        (f"- {escape_prose(describe_result(one))}" for each in report.all for one in each.results),
        format_table(HEAD, _list_all_rows(report)),
        *_list_markdown_facts(report),
    )


def _list_markdown_facts(report: RecordReport) -> Iterator[str | Iterable[str]]:
    """Yield the facts of each comparison, below its title if there are several."""
    for title, facts in _list_titled_facts(report, _SHOWN):
        if title:
            yield f"{escape_prose(title)}:"
        yield (f"- {escape_prose(fact)}" for fact in facts)


def html(report: RecordReport) -> str:
    """Return a page."""
    from evalstore.report.pages.html import render_page

    found = report.comparison
    return render_page(
        "records",
        title=(
            f"Two records: {found.a.model or found.a.run} to {found.b.model or found.b.run}"
            if found.names == RECORD_NAMES
            else f"Configurations of {found.a.run}"
        ),
        found=found,
        is_one_file=found.names != RECORD_NAMES,
        sentences=_write_sentences(report),
        conditions=[describe_result(one) for each in report.all for one in each.results],
        head=HEAD,
        rows=_list_all_rows(report),
        facts=_list_titled_facts(report, None),
    )


def document(report: RecordReport) -> dict[str, Any]:
    """Return the document that schema/output/audit_records.schema.json describes."""
    found = report.comparison
    return {
        "sentence": write_sentence(found),
        "names": list(found.names),
        **select_json_keys(
            found, "delta=score.delta passes_delta=passes.delta a b pairs score passes"
        ),
        "flips": {
            **select_json_keys(
                found.flips,
                "pass_to_fail=pass_to_fail# fail_to_pass=fail_to_pass# mcnemar_mid_p=mid_p~",
            ),
            "questions": select_json_keys(found.flips, "pass_to_fail fail_to_pass"),
        },
        **select_json_keys(found, "only_a only_b unscored missing_b delta_as_zero differences"),
        "pairs_by_input": dict(found.pairs_by_input.ids),
        "pairs_that_differ": dict(found.contents),
        "conditions": write_json_value(report.results),
        "series": list(map(_write_series, found.series)),
        "notes": list(found.notes),
        "others": [*map(document, report.others)],
    }


def _write_sentences(report: RecordReport) -> list[str]:
    return [write_sentence(one.comparison) for one in report.all]


def _list_titled_facts(report: RecordReport, limit: int | None) -> list[tuple[str, list[str]]]:
    """Return the facts of each comparison.

    If there are several, with what is compared with what.
    """
    found = []
    for one in report.all:
        base, name = (make_excerpt(end, _NAME) for end in one.comparison.names)
        title = f"{name} against {base}" if report.others else ""
        found.append((title, [*list_facts(one.comparison, limit)]))
    return found


def _list_all_rows(report: RecordReport) -> list[tuple[str, ...]]:
    """Return the rows of each comparison.

    The baseline that they share comes from the first one.
    """
    rows = [*list_rows(report.comparison)]
    for one in report.others:
        rows += [*list_rows(one.comparison)][1:]
    return rows


def write_sentence(found: RecordComparison) -> str:
    """Return how the score moved on the pairs, and whether that could be chance.

    Each configuration has a sentence.
    """
    parts: list[tuple[str, RecordComparison | RecordSeries]] = [("The score", found)]
    if found.series:
        parts = [(make_excerpt(one.name, _NAME), one) for one in found.series]
    hidden = _describe_hidden(found)
    if found.names != RECORD_NAMES:
        base, name = (make_excerpt(one, _NAME) for one in found.names)
        moved = f"{name} {_describe_gap(found.score.delta)} {base}"
        on = f"on {count_noun(found.pairs, 'pair')} of recorded answers"
        return f"{moved} {on}. {hidden or _describe_claim(found)}."
    sentences: list[str] = []
    for name, one in parts:
        move, pairs = _describe_move(one.score.delta), count_noun(one.pairs, "pair")
        sentences.append(f"{name} {move} on {pairs} of recorded answers.")
        sentences.append(f"{hidden or _describe_claim(one)}.")
    return " ".join(sentences)


def _describe_gap(delta: Fraction) -> str:
    if not delta:
        return "scored as much as"
    return f"scored {format_size(delta)} points {'below' if delta < 0 else 'above'}"


def _describe_move(delta: Fraction) -> str:
    if not delta:
        return "did not move"
    return f"{'fell' if delta < 0 else 'rose'} by {format_size(delta)} points"


def _describe_hidden(found: RecordComparison) -> str:
    """Return that one record graded answers for which the other had nothing to grade.

    It is empty unless that concerns many pairs.
    """
    if found.emptied <= MAX_UNGRADED * found.pairs:
        return ""
    return (
        "These records cannot tell whether the answers did that: checks had nothing to grade "
        f"in one of them on {found.emptied:,}"
    )


def _describe_claim(found: RecordComparison | RecordSeries) -> str:
    estimate, typical, verdicts = found.score.estimate, found.score.moves, found.passes.moves
    if estimate.conclusion is not Conclusion.NOT_RESOLVABLE:
        return _CLAIMS[estimate.conclusion]
    # With several samples per question, more may pass although no verdict turns.
    if shown := describe_shown(verdicts if verdicts.units == found.pairs else None, typical):
        return f"That is more than chance: {shown}"
    if estimate.mean is None:
        return "These are too few to tell that from chance"
    least = describe_least(estimate.mean.detectable_effect, 0)
    return f"That could be chance: {count_noun(estimate.units, 'question')} {least}"


def list_rows(found: RecordComparison) -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table below `HEAD`: both means, their difference and its interval."""
    if not found.series:
        yield from _list_change_rows(found, (found.score, found.passes), "")
    for one in found.series:
        yield from _list_change_rows(found, (one.score, one.passes), make_excerpt(one.name, _NAME))


def _list_change_rows(
    found: RecordComparison, changes: tuple[RecordChange, RecordChange], series: str
) -> Iterator[tuple[str, ...]]:
    """Yield both means, their difference and its interval.

    They are for all pairs, or for one configuration's.
    """
    is_one_file = found.names != RECORD_NAMES
    for name, side, end in zip(found.names, (found.a, found.b), "ab", strict=True):
        means = (format_percent(getattr(change, end)) for change in changes)
        made_by = " ".join(filter(None, (side.model, side.dataset))) or side.run
        about = count_noun(side.scored, "question") if is_one_file else made_by
        yield f"{make_excerpt(name, _NAME)} {series}".rstrip(), *means, describe_side(about, side)
    yield f"change {series}".rstrip(), *(format_points(change.delta) for change in changes), ""
    intervals = [
        change.estimate.mean.interval if change.estimate.mean else None for change in changes
    ]
    yield (
        "95 % interval",
        *(" to ".join(map(format_points, ends)) if ends else "-" for ends in intervals),
        "",
    )


def _write_series(one: RecordSeries) -> dict[str, Any]:
    return select_json_keys(one, "name pairs score passes delta=score.delta")


def _describe_whole(side: RunSide) -> str:
    return f"{format_percent(side.score)} of {count_noun(side.scored, 'question')}"


def list_facts(found: RecordComparison, limit: int | None) -> Iterator[str]:
    """Yield flips, answers without a pair, what the records name differently, and notes.

    Each sentence names at most `limit` answers.
    """
    a, b = (make_excerpt(name, _NAME) for name in found.names)
    yield from describe_pairs(found.pairs_by_input)
    flips = found.flips
    counts = (
        f"{len(flips.pass_to_fail):,} from pass to fail, {len(flips.fail_to_pass):,} from fail to "
        "pass"
    )
    chance = "" if flips.mid_p is None else f" (McNemar mid-p {format_p(flips.mid_p)})"
    yield f"verdicts: {counts}{chance}"
    for way, ids in (("pass to fail", flips.pass_to_fail), ("fail to pass", flips.fail_to_pass)):
        if ids:
            yield f"from {way}: {_join_names(ids, limit)}"
    for words, ids in (
        (f"only in {a}", found.only_a),
        (f"only in {b}", found.only_b),
        ("in both, and unscored in one or both", found.unscored),
    ):
        if ids:
            yield f"{words} ({len(ids):,}): {_join_names(ids, limit)}"
    if found.only_a or found.only_b or found.unscored:
        whole_a, whole_b = map(_describe_whole, (found.a, found.b))
        yield f"each record by itself: {a} {whole_a}, {b} {whole_b}"
    if found.missing_b:
        yield (
            f"with {count_noun(found.missing_b, 'answer')} that {b} lacks as 0: "
            f"{format_points(found.delta_as_zero)}"
        )
    yield from map(_describe_difference, found.differences)
    contents = [f"{name} in {count:,}" for name, count in found.contents.items()]
    if contents:
        yield f"of {count_noun(found.pairs, 'pair')} differ: {', '.join(contents)}"
    yield from found.notes


def _join_names(ids: tuple[str, ...], limit: int | None) -> str:
    return join_names((make_excerpt(one, _NAME) for one in ids), limit)


def _describe_difference(one: RecordDifference) -> str:
    alike = ", which scores the same" if one.same_scoring else ""
    return f"{one.name}: {one.a or _NOT_NAMED} \u2192 {one.b or _NOT_NAMED}{alike}"
