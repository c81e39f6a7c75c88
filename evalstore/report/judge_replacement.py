"""Renders what another model does to a judge: agreement, flips, shifts, rates and its file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from evalstore.agreement import JudgeReplacement
from evalstore.agreement.comparison import Judgement, JudgementPair, LabelledSides, MeanShift
from evalstore.agreement.confusion import Agreement, Confusion
from evalstore.audits.wording.points import format_points
from evalstore.model import format_score
from evalstore.report.json_values import select_json_keys, write_json_value
from evalstore.report.judge import FILE_KEYS, RATES, format_rate, list_file_lines
from evalstore.report.run_words import describe_correction, format_interval
from evalstore.report.text_layout import (
    PAPER,
    Part,
    Screen,
    format_columns,
    format_percent,
    join_blocks,
)
from evalstore.statistics import CorrectedShare, Rate, bound_rate
from evalstore.text import count_noun, make_excerpt, make_printable

_LIST_LIMIT = 10
_MODEL, _NAME, _REASON = 30, 24, 40


def text(moved: JudgeReplacement, screen: Screen = PAPER) -> str:
    """Return how well both models agree, which verdicts flip, and how means move.

    The rates of both, and the diff, follow.
    """
    return join_blocks(
        _head_lines(moved, screen),
        _agreement_lines(moved.judgements.verdicts),
        _flip_lines(moved),
        _shift_lines(moved),
        _label_lines(moved, screen),
        _file_lines(moved, screen),
    )


def document(moved: JudgeReplacement) -> dict[str, Any]:
    """Return the document that schema/output/judge_replace.schema.json describes."""
    found, verdicts = moved.judgements, moved.judgements.verdicts
    return {
        **select_json_keys(moved, "judge old_model new_model"),
        "judged": verdicts.rows,
        "unjudged": found.unjudged,
        "counts": select_json_keys(
            verdicts,
            "pass_pass=true_pass pass_fail=false_fail fail_pass=false_pass fail_fail=true_fail",
        ),
        **select_json_keys(
            verdicts, "agreement=accuracy.value agreement_interval=accuracy.interval"
        ),
        **select_json_keys(verdicts, "kappa kappa_interval"),
        **select_json_keys(found, "flips scores passes"),
        "run": moved.run and select_json_keys(moved.run, "run score=scores pass_rate=passes"),
        "labelled": moved.labelled and _label_document(moved.labelled),
        **select_json_keys(moved, "retires required_bump next_version", *FILE_KEYS),
    }


def _label_document(labelled: LabelledSides) -> dict[str, Any]:
    sides = zip(("old", "new"), (labelled.old, labelled.new), labelled.corrected, strict=True)
    return {
        **select_json_keys(labelled.new, "labels labels_sha256 against threshold"),
        **{name: _side_document(side, corrected) for name, side, corrected in sides},
        "problem": labelled.problem or None,
    }


def _side_document(side: Agreement, corrected: CorrectedShare | None) -> dict[str, Any]:
    return {
        **select_json_keys(side, "rows=confusion.rows unjudged engines"),
        **select_json_keys(side.confusion, RATES),
        "corrected": write_json_value(corrected),
    }


def _head_lines(moved: JudgeReplacement, screen: Screen) -> Iterator[str]:
    models = " -> ".join(make_excerpt(name, _MODEL) for name in (moved.old_model, moved.new_model))
    yield screen.paint(Part.HEAD, f"{make_printable(moved.judge.ref)}   model {models}")
    where = moved.labelled.new.labels if moved.labelled else ""
    if moved.run:
        where = moved.run.run
    judged = count_noun(moved.judgements.verdicts.rows, "output")
    missing = ""
    if unjudged := moved.judgements.unjudged:
        missing = f"; without a judgement, and in no number: {unjudged:,}"
    yield from screen.wrap(f"{judged} of {make_printable(where)} judged by both{missing}")


def _agreement_lines(verdicts: Confusion) -> Iterator[str]:
    yield f"{'':12}{'new: pass':>11}{'new: fail':>11}{'':25}95 % interval"
    agreement = format_rate("agreement".ljust(11), verdicts.accuracy)
    kappa = "undefined" if verdicts.kappa is None else f"{float(verdicts.kappa):>7.3f}"
    ends = verdicts.kappa_interval
    reach = f"     {ends[0]:>7.3f} to {ends[1]:>6.3f}" if ends else ""
    yield f"{'old: pass':12}{verdicts.true_pass:>11,}{verdicts.false_fail:>11,}     {agreement}"
    yield (
        f"{'old: fail':12}{verdicts.false_pass:>11,}{verdicts.true_fail:>11,}     "
        f"{'kappa':<11}{kappa}{reach}"
    )


def _flip_lines(moved: JudgeReplacement) -> Iterator[str]:
    verdicts, flips = moved.judgements.verdicts, moved.judgements.flips
    if not flips:
        yield (
            f"no verdict flips; at most {float(bound_rate(verdicts.rows)) * 100:.1f} % of such "
            "outputs would"
        )
        return
    ways = f"{verdicts.false_fail:,} from pass to fail, {verdicts.false_pass:,} from fail to pass"
    yield (
        "verdicts that flip: "
        f"{ways}{f'; the first {_LIST_LIMIT}' if verdicts.apart > _LIST_LIMIT else ''}"
    )
    name = f"{moved.judge.ref.partition('@')[0]}@{moved.judge.version} "  # a reason begins with it
    yield format_columns([_flip_row(pair, name) for pair in flips[:_LIST_LIMIT]])


def _format_judgement(one: Judgement) -> str:
    return str(one.verdict) if one.score is None else format_score(one.score)


def _flip_row(pair: JudgementPair, name: str) -> Sequence[str]:
    scores = list(map(_format_judgement, (pair.old, pair.new)))
    label = [f"label {pair.label}"] if pair.label else [make_excerpt(pair.check, _NAME)]
    way = f"{pair.old.verdict} -> {pair.new.verdict}"
    reason = pair.new.reason.removeprefix(name).removeprefix(f"{scores[1]}: ")
    return (
        f"  {make_excerpt(pair.id, _NAME)}",
        *label,
        way,
        " -> ".join(scores),
        make_excerpt(reason, _REASON),
    )


def _shift_lines(moved: JudgeReplacement) -> Iterator[str]:
    found, run = moved.judgements, moved.run
    shifts = [("mean judgement", found.scores), ("judged to pass", found.passes)]
    shifts += (
        [("score of the run", run.scores), ("pass rate of the run", run.passes)] if run else []
    )
    rows = [_shift_row(name, shift) for name, shift in shifts if shift]
    yield format_columns(
        [("points", "old", "new", "shift", "95 % interval"), *rows], right={1, 2, 3, 4}
    )


def _shift_row(name: str, shift: MeanShift) -> Sequence[str]:
    ends = shift.interval
    reach = " to ".join(map(format_points, ends)) if ends else "too few to say"
    return (
        name,
        format_percent(shift.old),
        format_percent(shift.new),
        format_points(shift.shift),
        reach,
    )


def _label_lines(moved: JudgeReplacement, screen: Screen) -> Iterator[str]:
    labelled = moved.labelled
    if labelled is None:
        return
    against = f", of {make_printable(labelled.new.against.ref)}" if labelled.new.against else ""
    rows = (
        f"{count_noun(labelled.new.confusion.rows, 'row')} of "
        f"{make_printable(labelled.new.labels)}{against}"
    )
    yield from screen.wrap(f"as people labelled {rows}:")
    names = [make_excerpt(name, _MODEL) for name in (moved.old_model, moved.new_model)]
    sides = zip(names, (labelled.old.confusion, labelled.new.confusion), strict=True)
    rates = [(name, *_rate_cells(side.tpr), *_rate_cells(side.tnr)) for name, side in sides]
    yield format_columns(
        [("points", "TPR", "95 % interval", "TNR", "95 % interval"), *rates], right=range(1, 5)
    )
    if labelled.problem:
        yield from screen.wrap(f"no corrected pass rate: {labelled.problem}")
    if any(labelled.corrected):
        yield ""
        yield "pass rate without the errors of each model (Rogan-Gladen):"
        table: list[tuple[str, ...]] = [("points", "judged", "corrected", "95 % interval")]
        for name, one in zip(names, labelled.corrected, strict=True):
            table.append((name, *_correction_cells(one)))
        yield format_columns(table, right=range(1, 4))


def _correction_cells(share: CorrectedShare | None) -> Sequence[str]:
    return [*describe_correction(share)] if share else ("", "-", "no better than a constant answer")


def _rate_cells(rate: Rate) -> Sequence[str]:
    return (
        ("-", "")
        if rate.value is None
        else (format_percent(rate.value, 1), format_interval(rate.interval))
    )


def _file_lines(moved: JudgeReplacement, screen: Screen) -> Iterator[str]:
    if moved.diff:
        yield from list_file_lines(moved, screen)
    if moved.required_bump:
        version = f": the next version is {moved.next_version}" if moved.next_version else ""
        yield f"This needs a {moved.required_bump} bump{version}"
    elif moved.required_bump is None:
        yield "The judge was never released, so its first release will have the new model"
