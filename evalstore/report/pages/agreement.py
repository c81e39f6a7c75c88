"""Writes a page on how well a judge agrees with people: labels, rates and disagreements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from evalstore.report.pages.bars import draw_bar
from evalstore.report.pages.html import render_page
from evalstore.report.text_layout import format_percent
from evalstore.text import count_noun

if TYPE_CHECKING:
    from evalstore.agreement import Agreement
    from evalstore.agreement.confusion import Confusion
    from evalstore.statistics import Rate

_HEIGHT, _GAP = 240, 1  # pixels of the picture, percent between its columns
_LEAST_WIDTH, _LEAST_HEIGHT = 12, 20  # height of a box that has room for its number


def write_page(
    agreement: Agreement, *, head: Sequence[str], advantage: str, cases: Sequence[Sequence[str]]
) -> str:
    """Return the page.

    `head` says which rows and verdicts these are, and `advantage` how the judge compares with a
    constant answer; `cases` are the rows on which judge and label differ.
    """
    counts = agreement.confusion
    return render_page(
        "agreement",
        title=f"{agreement.judge.ref} against people",
        agreement=agreement,
        head=head,
        sentence=_write_sentence(agreement),
        advantage=advantage,
        boxes=_draw_boxes(counts),
        height=_HEIGHT,
        rates=[
            _prepare_rate("passes what people pass (TPR)", counts.tpr),
            _prepare_rate("fails what people fail (TNR)", counts.tnr),
            _prepare_rate("agrees with people", counts.accuracy),
            _prepare_rate(f"always saying {counts.constant} agrees", counts.baseline),
        ],
        kappa="" if counts.kappa is None else f"{float(counts.kappa):.3f}",
        cases=cases,
        more=counts.apart - len(cases),
    )


def _write_sentence(agreement: Agreement) -> str:
    accuracy = agreement.confusion.accuracy
    if accuracy.value is None:
        return "No row has both a label and a verdict."
    rows = count_noun(accuracy.of, "row")
    return (
        f"The judge agrees with people on {accuracy.hits:,} of {rows}, "
        f"{format_percent(accuracy.value, 1)} %."
    )


def _draw_boxes(counts: Confusion) -> list[dict[str, Any]]:
    """Return a column per label, as wide as it is frequent, divided by the judge's verdicts."""
    columns = (
        ("pass", counts.true_pass, counts.false_fail),
        ("fail", counts.true_fail, counts.false_pass),
    )
    boxes: list[dict[str, Any]] = []
    left = 0.0
    for label, same, other in columns:
        if not same + other:
            continue
        width = (same + other) / counts.rows * (100 - _GAP)
        split = round(other / (same + other) * _HEIGHT, 1)
        for top, height, number, is_same in (
            (0.0, split, other, False),
            (split, _HEIGHT - split, same, True),
        ):
            verdict = label if is_same else {"pass": "fail", "fail": "pass"}[label]
            has_room = width >= _LEAST_WIDTH and height >= _LEAST_HEIGHT
            boxes.append(
                {
                    "x": round(left, 2),
                    "width": round(width, 2),
                    "y": round(top, 1),
                    "height": round(height, 1),
                    "look": "same" if is_same else "apart",
                    "words": f"people {label}, judge {verdict}: {number:,}",
                    "number": f"{number:,}" if has_room else "",
                }
            )
        left += width + _GAP
    return [box for box in boxes if box["height"]]


def _prepare_rate(name: str, rate: Rate) -> dict[str, Any]:
    ends = rate.interval or ()
    return {
        "name": name,
        "value": "-" if rate.value is None else f"{format_percent(rate.value, 1)} %",
        "hits": f"{rate.hits:,} of {rate.of:,}",
        "span": " to ".join(f"{end * 100:.1f}" for end in ends),
        "bar": None if rate.value is None else draw_bar(rate.value, is_strong=True, ends=ends),
    }
