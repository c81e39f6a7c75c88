"""Says what an audit could not compare, or did not pair by id; pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from fractions import Fraction

from evalstore.audits.values import (
    Audit,
    Lines,
    PairsByInput,
)
from evalstore.audits.wording.factors import NAME_WIDTH
from evalstore.audits.wording.points import join_phrases
from evalstore.model.outcome import MAX_UNGRADED
from evalstore.runs.output_likeness import OutputLikeness
from evalstore.text import count_noun, make_excerpt

_SHOWN_RENAMES = 5


def describe_unscored(audit: Audit) -> str:
    """Return which runs have no score of their own, and what was not graded.

    It is empty if both have one.
    """
    sides = (("A", audit.a), ("B", audit.b))
    return join_phrases(
        [f"{name} has no score ({side.ungraded})" for name, side in sides if side.ungraded]
    )


def describe_selection(found: OutputLikeness) -> str:
    """Return that only failures were asked again, which proves nothing.

    It is empty if that is not the case.
    """
    if not found.is_selection:
        return ""
    return (
        f"all {found.changed:,} outputs that differ had failed in A and the other "
        f"{found.equal:,} are equal, so only failures were asked again, which is a selection"
    )


def has_much_emptied(audit: Audit, most: Fraction = MAX_UNGRADED) -> bool:
    """Whether so much had nothing to grade that nothing can be said about outputs.

    That is checks in only one run, on many questions.
    """
    return len(audit.lines.emptied) > most * audit.b.questions


def describe_pairs(pairs: PairsByInput) -> Iterator[str]:
    """Yield how many questions are paired by what they ask, with an example, if any are."""
    for old, new in [*pairs.ids.items()][:1]:
        a, b = make_excerpt(old, NAME_WIDTH), make_excerpt(new, NAME_WIDTH)
        are = "question is" if pairs.count == 1 else "questions are"
        yield f"{pairs.count:,} {are} paired by equal input, not by id ({a} of A is {b} of B)"


def describe_renames(dataset: str, pairs: PairsByInput) -> str:
    """Return what to write to declare the pairs.

    If an id means two questions, it says why that is impossible.
    """
    names, taken = pairs.renames, pairs.count - len(pairs.renames)
    shown = [
        f"{json.dumps(old)}: {json.dumps(new)}" for old, new in [*names.items()][:_SHOWN_RENAMES]
    ]
    more = (
        f" and {len(names) - len(shown):,} more, in --format json"
        if len(names) > len(shown)
        else ""
    )
    line = f"write into evalstore.yaml: renames: {{{dataset}: {{{', '.join(shown)}}}}}{more}"
    declared = f"to declare {len(names):,} of the pairs, {line}" if names else ""
    clash = (
        f"the ids of {taken:,} name other questions in B, which no rename can declare: give each "
        "question an id that does not count rows"
        if taken
        else ""
    )
    return "; ".join(filter(None, [clash, declared]))


def describe_empty_checks(lines: Lines) -> str:
    """Return which checks had nothing to grade in one run.

    An example: `tools with nothing to grade in B on 4 questions`.
    """
    first, *others = lines.empty_checks or [None]
    count = count_noun(len(lines.emptied), "question")
    if first is None:
        return f"nothing to grade in one run on {count}"
    named = f"{make_excerpt(first.check, NAME_WIDTH)} with nothing to grade in {first.run}"
    counted = f"{named} on {count_noun(first.questions, 'question')}"
    return f"{counted} and {len(others):,} more like it" if others else counted
