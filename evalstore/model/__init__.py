"""The values that all packages share: references, artifacts, rubrics, judges, questions, results, findings."""

from evalstore.model.artifact import COSMETIC_KEYS, MALFORMED_ERRORS, Artifact, is_cosmetic, select_scoring_part
from evalstore.model.call import JudgeCall, JudgeReply
from evalstore.model.dataset import INPUT_KEYS, Question, iterate_questions
from evalstore.model.findings import Finding, Findings, Severity
from evalstore.model.judge import Judge, ScoreType, read_judge
from evalstore.model.outcome import CheckResult, Grade, Output, RubricResult, UnscoredReason, Verdict, format_decimal
from evalstore.model.pins import Pin, find_check_pins, find_pins
from evalstore.model.refs import Kind, PinType, Ref, is_id, parse_ref
from evalstore.model.rubric import Check, Combine, Rubric, Scoring, list_check_ids, fraction, rubric_of
from evalstore.model.sample import Sample
from evalstore.model.tools import ToolCall, read_call_args, read_call_name, read_call

__all__ = [
    "COSMETIC_KEYS",
    "MALFORMED_ERRORS",
    "INPUT_KEYS",
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
    "read_call_args",
    "read_call_name",
    "list_check_ids",
    "find_check_pins",
    "format_decimal",
    "fraction",
    "is_cosmetic",
    "is_id",
    "read_judge",
    "parse_ref",
    "find_pins",
    "iterate_questions",
    "read_call",
    "rubric_of",
    "select_scoring_part",
]
