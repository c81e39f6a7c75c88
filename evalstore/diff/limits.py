"""How far a comparison looks: counts, never seconds, so that every machine agrees.

A search that reaches a limit proves nothing, and the rule's own level counts.
"""

from __future__ import annotations

from typing import NamedTuple


class _Compared(NamedTuple):
    """What is compared part by part; anything larger is reported as changed as a whole."""

    items: int = 100  # in two lists: phrases, fields, calls, members of a jury, facts
    checks: int = 400  # in a rubric
    near_pairs: int = 2_500  # of checks, compared by their words
    pattern: int = 1_000  # characters
    # For all patterns of a rubric: enough for three comparisons of the largest allowed size.
    pattern_steps: int = 600_000
    # For all schemas of a rubric: comparing the two largest allowed takes about half of it.
    schema_steps: int = 100_000
    nested_references: int = 4  # references within references
    deepdiff_parts: int = 100_000  # characters and parts; deepdiff takes seconds for more
    listed_paths: int = 5  # of differences, in a message
    listed_pointers: int = 2  # into a schema, in a message
    questions: int = 5_000  # that are edited differently: two milliseconds each
    question_witnesses: int = 20  # of these, with a full search for a witness
    question_effects: int = 100  # of the others, if a few outputs show nothing
    composites: int = 4  # that are removed, and may have been inlined
    composite_checks: int = 8  # that are edited, to look for a regrouping
    composite_group: int = 4  # of these, in one group
    composite_groups: int = 36  # that are tried


class _Proofs(NamedTuple):
    """What a decider lists in full to prove that a score cannot move."""

    scores: int = 12  # that one check can have
    combined_checks: int = 16  # whose scores are combined
    sums: int = 1 << 14  # pairs: a sum of weighted scores, and the sum of the weights
    ways: int = 4_096  # to answer: well under a tenth of a second
    # Their groups are listed, 1,024 at most; with more judges, shares are compared instead.
    grouped_judges: int = 10
    traits: int = 1_024  # combinations of traits of an output
    counted_phrases: int = 6  # of one check: a text may contain any subset of them
    optional_work: int = 1 << 15  # sets of checks that can be left out, times the checks


class _Candidates(NamedTuple):
    """Texts and records of calls that are tried as outputs."""

    built: int = 1_024  # texts that are put together
    texts: int = 400  # of these, the shortest
    quoted: int = 80  # of these, also as JSON or as PHP
    text_length: int = 2_000  # characters; nobody would read a longer text
    asked_length: int = 20_000  # characters, if a check asks for such a length
    repeated: int = 20  # demands, or facts, that are left out or broken one by one
    parts: int = 48  # texts for each check
    options: int = 6  # texts for each check other than the changed one
    checks: int = 16  # other than the changed one
    sides: int = 2  # of a change: the old check and the new one
    joint: int = 2  # values for each schema that combines several checks
    schema: int = 8_000  # characters
    records: int = 120
    record_length: int = 24  # calls
    record_calls: int = 6  # different ones, besides those of banned tools
    banned: int = 3  # banned tools that are called
    questions: int = 12  # that are invented for one edit
    tools: int = 2_000  # characters and parts of the tools that a check lists
    fragments: int = 24  # of one check
    assembly_steps: int = 160  # texts that are tried for one goal


class _Replies(NamedTuple):
    """Replies of judges that are tried, and read under both sides."""

    length: int = 300  # characters
    tried: int = 400
    ways: int = 6  # to write one match of a pattern


class _Evidence(NamedTuple):
    """How much is spent on grading outputs under both sides; well under a second."""

    steps: int = 400_000  # of grading
    goal_steps: int = 60_000  # more, for putting an output together, four times at most
    goal_outputs: int = 2  # for one goal
    few: int = 16  # outputs that are tried if only a level counts
    outputs: int = 12  # more to try after the first one is found, for a better one
    judged_scores: int = 12  # that are tried with each output
    texts_beside: int = 6  # that are tried with each record of calls
    combining: int = 3  # steps to combine the result of one check
    chars_per_step: int = 1_000  # of an output: each further 1,000 cost as much as the check
    compiling: int = 3  # steps for one character of a schema
    schema_chars_per_step: int = 20  # of a schema, each time it is applied


class _Effects(NamedTuple):
    """How far a comparison looks for what all edits of a rubric do together."""

    edits: int = 40
    checks: int = 32
    languages: int = 12
    assembled_languages: int = 8  # whose combinations are listed
    ways: int = 30_000  # to answer, of one comparison: well under half a second
    goals: int = 24  # answers that move the score and are kept
    search_steps: int = 80_000  # of one search
    total_steps: int = 200_000  # of all searches of a comparison; some 0.2 s


COMPARED, PROOFS, CANDIDATES = _Compared(), _Proofs(), _Candidates()
REPLIES, EVIDENCE, EFFECTS = _Replies(), _Evidence(), _Effects()
