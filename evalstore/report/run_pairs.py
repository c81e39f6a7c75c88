"""Renders two runs side by side: how they differ, and the pairs of outputs that regressed most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from evalstore.audits.wording.points import format_points
from evalstore.report.blame import describe_origin
from evalstore.report.json_values import select_json_keys, write_json_value
from evalstore.report.records import HEAD, list_facts, list_rows, write_sentence
from evalstore.report.run_words import describe_usage, name_output
from evalstore.report.text_layout import (
    PAPER,
    Part,
    Screen,
    format_columns,
    format_percent,
    join_blocks,
)
from evalstore.text import count_noun, make_excerpt, make_printable
from evalstore.word_diff import compare_words

if TYPE_CHECKING:
    from evalstore.audits.records.comparison import RecordComparison
    from evalstore.audits.records.pairs import Edits, PairReader, RowPair, RunPairs
    from evalstore.audits.values import EditSource, LineEffect
    from evalstore.model import CheckResult
    from evalstore.report.pages.row_file import RowPages
    from evalstore.runs import GradedRow, Run

_SHOWN = 40  # pairs on a screen
_NAMED = 5  # answers in a fact
_EXCERPT = 400  # characters of a comparison of two outputs
_CHECK = 30  # characters of a check's id


def text(found: RunPairs, screen: Screen = PAPER) -> str:
    """Return the change in a sentence, both means, a block per pair, and what else differs."""
    shown = found.pairs if screen.whole else found.pairs[:_SHOWN]
    comparison = found.comparison
    left = found.found - len(shown)
    rest = [f"and {count_noun(left, 'more pair')}; --verbose lists them all"] if left else []
    facts = [*_list_facts(comparison, found.runs, found.gap, None if screen.whole else _NAMED)]
    return join_blocks(
        screen.wrap(write_sentence(comparison), inner="", part=Part.HEAD),
        format_columns([HEAD, *list_rows(comparison)], right={1, 2}),
        *(_format_pair(pair, found.edits.get(pair.b.id, ()), screen) for pair in shown),
        rest,
        screen.wrap(*facts),
    )


def document(found: RunPairs) -> dict[str, Any]:
    """Return the document that schema/output/show_pairs.schema.json describes."""
    comparison = found.comparison
    return {
        "sentence": write_sentence(comparison),
        **select_json_keys(comparison, "delta=score.delta passes_delta=passes.delta"),
        "a": select_json_keys(comparison.a, "run model score passes"),
        "b": select_json_keys(comparison.b, "run model score passes"),
        "found": found.found,
        "pairs": [_write_pair(pair, found.edits.get(pair.b.id, ())) for pair in found.pairs],
        "notes": [*_list_facts(comparison, found.runs, found.gap, None)],
    }


def prepare_pages(reader: PairReader, tags: Mapping[str, Sequence[str]]) -> RowPages:
    """Return the pages of two runs, which are written while they are read."""
    from evalstore.report.pages import pairs

    comparison = reader.comparison
    return pairs.prepare_pages(
        reader,
        sentence=write_sentence(comparison),
        head=HEAD,
        means=[*list_rows(comparison)],
        facts=[*_list_facts(comparison, reader.runs, reader.gap, None)],
        tags=tags,
    )


def _list_facts(
    comparison: RecordComparison, runs: tuple[Run, Run], gap: str, limit: int | None
) -> Iterator[str]:
    """Yield what an audit of records says, and the tokens of the judges in each run.

    Last comes why no edit is named.
    """
    yield from list_facts(comparison, limit)
    for name, run in zip("AB", runs, strict=True):
        if usage := describe_usage(run):
            yield f"replies of the judges in {name}: {usage}"
    yield from [gap] if gap else []


def _write_pair(pair: RowPair, edits: Edits) -> dict[str, Any]:
    sides = zip("ab", pair, strict=True)
    return {
        **select_json_keys(pair.b, "id sample input"),
        **select_json_keys(pair, "change"),
        **{name: _write_side(row) for name, row in sides},
        "edits": [_write_edit(source, effect) for source, effect in edits],
    }


def _write_edit(source: EditSource, effect: LineEffect) -> dict[str, Any]:
    return {
        **select_json_keys(source, "rule part message"),
        **select_json_keys(source.origin, "ref old new commit author date"),
        **select_json_keys(effect, "score passes"),
    }


def _write_side(row: GradedRow) -> dict[str, Any]:
    return {
        **select_json_keys(row, "score verdict rubric reason asked output=output.text"),
        "tool_calls": None if row.output.tool_calls is None else len(row.output.tool_calls),
        "checks": write_json_value(row.checks),
    }


def _format_pair(pair: RowPair, edits: Edits, screen: Screen) -> Iterator[str]:
    from evalstore.audits.records.pairs import has_moved

    a, b = pair
    lead = f"{format_points(pair.change) if pair.change else '0.00':>7}  "
    part = Part.PATCH if pair.rank > (0, 0) else Part.QUIET
    if pair.rank < (0, 0):
        part = Part.MAJOR
    states = f"{_name_state(a)} \u2192 {_name_state(b)}"
    room = max(screen.width - len(lead) - len(states) - 2, _CHECK)
    name = make_excerpt(name_output(b), room)
    yield f"{screen.paint(part, lead)}{screen.paint(Part.HEAD, name)}  {states}"
    margin = " " * len(lead)
    for source, effect in edits:
        who = describe_origin(source.origin)
        sentence = f"{format_points(effect.score)} by {source.message or source.part}; {who}"
        yield from screen.wrap(sentence, lead=f"{margin}edit  ", inner=f"{margin}      ")
    for id_, old, new in pair.list_checks():
        if has_moved(old, new):
            yield from _format_check(id_, old, new, screen, margin)
    if a.has_output_of(b):
        yield from screen.wrap(
            "the same output in both", lead=margin, inner=margin, part=Part.QUIET
        )
        return
    words = compare_words(a.output.text, b.output.text)
    yield from _fold(make_excerpt(words, _EXCERPT), f"{margin}output  ", screen)


def _name_state(row: GradedRow) -> str:
    return f"{format_percent(row.score)} {row.verdict}"


def _format_check_state(result: CheckResult | None) -> str:
    return "not in it" if result is None else f"{format_percent(result.score)} {result.verdict}"


def _format_check(
    id_: str,
    old: CheckResult | None,
    new: CheckResult | None,
    screen: Screen,
    margin: str,
) -> Iterator[str]:
    """Yield what both runs said about a check.

    They are the verdicts, and below them the reasons (for a judge, its words).
    """
    states = " \u2192 ".join(map(_format_check_state, (old, new)))
    yield f"{margin}{make_excerpt(id_, _CHECK)}  {states}"
    for name, one in (("A", old), ("B", new)):
        if one and one.reason:
            yield from _fold(make_printable(one.reason), f"{margin}  {name}  ", screen)


def _fold(text_: str, lead: str, screen: Screen) -> list[str]:
    """Return a model's text in lines that fit: commands in it are not meant to be copied whole."""
    return wrap(text_, screen.width, initial_indent=lead, subsequent_indent=" " * len(lead))
