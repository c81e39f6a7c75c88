"""Renders how far a judge disagrees with itself, as text and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evalstore.agreement import JudgeNoise, RepeatedJudgement
from evalstore.model import format_decimal
from evalstore.report.json_values import select_json_keys
from evalstore.report.text_layout import count_noun, format_columns
from evalstore.statistics import compute_noise_reach
from evalstore.text import make_excerpt, make_printable

_DECIMALS = 12
_LIST_LIMIT = 5
_EXAMPLE = 100


def text(noise: JudgeNoise) -> str:
    """Return the two numbers, what they mean for a mean score, the outputs that differ most, and the diff."""
    return "\n".join(_report_lines(noise))


def document(noise: JudgeNoise) -> dict[str, Any]:
    """Return the document that schema/output/judge_noise.schema.json describes."""
    return {
        **select_json_keys(
            noise, "judge run repeat outputs=judgements# unjudged engines sd=deviation~ flip_rate judgements"
        ),
        "validation": {
            name: entry if isinstance(entry, str | int) else float(entry or 0) for name, entry in noise.entries.items()
        },
        **select_json_keys(noise, "diff written notes"),
    }


def _report_lines(noise: JudgeNoise) -> Iterator[str]:
    outputs, engines = count_noun(len(noise.judgements), "output"), make_excerpt(", ".join(noise.engines), 60)
    yield f"{make_printable(noise.judge.ref)}   {outputs} of {make_printable(noise.run)}"
    yield f"each judged {noise.repeat} times by {engines}"
    if noise.unjudged:
        yield f"left out, because a judgement has no score: {count_noun(noise.unjudged, 'output')}"
    reach = compute_noise_reach([noise.deviation] * 2 * _EXAMPLE, _EXAMPLE) * 100
    yield ""
    yield f"standard deviation  {noise.deviation:>6.3f}   of one judgement, from 0 to 1"
    flips = f"{float(noise.flip_rate * 100):>5.1f} %"
    yield f"flip rate           {flips}  of two judgements of one output, one passes and one fails"
    yield ""
    yield f"A mean of {_EXAMPLE} such scores moves by up to {reach:.2f} points (95 %) when its judge is asked again."
    differing = [one for one in noise.judgements if one.variance]
    if differing:
        more = f"; the first {_LIST_LIMIT}" if len(differing) > _LIST_LIMIT else ""
        yield ""
        yield f"judged differently: {count_noun(len(differing), 'output')}{more}:"
        yield format_columns([_judgement_row(one) for one in differing[:_LIST_LIMIT]])
    if noise.entries:
        yield ""
        yield from _validation_lines(noise)


def _judgement_row(one: RepeatedJudgement) -> tuple[str, ...]:
    scores = make_excerpt(" ".join(format_decimal(score) for score in one.scores), 60)
    return f"  {make_excerpt(one.id, 30)}", make_excerpt(one.check, 30), scores


def _validation_lines(noise: JudgeNoise) -> Iterator[str]:
    if not noise.diff:
        yield f"{noise.written or 'the file'} says so already"
        return
    yield f"written into {noise.written}:" if noise.written else "would be written:"
    yield from (make_printable(line) for line in noise.diff.splitlines())
