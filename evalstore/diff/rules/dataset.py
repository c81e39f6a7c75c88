"""Rules for a dataset's questions (catalogue I); references stand with the other references."""

from __future__ import annotations

from evalstore.diff.change import Channel, Headline, Rule
from evalstore.diff.findings import Certainty
from evalstore.diff.laws import NEVER, UNKNOWN
from evalstore.diff.refs import unused
from evalstore.versions import Bump

ROWS = (
    Rule(
        id="question-added",
        number="73",
        artifact="dataset",
        level=Bump.MINOR,
        law=NEVER,
        channel=Channel.NOTHING,
        message="{question} is a new question",
        reason="every other question keeps its score; compare means on common questions",
        mirror="question-removed",
        example="questions: [a] → questions: [a, b]",
        headline=Headline(Bump.MAJOR),
    ),
    Rule(
        id="question-removed",
        number="74",
        artifact="dataset",
        level=Bump.MAJOR,
        law=NEVER,
        channel=Channel.NOTHING,
        message="the question {question} is gone",
        reason="others compare on it",
        mirror="question-added",
        example="questions: [a, b] → questions: [a]",
    ),
    Rule(
        id="question-id-renamed",
        number="75",
        artifact="dataset",
        level=Bump.MAJOR,
        law=NEVER,
        channel=Channel.NOTHING,
        message="the question {old} is now called {new}",
        reason="runs are paired by the id",
        mirror="question-id-renamed",
        example="id: cache → id: cache_tags",
    ),
    Rule(
        id="question-input-changed",
        number="76",
        artifact="dataset",
        level=Bump.MAJOR,
        law=UNKNOWN,
        channel=Channel.SCORE,
        message="{question} asks something else ({key})",
        reason="the model sees another text, and stored outputs no longer answer it",
        mirror="question-input-changed",
        example="input: How is it cached? → input: How is it cached in Drupal?",
        certainty=Certainty.ASSUMED,
    ),
    Rule(
        id="question-reference-changed",
        number="77",
        artifact="dataset",
        level=Bump.MAJOR,
        law=UNKNOWN,
        channel=Channel.SCORE,
        message="{question} has another {key}",
        reason="it feeds the graders",
        mirror="question-reference-changed",
        example="expected_facts: [8 MB] → expected_facts: [16 MB]",
        certainty=Certainty.ASSUMED,
    ),
    Rule(
        id="question-bundle-changed",
        number="80",
        artifact="dataset",
        level=Bump.MAJOR,
        law=UNKNOWN,
        channel=Channel.SCORE,
        message="{question} belongs to the bundle {new} (was {old})",
        reason="another schema for its extra fields applies",
        mirror="question-bundle-changed",
        example="bundle: chat → bundle: agent",
        deciders=(unused,),
        certainty=Certainty.ASSUMED,
    ),
)
