"""Limits for patterns and JSON Schemas, in sizes and steps, so that every machine agrees."""

from __future__ import annotations

from typing import NamedTuple


class _Patterns(NamedTuple):
    """What is accepted of a pattern, and how long it may take to run and to compare."""

    length: int = 20_000  # characters
    # `regex` writes out counted repeats when it compiles: this many are some 30 MB.
    items: int = 100_000
    # Before searching for a stretch of plain text, `regex` takes the cube of its length: some 0.1
    # s.
    literal: int = 700
    depth: int = 50  # groups within groups
    lookarounds: int = 30
    repeat_count: int = 2_000  # the highest count of a repeat
    steps: int = 1 << 27  # of the engine in one text, by `work_bound`: a second or two
    # Characters of an output: up to this length, two patterns are searched alike or not compared.
    ordinary: int = 2_000
    # Rounds of a repeat that are walked one by one: with two ways in each, more exceed every limit.
    rounds: int = 64
    parts_ahead: int = 16  # parts that are examined after a loop
    first_atoms: int = 32  # that these may begin with
    alternatives: int = 64  # that are kept side by side
    # Characters of a compared pattern, and its items with repeats written out.
    compared: int = 1_000
    # Characters of all phrases: the graph of more would take more steps than there are.
    phrases: int = 20_000
    likely_texts: int = 24  # of a language, and of each part of it


class _Schemas(NamedTuple):
    """What a schema may apply to, and what it may contain."""

    depth: int = 100  # levels of the value
    values: int = 200_000  # in it
    # Nested: three to four Python frames each, out of a thousand.
    keywords: int = 200
    short_list: int = 12  # items of a list that a message shows
    long_text: int = 80  # characters to which a message cuts a text
    message: int = 200  # characters


class _ComparisonLimits(NamedTuple):
    """Steps that comparing two schemas may take, of some ten microseconds each.

    Real schemas take some hundreds.
    """

    steps: int = 100_000
    direction_steps: int = 20_000
    example_steps: int = 16_000
    compile_steps: int = 6  # for each value that is written
    text_steps: int = 30_000  # for one text that a pattern matches
    written: int = 1_500  # values of a schema
    normal: int = 3_000  # schemas with listed values, in a normal form
    pattern_items: int = 5_000  # of all patterns, with counted repeats written out
    depth: int = 40  # schemas within schemas
    cheap: int = 500  # values of a schema that is compared keyword by keyword at once


class _Examples(NamedTuple):
    """Values tried as examples of what one schema accepts and another does not."""

    tried: int = 600
    found: int = 3
    parts: int = 24  # values of each part of a schema
    ways: int = 4  # through its choices
    size: int = 300  # items of an array or an object
    text: int = 1_000  # characters
    patterns: int = 5  # of one part


PATTERNS, SCHEMAS, COMPARISON, EXAMPLES = _Patterns(), _Schemas(), _ComparisonLimits(), _Examples()
