"""Renders one run under another rubric, the table of flips first, and which rubrics reproduce the record of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from evalstore.audits.wording import format_change
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
    from evalstore.audits.inference import Inference, RulerCandidate
    from evalstore.audits.score_history import ReplayedOutput, RunReplay


_LISTED = 12
_EXCERPT = 60


def text_inference(inference: Inference, screen: Screen = PAPER) -> str:
    """Return the answer in a sentence, the best candidates, and what would tell them apart."""
    tables = [
        format_columns([(f"  {name}", agree) for name, agree in _rank_rows(candidates)])
        for candidates in (inference.rubrics, inference.datasets)
    ]
    return join_blocks(
        screen.wrap(_summarize_inference(inference), inner=""),
        *(f"{title}:\n{table}" for title, table in zip(("rubrics", "datasets"), tables, strict=True)),
        screen.wrap(*_list_inference_notes(inference)),
    )


def markdown_inference(inference: Inference) -> str:
    """Return the same for a pull request."""
    rows = [*_rank_rows(inference.rubrics), *_rank_rows(inference.datasets)]
    return join_blocks(
        "### evalstore infer",
        format_code(inference.run),
        f"**{escape_prose(_summarize_inference(inference))}**",
        format_table(("rubric or judge", "reproduces"), rows),
        *map(escape_prose, _list_inference_notes(inference)),
    )


def _rank_rows(candidates: Sequence[RulerCandidate]) -> Iterator[tuple[str, str]]:
    for one in candidates[:_LISTED]:
        rest = f"; {one.not_graded:,} not graded" if one.not_graded else ""
        yield one.resolved.ref, "all" if one.is_exact else f"{one.agree:,} of {one.of:,}{rest}"
    if len(candidates) > _LISTED:
        yield f"and {len(candidates) - _LISTED:,} more", ""


def _summarize_inference(inference: Inference) -> str:
    exact = [one.resolved.ref for one in reversed(inference.rubrics) if one.is_exact]
    scores = f"all {count_noun(inference.scored, 'recorded score')}"
    names = {one.resolved.name for one in inference.rubrics}
    if len(names) > 1:
        by_pins = [one.resolved.ref for one in inference.datasets if one.is_exact]
        if by_pins:
            verb = "reproduce" if by_pins[1:] else "reproduces"
            return f"{join_names(by_pins, _LISTED)} {verb} {scores}, by the rubrics pinned there."
        if unknown := [one.resolved.ref for one in reversed(inference.datasets) if one.may_be_exact]:
            names_ = join_names(unknown, _LISTED)
            return f"{names_} may reproduce {scores} by the rubrics pinned there, but replies of judges are missing."
        return f"The questions have {len(names)} rubrics, and no released dataset reproduces {scores} by its pins."
    unknown = [one.resolved.ref for one in reversed(inference.rubrics) if one.may_be_exact]
    open_ = f"{join_names(unknown, _LISTED)} may, but replies of judges are missing" if unknown else ""
    if not exact and unknown:
        return f"No released rubric is known to reproduce {scores}; {open_}."
    if not exact:
        best = inference.rubrics[0]
        return f"No released rubric reproduces {scores}; {best.resolved.ref} comes nearest, with {best.agree:,}."
    if len(exact) == 1:
        return f"{exact[0]} reproduces {scores}; {open_}." if unknown else f"Only {exact[0]} reproduces {scores}."
    return f"{join_names(exact, _LISTED)} reproduce {scores}; these outputs cannot tell them apart."


def _list_inference_notes(inference: Inference) -> Iterator[str]:
    for one in inference.distinguish:
        pair = f"{one.old.ref} and {one.new.ref}"
        scores = f"{format_percent(one.old_score)} under the first, {format_percent(one.new_score)} under the second"
        if one.old_score == one.new_score:
            scores = f"{format_percent(one.old_score)} under both, with another verdict"
        if one.question is not None:
            yield f"{pair} differ on question {make_excerpt(one.question, _EXCERPT)}: {scores}"
        elif one.output is not None:
            yield f"{pair} would differ on the output {make_excerpt(one.output, _EXCERPT)!r}: {scores}"
        else:
            yield f"{pair}: no output is known whose score tells them apart"
    if inference.calls:
        yield f"{count_noun(inference.calls, 'judge call')} would settle more: name an endpoint with --judge-url"
    yield from (f"note: {make_printable(note)}" for note in inference.notes)


_VERDICTS = (Verdict.PASS, Verdict.FAIL, Verdict.UNSCORED)
_ID, _NAMED = 44, 5


def text(replay: RunReplay, screen: Screen = PAPER) -> str:
    """Return both totals, how many verdicts went from which to which, and the outputs that moved."""
    flips = [(output, *_describe_move(output)) for output in replay.moved]
    rows = [(f"  {make_excerpt(output.id, _ID)}", scores, verdicts) for output, scores, verdicts in flips]
    moved = [screen.paint_words(line, VERDICTS) for line in wrap_columns(rows, screen.width)] if rows else []
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
        f"{format_code(replay.run)} under {format_code(replay.ruler.ref)}",
        f"**{escape_prose(_summarize(replay))}**",
        format_table(("", "recorded", "now", "change"), totals),
        format_table(head, flips),
        format_table(("question", "score", "verdict"), moved) if moved else "",
        *map(escape_prose, _list_notes(replay)),
    )


def document(replay: RunReplay) -> dict[str, Any]:
    """Return the document that schema/output/replay.schema.json describes."""
    flips = {key: [one.id for one in replay.moved if _flips(one) == key] for key in ("pass_to_fail", "fail_to_pass")}
    return {
        **select_json_keys(replay, "run ref=ruler.ref version=ruler.version recorded=recorded_ref old new"),
        "compared": len(replay.outputs),
        "flips": flips,
        **select_json_keys(replay, "moved not_graded=missing calls notes"),
    }


def _flips(output: ReplayedOutput) -> str:
    return f"{output.old.verdict}_to_{output.new.verdict}"


def _summarize(replay: RunReplay) -> str:
    turned = [sum(_flips(one) == key for one in replay.moved) for key in ("pass_to_fail", "fail_to_pass")]
    verdicts = f"{turned[0]:,} from pass to fail, {turned[1]:,} from fail to pass"
    outputs = count_noun(len(replay.outputs), "output")
    if replay.missing and not replay.outputs:
        return f"None of {count_noun(len(replay.missing), 'output')} could be graded under {replay.ruler.ref}."
    of = f"{outputs} that could be graded" if replay.missing else outputs
    return f"{len(replay.moved):,} of {of} move under {replay.ruler.ref}: {verdicts}."


def _total_rows(replay: RunReplay) -> list[tuple[str, ...]]:
    old, new = replay.old, replay.new
    shares = (("score", old.score, new.score), ("passes", old.pass_rate, new.pass_rate))
    return [
        ("", "recorded", "now", "change"),
        *((name, format_percent(one), format_percent(other), format_change(one, other)) for name, one, other in shares),
        ("scored", f"{old.scored:,}", f"{new.scored:,}", f"{new.scored - old.scored:+,}"),
    ]


def _flip_rows(replay: RunReplay) -> list[tuple[str, ...]]:
    counts = Counter((output.old.verdict, output.new.verdict) for output in replay.outputs)
    head = ("recorded \\ now", *map(str, _VERDICTS))
    return [head, *((str(old), *(f"{counts[old, new]:,}" for new in _VERDICTS)) for old in _VERDICTS)]


def _describe_move(output: ReplayedOutput) -> tuple[str, str]:
    old, new = output.old, output.new
    flip = f"{old.verdict} -> {new.verdict}" if old.verdict is not new.verdict else str(new.verdict)
    return f"{format_percent(old.score)} -> {format_percent(new.score)}", flip


def _list_notes(replay: RunReplay) -> Iterator[str]:
    if replay.reaches_all:
        yield f"{replay.ruler.name} graded no output of this run; here it replaces every rubric"
    if replay.missing:
        ids = join_names([make_excerpt(id_, _ID) for id_ in replay.missing], _NAMED)
        yield f"{count_noun(len(replay.missing), 'output')} could not be graded: {ids}"
    if replay.calls:
        yield f"{count_noun(replay.calls, 'judge call')} would grade them: name an endpoint with --judge-url"
    yield from (f"note: {make_printable(note)}" for note in replay.notes)
