"""markdown_structure: demands on headings, code blocks and paragraphs, and the dialect in which they are counted."""

from __future__ import annotations

from collections.abc import Iterator

from evalstore.diff.kinds import (
    CheckKind,
    Param,
    Params,
    at_least,
    at_most,
    read_count,
    read_no_question,
    read_one_of,
    read_switch,
    read_texts,
    say_always,
    say_never,
)
from evalstore.diff.limits import CANDIDATES

# Markdown has six levels.
DEEPEST_HEADING = 6
_DEMAND, _BOUND = "markdown-requirement-changed", "markdown-bound-changed"


def _yield_texts(params: Params) -> Iterator[str]:
    headings, paragraphs, blocks = (
        [text] * min(params[name], CANDIDATES.repeated)
        for text, name in (
            ("## a", "min_headings"),
            ("a", "min_paragraphs"),
            ("```\na\n```", "min_code_blocks"),
        )
    )
    sections = [f"## {section}" for section in params["required_sections"]]
    whole = [*headings, *sections, *blocks, *paragraphs]
    yield "\n\n".join(whole)
    yield "\n\n".join(["# a", *whole])
    # One heading may hold all sections.
    yield "\n\n".join([f"## {' '.join(params['required_sections'])}", *blocks, *paragraphs])
    # A heading within code, and one that is underlined, are headings to one dialect only.
    yield "\n".join(["```", *headings, *sections, "```", *blocks, *paragraphs])
    yield "\n\n".join(
        [*(f"{heading[3:]}\n---" for heading in (*headings, *sections)), *blocks, *paragraphs]
    )
    for index in range(min(len(whole), CANDIDATES.repeated)):
        yield "\n\n".join(whole[:index] + whole[index + 1 :])
    deeper = f"{'#' * min(params['max_heading_level'] + 1, DEEPEST_HEADING)} a"
    for more in (deeper, *params["forbidden_patterns"]):
        yield more
        yield "\n\n".join([*whole, more])


def _asks_nothing(params: Params) -> bool:
    names = (
        "min_headings",
        "no_h1",
        "required_sections",
        "forbidden_patterns",
        "min_code_blocks",
        "min_paragraphs",
    )
    return (
        not any(params[name] for name in names) and params["max_heading_level"] >= DEEPEST_HEADING
    )


KIND = CheckKind(
    params={
        "dialect": Param(
            "commonmark", read_one_of("commonmark", "lines"), rule="check-engine-changed"
        ),
        # A required section is a heading.
        "min_headings": Param(
            0,
            read_count,
            rule=_BOUND,
            limit=at_least("min_headings", implied_by="required_sections"),
        ),
        "max_heading_level": Param(
            DEEPEST_HEADING,
            read_count,
            rule=_BOUND,
            limit=at_most("max_heading_level", highest=DEEPEST_HEADING),
        ),
        "no_h1": Param(False, read_switch, rule=_DEMAND),
        "required_sections": Param([], read_texts, items=(_DEMAND, _DEMAND), is_set=True),
        "forbidden_patterns": Param([], read_texts, items=(_DEMAND, _DEMAND), is_set=True),
        "min_code_blocks": Param(0, read_count, rule=_BOUND, limit=at_least("min_code_blocks")),
        "min_paragraphs": Param(0, read_count, rule=_BOUND, limit=at_least("min_paragraphs")),
    },
    is_binary=say_always,
    may_miss=say_never,
    may_err=lambda params: params["dialect"] == "commonmark",  # a text beyond the parser's limits
    question_parts=read_no_question,
    sample_texts=_yield_texts,
    passes_all=_asks_nothing,
    cost=150,
)
