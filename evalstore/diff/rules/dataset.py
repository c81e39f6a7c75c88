"""Rules for a dataset's questions; the rules for references are in `rules/judge.py`."""

from __future__ import annotations

from evalstore.diff.change import ChangeRule, HeadlineLevel, Scope
from evalstore.diff.findings import Certainty
from evalstore.diff.references import prove_default_unused, prove_readers_unmoved
from evalstore.versions import Bump

ROWS = (
    ChangeRule(
        id="question-added",
        artifact="dataset",
        level=Bump.MINOR,
        scope=Scope.NOTHING,
        message="{question} is a new question",
        reason="every other question keeps its score; compare means on common questions",
        mirror="question-removed",
        example="nothing → {id: q2, input: What is a cache context?}",
        instead="a new dataset, if a mean must not move",
        headline=HeadlineLevel(Bump.MAJOR),
    ),
    ChangeRule(
        id="question-removed",
        artifact="dataset",
        scope=Scope.NOTHING,
        message="the question {question} was removed",
        reason="other runs are compared on it",
        mirror="question-added",
        example="{id: q2, input: What is a cache context?} → nothing",
        instead="nothing → tags: [retired] (other runs can still be compared on it)",
    ),
    ChangeRule(
        id="question-id-renamed",
        artifact="dataset",
        scope=Scope.NOTHING,
        message="the question {old} is now called {new}",
        reason="runs are paired by question id",
        example="id: q2 → id: q3",
        instead="renames: {dataset/d: {q2: q3}} in evalstore.yaml, which makes it minor",
    ),
    ChangeRule(
        id="question-input-changed",
        artifact="dataset",
        message="{question} asks something else, {key}: {change}",
        reason="the model sees another text, and stored outputs no longer answer it",
        example="What is a cache tag? → What is a cache bin?",
        instead="nothing → {id: q2, input: What is a cache context?} (a new question instead)",
        certainty=Certainty.ASSUMED,
    ),
    ChangeRule(
        id="question-reference-changed",
        artifact="dataset",
        message="{key} of {question}: {change}{why}",
        reason="checks and judges may read it",
        example="expected_facts: [x] → expected_facts: [y]",
        instead=(
            "expected: Tags → expected: Tags and contexts (where no check and no judge of its "
            "rubric reads it)"
        ),
        deciders=(prove_readers_unmoved, prove_default_unused),
        certainty=Certainty.ASSUMED,
    ),
    ChangeRule(
        id="question-reference-unread",
        artifact="dataset",
        level=Bump.PATCH,
        scope=Scope.NOTHING,
        message="{key} of {question}, which no check or judge reads: {change}",
        reason="no check and no judge of its rubric reads it",
        example="expected: Tags → expected: Tags and contexts",
        certainty=Certainty.PROVED,
    ),
    ChangeRule(
        id="question-value-changed",
        artifact="dataset",
        message="{key} of {question} changes{why}",
        reason="a check of its rubric takes values from it",
        example="must_name: [tag] → must_name: {text: tag}",
        instead="must_name: [tag] → must_name: [tag, cache tag] (which contains tag)",
        deciders=(prove_readers_unmoved,),
        certainty=Certainty.ASSUMED,
    ),
    ChangeRule(
        id="question-bundle-changed",
        artifact="dataset",
        message="{question} moves to the bundle {new} (was {old})",
        reason="another schema applies to its extra fields",
        example="bundle: chat → bundle: agent",
        instead="severity: low → severity: high (extra keys alone, which are minor)",
        deciders=(prove_default_unused,),
        certainty=Certainty.ASSUMED,
    ),
)
