"""Renders an audit as text and JSON: the answer in a sentence first, then the factors and lines that add up to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import chain
from typing import Any

from evalstore.audits import Audit, Factor, Lines, Origin
from evalstore.audits.values import OWN_PLAYERS, PlayerName
from evalstore.audits.wording import format_p, format_points, name_own
from evalstore.report.blame import describe_origin
from evalstore.report.json_values import select_json_keys, write_json_value
from evalstore.report.text_layout import PAPER, Part, Screen, count_noun, wrap_columns, wrap_lines
from evalstore.text import make_excerpt

_MOST_EDITS = 10
_NAME_WIDTH = 44
_MESSAGE = 160
_SHORT_PIN = len("git:") + 7
_RULERS = frozenset({PlayerName.RUBRIC, PlayerName.JUDGE, PlayerName.DATASET})
_NO_BREAK = "\u00a0"  # keeps an id and its points on one line


def text(audit: Audit, screen: Screen = PAPER) -> str:
    """Return the answer in a sentence, the waterfall, and the causes of each factor; points are hundredths."""
    width = screen.width
    parts = (
        "\n".join(screen.paint(Part.HEAD, line) for line in wrap_lines(audit.sentence, width=width)),
        _format_sides(audit, width),
        _format_waterfall(audit, screen),
        *(_format_factor(factor, screen) for factor in audit.factors if factor.changed),
        _format_rest(audit, width),
    )
    return "\n\n".join(part for part in parts if part)


def document(audit: Audit) -> dict[str, Any]:
    """Return the document that schema/output/audit.schema.json describes."""
    return {
        **select_json_keys(audit, "sentence delta passes_delta a b common"),
        "common_scores": select_json_keys(audit, "a=common_a b=common_b"),
        **select_json_keys(audit, "factors lines"),
        # At the root as well, where the first version had them.
        **select_json_keys(audit.lines, "mix=mix.score not_reproduced=not_reproduced.score"),
        "own": {**write_json_value(audit.own), "as_zero": write_json_value(audit.own_as_zero)},
        **select_json_keys(audit, "drift flips input_changed price judge_noise notes"),
    }


def _format_sides(audit: Audit, width: int) -> str:
    rows = [
        (
            name,
            _format_score(side.score),
            f"{_format_score(side.passes)} pass",
            count_noun(side.scored, "question"),
            make_excerpt(side.model, _NAME_WIDTH),
            side.dataset,
        )
        for name, side in (("A", audit.a), ("B", audit.b))
    ]
    return "\n".join(wrap_columns(rows, width))


def _format_waterfall(audit: Audit, screen: Screen) -> str:
    lines = audit.lines
    about = {
        "mix": _describe_mix(lines),
        "no_answer": _describe_silence(lines),
        "judge_errors": count_noun(len(lines.errors), "question"),
        "not_reproduced": "see below",
    }
    rows = [
        ("points", "score", "passes", "95 % interval", "moved", ""),
        ("A", _format_score(audit.a.score), _format_score(audit.a.passes), "", "", ""),
        *(_waterfall_row(factor, audit.common) for factor in audit.factors if factor.changed),
        *(
            (lines.labels[name], _pad_points(line.score), _pad_points(line.passes), "", "", about[name])
            for name, line in lines.told.items()
        ),
        ("B", _format_score(audit.b.score), _format_score(audit.b.passes), "", "", ""),
    ]
    head, *table = wrap_columns(rows, screen.width)
    return "\n".join([screen.paint(Part.QUIET, head), *map(screen.paint_change, table)])


def _waterfall_row(factor: Factor, common: int) -> tuple[str, ...]:
    return (
        factor.label,
        _pad_points(factor.share),
        _pad_points(factor.passes),
        _format_span(factor.ci),
        f"{factor.moved:,} of {common:,}",
        factor.claim,
    )


def _describe_mix(lines: Lines) -> str:
    mix = lines.questions
    counts = ((mix.added, "added"), (mix.removed, "removed"), (mix.ungraded, "with nothing to grade"))
    return ", ".join(f"{len(ids):,} {word}" for ids, word in counts if ids)


def _describe_silence(lines: Lines) -> str:
    sides = ", ".join(f"{len(ids):,} in {run}" for run, ids in (("A", lines.silent_a), ("B", lines.silent_b)) if ids)
    return f"{sides}; {format_points(lines.no_answer_as_zero.score)} if they count 0"


def _format_factor(factor: Factor, screen: Screen) -> str:
    about = []
    if factor.order[0] != factor.order[1]:
        about.append(f"{_format_span(factor.order).strip()} depending on whose answers it is measured")
    if factor.p is not None and factor.moved:
        # What was estimated by anchors is tested against them.
        test = "Welch" if factor.anchors and not OWN_PLAYERS.isdisjoint(factor.players) else "sign-flip"
        about.append(f"{test} p {format_p(factor.p)}")
    details = f"   ({'; '.join(about)})" if about else ""
    head = f"{factor.label} {format_points(factor.share)}{details}"
    first, *rest = wrap_lines(head, width=screen.width, inner="  ")
    causes, worst = _format_causes(factor, screen), _format_worst(factor, screen.width)
    return "\n".join([screen.paint_change(first), *rest, *causes, *worst])


def _format_causes(factor: Factor, screen: Screen) -> Iterator[str]:
    effective_causes = [cause for cause in factor.causes if cause.share or cause.passes or cause.moved]
    first_causes = effective_causes[:_MOST_EDITS]
    for origin in dict.fromkeys(cause.source.origin for cause in first_causes):
        yield from wrap_lines(_format_origin(origin), width=screen.width, lead="  ", inner="      ")
        for cause in (cause for cause in first_causes if cause.source.origin == origin):
            margin = f" ± {cause.error * 100:.2f}" if cause.error else ""
            passes = f" ({format_points(cause.passes)} passes)" if cause.passes and not cause.share else ""
            message = make_excerpt(cause.source.message or cause.source.part, _MESSAGE)
            rule = f"{cause.source.rule}: " if cause.source.rule else ""
            lead = f"    {_pad_points(cause.share)}{margin}{passes}  "
            lines = wrap_lines(f"{rule}{message}", width=screen.width, lead=lead, inner=" " * 13)
            yield from (*map(screen.paint_change, lines[:1]), *lines[1:])
    if len(effective_causes) > _MOST_EDITS:
        yield f"  {count_noun(len(effective_causes) - _MOST_EDITS, 'other edit')} moved less"
    if silent_count := len(factor.causes) - len(effective_causes):
        yield f"  {count_noun(silent_count, 'other edit' if effective_causes else 'edit')} moved nothing"


def _format_worst(factor: Factor, width: int) -> Iterator[str]:
    if factor.worst:
        listing = ", ".join(
            f"{make_excerpt(question.id, _NAME_WIDTH)}{_NO_BREAK}{format_points(question.share)}"
            for question in factor.worst
        )
        lines = wrap_lines(f"moved most: {listing}", width=width, lead="  ", inner="    ")
        yield from (line.replace(_NO_BREAK, " ") for line in lines)


def _format_origin(origin: Origin) -> str:
    step = f"{origin.ref} " if origin.ref else ""
    old, new = (make_excerpt(_shorten_pin(pin), _NAME_WIDTH) for pin in (origin.old, origin.new))
    return f"{step}{old} -> {new}   {describe_origin(origin)}".rstrip()


def _shorten_pin(pin: str) -> str:
    return pin[:_SHORT_PIN] if pin.startswith("git:") else pin


def _format_rest(audit: Audit, width: int) -> str:
    facts = [*_format_verdicts(audit), *_format_own(audit), *_format_failures(audit.lines), *_format_price(audit)]
    lines = wrap_lines(*facts, width=width, inner="  ")
    if audit.drift:
        lines.append(f"{len(audit.drift)} recorded results were not reproduced:")
        lines += [
            f"  {drift.run} {make_excerpt(drift.id, _NAME_WIDTH)}: {make_excerpt(drift.what, 60)}"
            for drift in audit.drift[:_MOST_EDITS]
        ]
    elif audit.common:
        lines.append("Both runs reproduced.")
    notes = [line for note in audit.notes for line in wrap_lines(f"note: {note}", width=width, inner="      ")]
    return "\n".join([*lines, *notes])


def list_facts(audit: Audit) -> Iterator[str]:
    """Yield what is said below the waterfall, a sentence or so each: verdicts, own share, price, notes."""
    yield from _format_verdicts(audit)
    yield from _format_own(audit)
    yield from _format_price(audit)
    yield from audit.notes


def _format_verdicts(audit: Audit) -> Iterator[str]:
    flips = audit.flips
    # Only of what was sampled can chance be asked.
    has_rulers = any(factor.flipped and _RULERS.issuperset(factor.players) for factor in audit.factors)
    aside = ", without what the rubrics changed" if has_rulers else ""
    chance = "" if flips.mid_p is None else f" (McNemar mid-p {format_p(flips.mid_p)}{aside})"
    by = [f"{len(ids):,} by {name.replace('_', ' ')}" for name, ids in flips.by.items()]
    several = sum(number > 1 for number in Counter(chain.from_iterable(flips.by.values())).values())
    by += [f"{several:,} of them by more than one"] if several else []
    counts = f"{len(flips.pass_to_fail):,} from pass to fail, {len(flips.fail_to_pass):,} from fail to pass"
    yield f"verdicts: {counts}{': ' if by else ''}{', '.join(by)}{chance}"


def _format_own(audit: Audit) -> Iterator[str]:
    own = audit.own
    if any(factor.changed and {"outputs", "input"} & {*factor.players} for factor in audit.factors):
        ends = [("unknown" if end is None else format_points(end)) for end in (own.shapley, own.old, own.new)]
        yield f"the own share of {name_own(audit)}: {ends[0]}; under A's rubrics {ends[1]}, under B's {ends[2]}"


def _format_failures(lines: Lines) -> Iterator[str]:
    for failed in lines.failed_checks[:_MOST_EDITS]:
        count = count_noun(failed.questions, "question")
        where = f"{make_excerpt(failed.check, _NAME_WIDTH)} failed in {failed.run} on {count}"
        yield f"{where}: {make_excerpt(failed.error)}"


def _format_price(audit: Audit) -> Iterator[str]:
    price = audit.price
    if price.calls:
        is_joint = any(len(factor.players) > 1 for factor in audit.factors)
        what = "separate the joint shares" if is_joint else "grade what is estimated"
        yield f"{count_noun(price.calls, 'call')} of judges would {what} (--ask with --judge-url)"
    if price.steps > price.calls:
        yield f"{count_noun(price.steps, 'call')} would also separate the versions of the judge (--judge-url)"


def _format_score(score: Fraction) -> str:
    return f"{float(score) * 100:7.2f}"


def _pad_points(share: Fraction) -> str:
    return f"{format_points(share):>7}"


def _format_span(ends: Sequence[float | Fraction] | None) -> str:
    return f"{format_points(ends[0]):>7} to {format_points(ends[1])}" if ends else ""
