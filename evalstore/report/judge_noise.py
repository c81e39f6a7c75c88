"""Renders how far a judge disagrees with itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evalstore.agreement import JudgeNoise, RepeatedJudgement
from evalstore.model import format_score
from evalstore.report.json_values import select_json_keys
from evalstore.report.judge import FILE_KEYS, list_file_lines
from evalstore.report.text_layout import PAPER, Part, Screen, format_columns, join_blocks
from evalstore.statistics import compute_noise_reach
from evalstore.text import count_noun, make_excerpt, make_printable

_NOISIEST = 5
_EXAMPLE = 100


def text(noise: JudgeNoise, screen: Screen = PAPER) -> str:
    """Return the two numbers, and what they mean for a mean score.

    The outputs that differ most, and the diff, follow.
    """
    reach = compute_noise_reach([noise.deviation] * 2 * _EXAMPLE, _EXAMPLE) * 100
    deviation = (
        f"standard deviation  {noise.deviation * 100:>5.1f}     points of 100, of one judgement"
    )
    flips = f"{float(noise.flip_rate * 100):>5.1f} %"
    return join_blocks(
        _noise_head(noise, screen),
        [
            deviation,
            (
                f"flip rate           {flips}  of two judgements of one output, one passes and "
                "one fails"
            ),
        ],
        screen.wrap(
            (
                f"A mean of {_EXAMPLE} such scores moves by up to {reach:.2f} points (95 %) when "
                "its judge is asked again."
            ),
            inner="",
        ),
        _list_noisiest(noise),
        list_file_lines(noise, screen) if noise.entries else "",
    )


def document(noise: JudgeNoise) -> dict[str, Any]:
    """Return the document that schema/output/judge_noise.schema.json describes."""
    keys = (
        "judge run repeat outputs=judgements# unjudged engines sd=deviation~ flip_rate judgements"
    )
    return select_json_keys(noise, keys, *FILE_KEYS)


def _noise_head(noise: JudgeNoise, screen: Screen) -> Iterator[str]:
    outputs, engines = (
        count_noun(len(noise.judgements), "output"),
        make_excerpt(", ".join(noise.engines), 60),
    )
    yield screen.paint(
        Part.HEAD, f"{make_printable(noise.judge.ref)}   {outputs} of {make_printable(noise.run)}"
    )
    yield f"each judged {noise.repeat} times by {engines}"
    if noise.unjudged:
        left_out = count_noun(noise.unjudged, "output")
        yield f"left out, because a judgement or its score is missing: {left_out}"


def _list_noisiest(noise: JudgeNoise) -> Iterator[str]:
    differing = [one for one in noise.judgements if one.variance]
    if differing:
        more = f"; the first {_NOISIEST}" if len(differing) > _NOISIEST else ""
        yield f"judged differently: {count_noun(len(differing), 'output')}{more}:"
        yield format_columns([_judgement_row(one) for one in differing[:_NOISIEST]])


def _judgement_row(one: RepeatedJudgement) -> tuple[str, ...]:
    scores = make_excerpt(" ".join(format_score(score) for score in one.scores), 60)
    return f"  {make_excerpt(one.id, 30)}", make_excerpt(one.check, 30), scores
