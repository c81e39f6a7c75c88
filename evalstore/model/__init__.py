"""The values that every room speaks of: references, artifacts, rubrics, questions, outcomes, findings."""

from evalstore.model.artifact import COSMETIC, Artifact, is_cosmetic, scoring_part
from evalstore.model.dataset import SEEN, Question, questions_of
from evalstore.model.findings import Finding, Findings, Severity
from evalstore.model.outcome import CheckResult, Graded, Output, RubricResult, Unscored, Verdict, decimal
from evalstore.model.pins import Pin, pins_of
from evalstore.model.refs import Kind, PinType, Ref, is_id, parse_ref
from evalstore.model.rubric import Check, Combine, Rubric, Scoring, check_ids, fraction, rubric_of

__all__ = [
    "COSMETIC",
    "SEEN",
    "Artifact",
    "Check",
    "CheckResult",
    "Combine",
    "Finding",
    "Findings",
    "Graded",
    "Kind",
    "Output",
    "Pin",
    "PinType",
    "Question",
    "Ref",
    "Rubric",
    "RubricResult",
    "Scoring",
    "Severity",
    "Unscored",
    "Verdict",
    "check_ids",
    "decimal",
    "fraction",
    "is_cosmetic",
    "is_id",
    "parse_ref",
    "pins_of",
    "questions_of",
    "rubric_of",
    "scoring_part",
]
