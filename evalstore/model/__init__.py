"""The values that all packages share: references, artifacts, rubrics, judges, questions, results, findings."""

from evalstore.model.artifact import COSMETIC, MALFORMED_ERRORS, Artifact, is_cosmetic, select_scoring_part
from evalstore.model.call import JudgeCall, JudgeReply
from evalstore.model.dataset import SEEN, Question, questions_of
from evalstore.model.findings import Finding, Findings, Severity
from evalstore.model.judge import Judge, ScoreType, judge_of
from evalstore.model.outcome import CheckResult, Grade, Output, RubricResult, UnscoredReason, Verdict, decimal
from evalstore.model.pins import Pin, check_pins, pins_of
from evalstore.model.refs import Kind, PinType, Ref, is_id, parse_ref
from evalstore.model.rubric import Check, Combine, Rubric, Scoring, check_ids, fraction, rubric_of
from evalstore.model.sample import Sample
from evalstore.model.tools import ToolCall, call_args, call_name, read_call

__all__ = [
    "COSMETIC",
    "MALFORMED_ERRORS",
    "SEEN",
    "Artifact",
    "JudgeCall",
    "Check",
    "CheckResult",
    "Combine",
    "Finding",
    "Findings",
    "Grade",
    "Judge",
    "Kind",
    "Output",
    "Pin",
    "PinType",
    "Question",
    "Ref",
    "JudgeReply",
    "Rubric",
    "RubricResult",
    "Sample",
    "ScoreType",
    "Scoring",
    "Severity",
    "ToolCall",
    "UnscoredReason",
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
    "select_scoring_part",
]
