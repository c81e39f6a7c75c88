"""Renders an audit as text and JSON: the answer in a sentence first, then the factors that add up to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from evalstore.audits import Audit, Cause, Factor, Origin, RunSide
from evalstore.audits.wording import format_p, format_points
from evalstore.report.text_layout import count_noun, document_number, format_columns, wrap_lines
from evalstore.text import make_excerpt, make_printable

_MOST_EDITS = 8
_NAME_WIDTH = 44
_DECIMALS = 12
_NO_BREAK = "\u00a0"  # keeps an id and its points on one line


def text(audit: Audit) -> str:
    """Return the answer in a sentence, the waterfall, and the causes of each factor; points are hundredths."""
    parts = (
        "\n".join(wrap_lines(audit.sentence)),
        _format_sides(audit),
        _format_waterfall(audit),
        *(_format_factor(factor, audit) for factor in audit.factors if factor.changed),
        _format_rest(audit),
    )
    return "\n\n".join(part for part in parts if part)


def document(audit: Audit) -> dict[str, Any]:
    """Return the document that schema/output/audit.schema.json describes."""
    mix, flips = audit.mix, audit.flips
    return {
        "sentence": audit.sentence,
        **document_number("delta", audit.delta),
        "a": _side_document(audit.a),
        "b": _side_document(audit.b),
        "common": audit.common,
        "common_scores": {**document_number("a", audit.common_a), **document_number("b", audit.common_b)},
        "factors": [_factor_document(factor) for factor in audit.factors],
        **document_number("mix", mix.effect),
        "mix_parts": {
            **document_number("added", mix.added),
            **document_number("removed", mix.removed),
            **document_number("not_separable", mix.not_separable),
            "questions": {
                "added": list(mix.added_ids),
                "removed": list(mix.removed_ids),
                "not_separable": list(mix.not_separable_ids),
            },
        },
        **document_number("not_reproduced", audit.not_reproduced),
        "drift": [asdict(drift) for drift in audit.drift],
        "flips": {
            "pass_to_fail": len(flips.pass_to_fail),
            "fail_to_pass": len(flips.fail_to_pass),
            "mcnemar_mid_p": flips.mid_p if flips.mid_p is None else round(flips.mid_p, _DECIMALS),
            "questions": {"pass_to_fail": list(flips.pass_to_fail), "fail_to_pass": list(flips.fail_to_pass)},
        },
        "input_changed": list(audit.input_changed),
        "notes": list(audit.notes),
    }


def _side_document(side: RunSide) -> dict[str, Any]:
    return {
        "run": side.run,
        **document_number("score", side.score),
        "questions": side.questions,
        "scored": side.scored,
        "model": side.model,
        "dataset": side.dataset,
        "rubrics": list(side.rubrics),
    }


def _factor_document(factor: Factor) -> dict[str, Any]:
    low, high = (document_number("at", end) for end in factor.order)
    return {
        "name": factor.name,
        **document_number("share", factor.share),
        "exact": True,
        "ci": factor.ci and [round(end, _DECIMALS) for end in factor.ci],
        "p": factor.p if factor.p is None else round(factor.p, _DECIMALS),
        "order_range": [low["at"], high["at"]],
        "changed": factor.changed,
        "moved": factor.moved,
        "claim": factor.claim,
        "causes": [_cause_document(cause) for cause in factor.causes],
        "worst": [{"id": question.id, **document_number("share", question.share)} for question in factor.worst],
    }


def _cause_document(cause: Cause) -> dict[str, Any]:
    source, origin = cause.source, cause.source.origin
    return {
        "rule": source.rule,
        "rules": list(source.rules),
        "ref": origin.ref,
        "from": origin.old,
        "to": origin.new,
        "commit": origin.commit,
        "author": origin.author,
        "date": origin.date,
        **document_number("share", cause.share),
        "exact": not cause.error,
        "error": round(cause.error, _DECIMALS),
        "moved": cause.moved,
        "part": source.part,
        "message": source.message,
    }


def _format_sides(audit: Audit) -> str:
    rows = [
        (
            name,
            f"{_format_score(side.score)}",
            count_noun(side.scored, "question"),
            make_excerpt(side.model, _NAME_WIDTH),
            side.dataset,
        )
        for name, side in (("A", audit.a), ("B", audit.b))
    ]
    return format_columns(rows)


def _format_waterfall(audit: Audit) -> str:
    mix = audit.mix
    counts = ((len(mix.added_ids), "added"), (len(mix.removed_ids), "removed"))
    lone = ", ".join(f"{count} {word}" for count, word in counts if count)
    rows = [
        ("points", "", "95 % interval", "by order", "moved", ""),
        ("A", _format_score(audit.a.score), "", "", "", ""),
        ("question mix", f"{format_points(mix.effect):>7}", "", "", "", lone or "the same questions"),
        *(_waterfall_row(factor, audit.common) for factor in audit.factors),
        *(
            [("not reproduced", f"{format_points(audit.not_reproduced):>7}", "", "", "", "see below")]
            if audit.drift
            else []
        ),
        ("B", _format_score(audit.b.score), "", "", "", ""),
    ]
    return format_columns(rows)


def _waterfall_row(factor: Factor, common: int) -> tuple[str, ...]:
    moved = f"{factor.moved} of {common}" if factor.changed else ""
    order = factor.order if factor.changed and factor.order[0] != factor.order[1] else None
    return (
        factor.name,
        f"{format_points(factor.share):>7}",
        _format_span(factor.ci),
        _format_span(order),
        moved,
        factor.claim,
    )


def _format_factor(factor: Factor, audit: Audit) -> str:
    chance = f"   (sign-flip p {format_p(factor.p)})" if factor.p is not None and factor.moved else ""
    head = f"{factor.name} {format_points(factor.share)}{chance}"
    return "\n".join([head, *_format_causes(factor), *_format_worst(factor, audit)])


def _format_causes(factor: Factor) -> Iterator[str]:
    effective_causes = [cause for cause in factor.causes if cause.share or cause.moved]
    first_causes = effective_causes[:_MOST_EDITS]
    for origin in dict.fromkeys(cause.source.origin for cause in first_causes):
        yield f"  {_format_origin(origin)}"
        for cause in (cause for cause in first_causes if cause.source.origin == origin):
            margin = f" ± {cause.error * 100:.2f}" if cause.error else ""
            text = make_excerpt(cause.source.message or cause.source.part, 60)
            rule = f"{cause.source.rule}: " if cause.source.rule else ""
            yield f"    {format_points(cause.share):>7}{margin}  {rule}{text}"
    if len(effective_causes) > _MOST_EDITS:
        yield f"  {count_noun(len(effective_causes) - _MOST_EDITS, 'other edit')} moved less"
    if silent_count := len(factor.causes) - len(effective_causes):
        yield f"  {count_noun(silent_count, 'other edit')} moved nothing"


def _format_worst(factor: Factor, audit: Audit) -> Iterator[str]:
    if factor.worst:
        listing = ", ".join(
            f"{make_excerpt(question.id, _NAME_WIDTH)}{_NO_BREAK}{format_points(question.share)}"
            for question in factor.worst
        )
        lines = wrap_lines(f"moved most: {listing}", lead="  ", inner="    ")
        yield from (line.replace(_NO_BREAK, " ") for line in lines)
    if factor.name == "outputs" and audit.input_changed:
        yield f"  {count_noun(len(audit.input_changed), 'question')} asked otherwise in B; outputs stand for that too"


def _format_origin(origin: Origin) -> str:
    step = f"{origin.ref} " if origin.ref else ""
    commit = f"   {origin.commit[:7]}  {origin.author}  {(origin.date or '')[:10]}" if origin.commit else ""
    return make_printable(
        f"{step}{make_excerpt(origin.old, _NAME_WIDTH)} -> {make_excerpt(origin.new, _NAME_WIDTH)}{commit}"
    )


def _format_rest(audit: Audit) -> str:
    flips, mix = audit.flips, audit.mix
    worse, better = len(flips.pass_to_fail), len(flips.fail_to_pass)
    chance = "" if flips.mid_p is None else f" (McNemar mid-p {format_p(flips.mid_p)})"
    again = "both runs were graded again, with the results that they recorded"
    lines = [
        f"verdicts: {worse} from pass to fail, {better} from fail to pass{chance}",
        f"{len(audit.drift)} recorded results were not reproduced:" if audit.drift else again,
        *(
            f"  {drift.run} {make_excerpt(drift.id, _NAME_WIDTH)}: {make_excerpt(drift.what, 60)}"
            for drift in audit.drift[:_MOST_EDITS]
        ),
    ]
    if mix.not_separable_ids:
        listing = ", ".join(make_excerpt(id_, _NAME_WIDTH) for id_ in mix.not_separable_ids[:_MOST_EDITS])
        lines.append(f"not separable, counted as question mix ({format_points(mix.not_separable)}): {listing}")
    return "\n".join([*lines, *(f"note: {make_printable(note)}" for note in audit.notes)])


def _format_score(score: Fraction) -> str:
    return f"{float(score) * 100:7.2f}"


def _format_span(ends: Sequence[float | Fraction] | None) -> str:
    return f"{format_points(ends[0]):>7} to {format_points(ends[1])}" if ends else ""
