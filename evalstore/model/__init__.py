"""The values that every room speaks of: references, artifacts, rubrics, questions, outcomes, findings."""

from evalstore.model.artifact import COSMETIC, MISFITS, Artifact, is_cosmetic, scoring_part
from evalstore.model.call import Call, Reply
from evalstore.model.dataset import SEEN, Question, questions_of
from evalstore.model.findings import Finding, Findings, Severity
from evalstore.model.judge import Judge, ScoreType, judge_of
from evalstore.model.outcome import CheckResult, Graded, Output, RubricResult, Unscored, Verdict, decimal
from evalstore.model.pins import Pin, check_pins, pins_of
from evalstore.model.refs import Kind, PinType, Ref, is_id, parse_ref
from evalstore.model.rubric import Check, Combine, Rubric, Scoring, check_ids, fraction, rubric_of
from evalstore.model.sample import Sample
from evalstore.model.tools import ToolCall, call_args, call_name, read_call

__all__ = [
    "COSMETIC",
    "MISFITS",
    "SEEN",
    "Artifact",
    "Call",
    "Check",
    "CheckResult",
    "Combine",
    "Finding",
    "Findings",
    "Graded",
    "Judge",
    "Kind",
    "Output",
    "Pin",
    "PinType",
    "Question",
    "Ref",
    "Reply",
    "Rubric",
    "RubricResult",
    "Sample",
    "ScoreType",
    "Scoring",
    "Severity",
    "ToolCall",
    "Unscored",
    "Verdict",
    "call_args",
    "call_name",
    "check_ids",
    "check_pins",
    "decimal",
    "fraction",
    "is_cosmetic",
    "is_id",
    "judge_of",
    "parse_ref",
    "pins_of",
    "questions_of",
    "read_call",
    "rubric_of",
    "scoring_part",
]
