"""Renders why a file is taken for a format; where none takes it, as the comments of a table that could."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from evalstore.report.screen import PAPER, Screen
from evalstore.report.text_layout import wrap_lines

if TYPE_CHECKING:
    from evalstore.migration.detect import FormatWeight
    from evalstore.migration.own_tables import FormatExplanation

_FOR, _AGAINST = "for", "against"


def text(result: FormatExplanation, screen: Screen = PAPER) -> str:
    """Return the signs of each format and the decision; before the draft of a table each line is a comment."""
    mark = "# " if result.draft else ""
    sentences = [("", result.file), *_list_signs(result), *_list_decision(result)]
    lines = [
        line
        for lead, sentence in sentences
        for line in wrap_lines(sentence, width=screen.width, lead=mark + lead, inner=f"{mark}{' ' * len(lead)}")
        or [mark]
    ]
    head = "\n".join(map(str.rstrip, lines))
    return f"{head}\n\n{result.draft}" if result.draft else head


def _list_signs(result: FormatExplanation) -> Iterator[tuple[str, str]]:
    """Yield the lead and the text of a line for each format, and for each of its signs."""
    if not result.match.weights:
        yield "", "no format has a sign in it"
    for weight in result.match.weights:
        yield "", f"{weight.table.format}: weight {float(weight.weight):+.2f}, {weight.confidence:.0%} sure"
        for count in weight.signs:
            side = _AGAINST if count.is_against else _FOR
            yield f"  {side:<7} {count.sign.confidence:.0%}  ", count.sentence


def _list_decision(result: FormatExplanation) -> Iterator[tuple[str, str]]:
    margin = result.match.margin
    yield "", ""
    yield "decided: ", result.decision
    if margin is not None:
        first, second = (weight.table.format for weight in result.match.weights[:2])
        needed = f"it takes more than {float(result.needed_margin):.0%}"
        yield "margin: ", f"{first} leads {second} by {float(margin):.0%} of what their signs weigh; {needed}"
    if result.has_no_cases:
        yield "", "It has no list of objects, at its root or one level below, that a table could name as its cases."
    if result.draft:
        yield "", ""
        yield (
            "",
            "A table for it follows. Hold each guess against your grader, then (where it is my.yaml):",
        )
        yield "", f"  evalstore migrate {shlex.quote(result.file)} --table my.yaml --dry-run"


def document(result: FormatExplanation) -> Any:
    """Return the JSON document."""
    match = result.match
    return {
        "file": result.file,
        "sha256": result.sha256,
        "format": match.table.format if match.table and match.is_sure else None,
        "confidence": match.confidence,
        "decision": result.decision,
        "margin": None if match.margin is None else round(float(match.margin), 4),
        "shape": match.shape.name if match.shape else None,
        "formats": [_weight_document(weight) for weight in match.weights],
        "table": result.draft or None,
    }


def _weight_document(weight: FormatWeight) -> Any:
    return {
        "format": weight.table.format,
        "weight": round(float(weight.weight), 4),
        "confidence": weight.confidence,
        "signs": [
            {
                "side": _AGAINST if count.is_against else _FOR,
                "at": count.sign.at,
                "because": count.sign.because,
                "confidence": count.sign.confidence,
                "shown": count.shown,
                "cases": count.cases,
            }
            for count in weight.signs
        ],
    }
