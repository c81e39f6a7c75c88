"""Renders one run under another rubric, the table of flips first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from evalstore.audits.wording.points import format_change
from evalstore.model import Verdict
from evalstore.report.formats.markdown import escape_prose, format_code, format_table
from evalstore.report.json_values import select_json_keys
from evalstore.report.text_layout import (
    PAPER,
    VERDICTS,
    Screen,
    format_columns,
    format_percent,
    join_blocks,
    join_names,
    wrap_columns,
)
from evalstore.text import count_noun, make_excerpt, make_printable

if TYPE_CHECKING:
    from evalstore.audits.score_history import ReplayedOutput, RunReplay


_VERDICTS = (Verdict.PASS, Verdict.FAIL, Verdict.UNSCORED)
_ID, _NAMED = 44, 5


def text(replay: RunReplay, screen: Screen = PAPER) -> str:
    """Return both totals, the table of flips, and the outputs that moved.

    The table says how many verdicts changed from which to which.
    """
    rows = [(f"  {make_excerpt(one.id, _ID)}", *_describe_move(one)) for one in replay.moved]
    lines = wrap_columns(rows, screen.width) if rows else []
    moved = [screen.paint_words(line, VERDICTS) for line in lines]
    return join_blocks(
        screen.wrap(_summarize(replay), inner=""),
        map(screen.paint_change, format_columns(_total_rows(replay), right={1, 2, 3}).split("\n")),
        format_columns(_flip_rows(replay), right={1, 2, 3}),
        ["moved:", *screen.shorten_list(moved)] if rows else "",
        screen.wrap(*_list_notes(replay)),
    )


def markdown(replay: RunReplay) -> str:
    """Return the same for a pull request."""
    _, *totals = _total_rows(replay)
    head, *flips = _flip_rows(replay)
    moved = [(output.id, *_describe_move(output)) for output in replay.moved[:_ID]]
    return join_blocks(
        "### evalstore history",
        f"{format_code(replay.run)} under {format_code(replay.resolved.ref)}",
        f"**{escape_prose(_summarize(replay))}**",
        format_table(("", "recorded", "now", "change"), totals),
        format_table(head, flips),
        format_table(("question", "score", "verdict"), moved) if moved else "",
        *map(escape_prose, _list_notes(replay)),
    )


def document(replay: RunReplay) -> dict[str, Any]:
    """Return the document that schema/output/replay.schema.json describes."""
    flips: dict[str, list[str]] = {"pass_to_fail": [], "fail_to_pass": []}
    for one in replay.moved:
        if (key := _flips(one)) in flips:
            flips[key].append(one.id)
    return {
        **select_json_keys(
            replay, "run ref=resolved.ref version=resolved.version recorded=recorded_ref old new"
        ),
        "compared": len(replay.outputs),
        "flips": flips,
        **select_json_keys(replay, "moved not_graded=missing calls notes"),
    }


def _flips(output: ReplayedOutput) -> str:
    return f"{output.old.verdict}_to_{output.new.verdict}"


def _summarize(replay: RunReplay) -> str:
    turned = [
        sum(_flips(one) == key for one in replay.moved) for key in ("pass_to_fail", "fail_to_pass")
    ]
    verdicts = f"{turned[0]:,} from pass to fail, {turned[1]:,} from fail to pass"
    outputs = count_noun(len(replay.outputs), "output")
    if replay.missing and not replay.outputs:
        return (
            f"None of {count_noun(len(replay.missing), 'output')} could be graded under "
            f"{replay.resolved.ref}."
        )
    of = f"{outputs} that could be graded" if replay.missing else outputs
    return f"{len(replay.moved):,} of {of} move under {replay.resolved.ref}: {verdicts}."


def _share_row(name: str, old: Fraction | None, new: Fraction | None) -> tuple[str, ...]:
    return name, format_percent(old), format_percent(new), format_change(old, new)


def _total_rows(replay: RunReplay) -> list[tuple[str, ...]]:
    old, new = replay.old, replay.new
    return [
        ("", "recorded", "now", "change"),
        _share_row("score", old.score, new.score),
        _share_row("passes", old.pass_rate, new.pass_rate),
        ("scored", f"{old.scored:,}", f"{new.scored:,}", f"{new.scored - old.scored:+,}"),
    ]


def _flip_rows(replay: RunReplay) -> list[tuple[str, ...]]:
    counts = Counter((output.old.verdict, output.new.verdict) for output in replay.outputs)
    head = ("recorded \\ now", *map(str, _VERDICTS))
    return [
        head,
        *((str(old), *(f"{counts[old, new]:,}" for new in _VERDICTS)) for old in _VERDICTS),
    ]


def _describe_move(output: ReplayedOutput) -> tuple[str, str]:
    old, new = output.old, output.new
    flip = f"{old.verdict} -> {new.verdict}" if old.verdict is not new.verdict else str(new.verdict)
    return f"{format_percent(old.score)} -> {format_percent(new.score)}", flip


def _list_notes(replay: RunReplay) -> Iterator[str]:
    if replay.reaches_all:
        yield f"{replay.resolved.name} graded no output of this run; here it replaces every rubric"
    if replay.missing:
        ids = join_names([make_excerpt(id_, _ID) for id_ in replay.missing], _NAMED)
        yield f"{count_noun(len(replay.missing), 'output')} could not be graded: {ids}"
    if replay.calls:
        yield (
            f"{count_noun(replay.calls, 'judge call')} would grade them: name an endpoint with "
            "--judge-url"
        )
    yield from (f"note: {make_printable(note)}" for note in replay.notes)
