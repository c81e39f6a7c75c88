"""An audit as text for a terminal and as a JSON document: the answer first, then what it is made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from evalstore.audits import Audit, Cause, Factor, Origin, RunSide
from evalstore.audits.wording import format_points
from evalstore.report.columns import columns
from evalstore.report.numbers import number
from evalstore.report.words import counted, wrapped
from evalstore.text import make_excerpt, make_printable

_SHOWN = 8
_NAME = 44
_PLACES = 12
_TIED = "\u00a0"  # a space at which no line breaks


def text(audit: Audit) -> str:
    """Return the answer in a sentence, the waterfall, and for each factor what did it; points are hundredths."""
    parts = (
        "\n".join(wrapped(audit.sentence)),
        _sides(audit),
        _waterfall(audit),
        *(_factor(factor, audit) for factor in audit.factors if factor.changed),
        _rest(audit),
    )
    return "\n\n".join(part for part in parts if part)


def document(audit: Audit) -> dict[str, Any]:
    """Return the document that schema/output/audit.schema.json describes."""
    mix, flips = audit.mix, audit.flips
    return {
        "sentence": audit.sentence,
        **number("delta", audit.delta),
        "a": _side_document(audit.a),
        "b": _side_document(audit.b),
        "common": audit.common,
        "common_scores": {**number("a", audit.common_a), **number("b", audit.common_b)},
        "factors": [_factor_document(factor) for factor in audit.factors],
        **number("mix", mix.effect),
        "mix_parts": {
            **number("added", mix.added),
            **number("removed", mix.removed),
            **number("not_separable", mix.not_separable),
            "questions": {
                "added": list(mix.added_ids),
                "removed": list(mix.removed_ids),
                "not_separable": list(mix.not_separable_ids),
            },
        },
        **number("not_reproduced", audit.not_reproduced),
        "drift": [asdict(one) for one in audit.drift],
        "flips": {
            "pass_to_fail": len(flips.pass_to_fail),
            "fail_to_pass": len(flips.fail_to_pass),
            "mcnemar_mid_p": round(flips.mid_p, _PLACES),
            "questions": {"pass_to_fail": list(flips.pass_to_fail), "fail_to_pass": list(flips.fail_to_pass)},
        },
        "input_changed": list(audit.input_changed),
        "notes": list(audit.notes),
    }


def _side_document(side: RunSide) -> dict[str, Any]:
    return {
        "run": side.run,
        **number("score", side.score),
        "questions": side.questions,
        "scored": side.scored,
        "model": side.model,
        "dataset": side.dataset,
        "rubrics": list(side.rubrics),
    }


def _factor_document(factor: Factor) -> dict[str, Any]:
    low, high = (number("at", end) for end in factor.order)
    return {
        "name": factor.name,
        **number("share", factor.share),
        "exact": True,
        "ci": factor.ci and [round(end, _PLACES) for end in factor.ci],
        "order_range": [low["at"], high["at"]],
        "changed": factor.changed,
        "moved": factor.moved,
        "claim": factor.claim,
        "causes": [_cause_document(cause) for cause in factor.causes],
        "worst": [{"id": one.id, **number("share", one.share)} for one in factor.worst],
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
        **number("share", cause.share),
        "exact": not cause.error,
        "error": round(cause.error, _PLACES),
        "moved": cause.moved,
        "part": source.part,
        "message": source.message,
    }


def _sides(audit: Audit) -> str:
    rows = [
        (name, f"{_score(side.score)}", counted(side.scored, "question"), make_excerpt(side.model, _NAME), side.dataset)
        for name, side in (("A", audit.a), ("B", audit.b))
    ]
    return columns(rows)


def _waterfall(audit: Audit) -> str:
    mix = audit.mix
    counts = ((len(mix.added_ids), "added"), (len(mix.removed_ids), "removed"))
    lone = ", ".join(f"{count} {word}" for count, word in counts if count)
    rows = [
        ("points", "", "95 % interval", "by order", "moved", ""),
        ("A", _score(audit.a.score), "", "", "", ""),
        ("question mix", f"{format_points(mix.effect):>7}", "", "", "", lone or "the same questions"),
        *(_row(factor, audit.common) for factor in audit.factors),
        *([("not reproduced", f"{format_points(audit.not_reproduced):>7}", "", "", "", "see below")] if audit.drift else []),
        ("B", _score(audit.b.score), "", "", "", ""),
    ]
    return columns(rows)


def _row(factor: Factor, common: int) -> tuple[str, ...]:
    moved = f"{factor.moved} of {common}" if factor.changed else ""
    order = factor.order if factor.changed and factor.order[0] != factor.order[1] else None
    return factor.name, f"{format_points(factor.share):>7}", _span(factor.ci), _span(order), moved, factor.claim


def _factor(factor: Factor, audit: Audit) -> str:
    return "\n".join([f"{factor.name} {format_points(factor.share)}", *_causes(factor), *_worst(factor, audit)])


def _causes(factor: Factor) -> Iterator[str]:
    telling = [cause for cause in factor.causes if cause.share or cause.moved]
    shown = telling[:_SHOWN]
    for origin in dict.fromkeys(cause.source.origin for cause in shown):
        yield f"  {_origin(origin)}"
        for cause in (cause for cause in shown if cause.source.origin == origin):
            sampled = f" ± {cause.error * 100:.2f}" if cause.error else ""
            what = make_excerpt(cause.source.message or cause.source.part, 60)
            rule = f"{cause.source.rule}: " if cause.source.rule else ""
            yield f"    {format_points(cause.share):>7}{sampled}  {rule}{what}"
    if len(telling) > _SHOWN:
        yield f"  {counted(len(telling) - _SHOWN, 'other edit')} moved less"
    if silent := len(factor.causes) - len(telling):
        yield f"  {counted(silent, 'other edit')} moved nothing"


def _worst(factor: Factor, audit: Audit) -> Iterator[str]:
    if factor.worst:
        told = ", ".join(f"{make_excerpt(one.id, _NAME)}{_TIED}{format_points(one.share)}" for one in factor.worst)
        lines = wrapped(f"moved most: {told}", lead="  ", inner="    ")
        yield from (line.replace(_TIED, " ") for line in lines)
    if factor.name == "outputs" and audit.input_changed:
        yield f"  {counted(len(audit.input_changed), 'question')} asked otherwise in B; outputs stand for that too"


def _origin(origin: Origin) -> str:
    step = f"{origin.ref} " if origin.ref else ""
    commit = f"   {origin.commit[:7]}  {origin.author}  {(origin.date or '')[:10]}" if origin.commit else ""
    return make_printable(f"{step}{make_excerpt(origin.old, _NAME)} -> {make_excerpt(origin.new, _NAME)}{commit}")


def _rest(audit: Audit) -> str:
    flips, mix = audit.flips, audit.mix
    worse, better = len(flips.pass_to_fail), len(flips.fail_to_pass)
    again = "both runs were graded again, with the results that they recorded"
    lines = [
        f"verdicts: {worse} from pass to fail, {better} from fail to pass (McNemar mid-p {flips.mid_p:.2f})",
        f"{len(audit.drift)} recorded results were not reproduced:" if audit.drift else again,
        *(f"  {one.run} {make_excerpt(one.id, _NAME)}: {make_excerpt(one.what, 60)}" for one in audit.drift[:_SHOWN]),
    ]
    if mix.not_separable_ids:
        told = ", ".join(make_excerpt(id_, _NAME) for id_ in mix.not_separable_ids[:_SHOWN])
        lines.append(f"not separable, counted as question mix ({format_points(mix.not_separable)}): {told}")
    return "\n".join([*lines, *(f"note: {make_printable(note)}" for note in audit.notes)])


def _score(score: Fraction) -> str:
    return f"{float(score) * 100:7.2f}"


def _span(ends: Sequence[float | Fraction] | None) -> str:
    return f"{format_points(ends[0]):>7} to {format_points(ends[1])}" if ends else ""
