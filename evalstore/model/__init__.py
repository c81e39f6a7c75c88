"""The values that all packages share: references, artifacts, rubrics, judges, results and more."""

from typing import TYPE_CHECKING

from evalstore.lazy_names import import_lazily
from evalstore.model.artifact import (
    COSMETIC_KEYS,
    MALFORMED_ERRORS,
    Artifact,
    describe_misfit,
    find_rows_path,
    is_cosmetic,
    select_scoring_part,
)
from evalstore.model.pins import Pin, find_check_pins, find_pins
from evalstore.model.refs import (
    Kind,
    PinType,
    Ref,
    WorktreePins,
    find_kind,
    is_check_id,
    is_id,
    parse_ref,
)

if TYPE_CHECKING:
    from evalstore.model.findings import (
        Finding,
        Findings,
        MendedPlace,
        Severity,
        SourceLine,
        TextEdit,
    )
    from evalstore.model.judge import Judge, JudgeCall, JudgeReply, ScoreType, read_judge
    from evalstore.model.outcome import (
        CheckResult,
        Grade,
        Output,
        OutputEnd,
        RubricResult,
        UnscoredReason,
        Verdict,
        format_decimal,
        format_exact_score,
        format_score,
        has_failed_check,
    )
    from evalstore.model.question import INPUT_KEYS, Question, Sample, iterate_questions
    from evalstore.model.rubric import (
        Check,
        Combine,
        Rubric,
        Scoring,
        VerdictRule,
        list_check_ids,
        parse_fraction,
        read_rubric,
    )
    from evalstore.model.tool_call import ToolCall, read_call, read_call_args, read_call_name

__all__ = [
    "COSMETIC_KEYS",
    "INPUT_KEYS",
    "MALFORMED_ERRORS",
    "Artifact",
    "Check",
    "CheckResult",
    "Combine",
    "Finding",
    "Findings",
    "Grade",
    "Judge",
    "JudgeCall",
    "JudgeReply",
    "Kind",
    "MendedPlace",
    "Output",
    "OutputEnd",
    "Pin",
    "PinType",
    "Question",
    "Ref",
    "Rubric",
    "RubricResult",
    "Sample",
    "ScoreType",
    "Scoring",
    "Severity",
    "SourceLine",
    "TextEdit",
    "ToolCall",
    "UnscoredReason",
    "Verdict",
    "VerdictRule",
    "WorktreePins",
    "describe_misfit",
    "find_check_pins",
    "find_kind",
    "find_pins",
    "find_rows_path",
    "format_decimal",
    "format_exact_score",
    "format_score",
    "has_failed_check",
    "is_check_id",
    "is_cosmetic",
    "is_id",
    "iterate_questions",
    "list_check_ids",
    "parse_fraction",
    "parse_ref",
    "read_call",
    "read_call_args",
    "read_call_name",
    "read_judge",
    "read_rubric",
    "select_scoring_part",
]

# What grades and judges: code that only finds and reads artifacts does not need it.
__getattr__ = import_lazily(
    __name__,
    {
        ".findings": ("Finding", "Findings", "MendedPlace", "Severity", "SourceLine", "TextEdit"),
        ".judge": ("Judge", "JudgeCall", "JudgeReply", "ScoreType", "read_judge"),
        ".outcome": (
            "CheckResult",
            "Grade",
            "Output",
            "OutputEnd",
            "RubricResult",
            "UnscoredReason",
            "Verdict",
            "format_decimal",
            "format_exact_score",
            "format_score",
            "has_failed_check",
        ),
        ".question": ("INPUT_KEYS", "Question", "Sample", "iterate_questions"),
        ".rubric": (
            "Check",
            "Combine",
            "Rubric",
            "Scoring",
            "VerdictRule",
            "list_check_ids",
            "parse_fraction",
            "read_rubric",
        ),
        ".tool_call": ("ToolCall", "read_call", "read_call_args", "read_call_name"),
    },
)
