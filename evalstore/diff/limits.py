"""How far a comparison looks: counts, never seconds, so that every machine agrees.

A search that ends at one of them proves nothing, and the rule's own level stands.
"""

from __future__ import annotations

from typing import NamedTuple


class _Compared(NamedTuple):
    """What is compared part by part; of what is larger it is said only that it changed."""

    items: int = 100  # of two lists: phrases, fields, calls, members of a jury, facts
    checks: int = 400  # of a rubric
    near_pairs: int = 2_500  # of checks, by their words
    pattern: int = 1_000  # characters
    # For all patterns of a rubric: three questions that take as many as they may.
    pattern_steps: int = 600_000
    # For all schemas of a rubric: the largest two that are compared take about half of it.
    schema_steps: int = 100_000
    nested_references: int = 4  # references within references
    deepdiff_parts: int = 100_000  # characters and parts; deepdiff takes seconds for more
    listed_paths: int = 5  # of a difference, in a message
    listed_pointers: int = 2  # of a schema, in a message
    questions: int = 5_000  # that are edited, no two alike: two milliseconds each
    question_witnesses: int = 20  # of these, with the most telling witness
    question_effects: int = 100  # of the others, where the few outputs that are tried do not move
    composites: int = 4  # that are removed, and may have gone into their parent
    composite_checks: int = 8  # beside them that are edited
    composite_group: int = 4  # of those, the checks that may stand for one
    composite_groups: int = 36  # that are tried


class _Proofs(NamedTuple):
    """What a decider lists in full to prove that a score cannot move."""

    scores: int = 12  # that one check can give
    combined_checks: int = 16  # whose scores are summed
    sums: int = 1 << 14  # pairs: the sum of weighted scores, and that of weights
    ways: int = 4_096  # to answer: well under a tenth of a second
    # Whose groups are listed, 1,024 at most; more are compared by their shares.
    grouped_judges: int = 10
    traits: int = 1_024  # combinations of traits of an output
    counted_phrases: int = 6  # of one check: a text may hold any of so many sets of them
    optional_work: int = 1 << 15  # sets of checks that can be left out, times the checks


class _Candidates(NamedTuple):
    """Texts and records of calls that are tried as outputs."""

    built: int = 1_024  # texts that are put together
    texts: int = 400  # of these, from the shortest
    quoted: int = 80  # of these, as JSON or as PHP, too
    text_length: int = 2_000  # characters; longer ones nobody would read
    asked_length: int = 20_000  # characters that a check may ask for; no other text is as long
    repeated: int = 20  # demands, or facts, that are left out or broken one by one
    parts: int = 48  # of each check
    options: int = 6  # of every check beside the changed one
    checks: int = 16  # beside it
    sides: int = 2  # of a change, the old check and the new one
    joint: int = 2  # values of each schema that both sides have
    schema: int = 8_000  # characters
    records: int = 120
    record_length: int = 24  # calls
    record_calls: int = 6  # that differ, besides those of banned tools
    banned: int = 3  # tools of one check that are called
    questions: int = 12  # that are invented for one edit
    tools: int = 2_000  # characters and parts of the tools that a check lists
    fragments: int = 24  # of one check
    assembly_steps: int = 160  # texts that are held against one goal


class _Replies(NamedTuple):
    """Replies of judges that are tried, and read under both sides."""

    length: int = 300  # characters
    tried: int = 400
    ways: int = 6  # to write one match of a pattern


class _Evidence(NamedTuple):
    """What is spent on outputs that are graded under both sides; well under a second."""

    steps: int = 400_000  # of grading
    goal_steps: int = 60_000  # more, for putting an output together, four times at most
    goal_outputs: int = 2  # for one goal
    few: int = 16  # outputs that are tried where only a level counts
    outputs: int = 12  # that are tried once one is found, for one that shows more
    judged_scores: int = 12  # that are tried with each output
    texts_beside: int = 6  # that are tried with each record of calls
    combining: int = 3  # steps for the result of one check in its rubric
    chars_per_step: int = 1_000  # of an output that are graded for the cost of its check
    compiling: int = 3  # steps for a character of a schema
    schema_chars_per_step: int = 20  # of a schema that is applied


class _Effects(NamedTuple):
    """How far a comparison looks for what all edits of a rubric do together."""

    edits: int = 40
    checks: int = 32
    languages: int = 12
    assembled_languages: int = 8  # whose combinations are listed
    ways: int = 30_000  # to answer, of one comparison: well under half a second
    goals: int = 24  # answers that move and are kept
    search_steps: int = 80_000  # of one search
    total_steps: int = 200_000  # of all that a comparison makes; some 0.2 s


COMPARED, PROOFS, CANDIDATES = _Compared(), _Proofs(), _Candidates()
REPLIES, EVIDENCE, EFFECTS = _Replies(), _Evidence(), _Effects()
