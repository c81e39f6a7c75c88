"""Renders results: a table maps a result's class and a format to the function for its text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from evalstore.notebook import register_views
from evalstore.report.formats import FORMATS
from evalstore.report.formats import render as render_report

if TYPE_CHECKING:
    from evalstore.report.text_layout import Screen

# A result's class name -> the module here that renders it, and, for the second result of a module,
# the suffix of its functions: `text_lock` of `written` renders a `LockResult`. Names are used
# instead of classes so that a command imports only its own result and renderer; a test checks that
# each class exists.
RENDERERS = {
    "Agreement": "judge",
    "ArtifactFile": "resolve.file",
    "Audit": "audit",
    "AuditReport": "audit_report",
    "Bisection": "bisection",
    "Blame": "blame",
    "CallPlan": "judge.plan",
    "Comparability": "comparable",
    "CreatedStore": "written.store",
    "Diff": "diff",
    "Explanation": "explain",
    "ExampleResults": "judge.examples",
    "ExportResult": "written.export",
    "Findings": "findings",
    "GateResult": "gate",
    "Impact": "impact",
    "JudgeNoise": "judge_noise",
    "JudgeReplacement": "judge_replacement",
    "LockResult": "written.lock",
    "MigrationReport": "migrate",
    "QuestionView": "audit_question",
    "Released": "bump",
    "RecordReport": "records",
    "ReleaseLog": "log",
    "ReplayedStory": "written.story",
    "Resolution": "resolve",
    "Resolved": "resolve",
    "RubricResult": "run_view.result",
    "RuleCatalogue": "catalogues.rules",
    "Run": "run_score",
    "RunPairs": "run_pairs",
    "RunReplay": "replay",
    "RunView": "run_view",
    "SchemaFile": "catalogues.schema",
    "SchemaListing": "catalogues.schemas",
    "ScoreHistory": "history",
    "StartedFile": "written.file",
    "Status": "status",
    "StoreDiff": "diff.store",
    "StoreListing": "resolve.listing",
    "TopicList": "catalogues.topics",
    "Verification": "findings.verification",
    "WrittenAcceptance": "written.acceptance",
    "WrittenRun": "run_score.written",
    "WrittenSite": "written.site",
}


# Results whose text can be a file, and when it is one: no line is wrapped then.
_FILES: Mapping[str, Callable[[Any], bool]] = {
    "ExportResult": lambda result: result.out is None,
}


# `format` is the word of the command line.
def find_renderer(result: Any, format: str) -> Callable[..., Any] | None:  # noqa: A002
    """Return the function that renders `result` in a format; None if its module has none."""
    module, _, suffix = RENDERERS[type(result).__name__].partition(".")
    name = f"{format}_{suffix}" if suffix else format
    return getattr(import_module(f"evalstore.report.{module}"), name, None)


def has_screen(renderer: Callable[..., Any]) -> bool:
    """Whether a renderer fits its text to a screen, which it then has as a parameter."""
    return "screen" in renderer.__annotations__


def make_document(result: Any) -> Any:
    """Return `result` as the plain data of its JSON document."""
    from evalstore.report.json_values import write_json_value

    return (find_renderer(result, "document") or write_json_value)(result)


def render(
    result: Any,
    format: str,  # noqa: A002  # the word of the command line
    *,
    screen: Screen | None = None,
    locate: Callable[[str], str] = str,
) -> str:
    """Return `result` as text in a format: `json`, one of its own module, or one of `FORMATS`.

    `locate` maps a file's name to its path from the root of the repository, which CI systems need.
    """
    renderer = find_renderer(result, format)
    if format in FORMATS and renderer is None:
        from evalstore.report.reports import report_problems

        return render_report(report_problems(result, locate), format)
    if format == "json":
        from evalstore.report.text_layout import dump_json

        return dump_json(make_document(result))
    if renderer is None:
        raise LookupError(f"no renderer of {type(result).__name__} as {format}")
    if has_screen(renderer):
        from evalstore.report.text_layout import PAPER

        screen = screen or PAPER
        text: str = renderer(result, screen)
        is_file = _FILES.get(type(result).__name__)
        return text if is_file and is_file(result) else screen.fit(text)
    written: str = renderer(result)
    return written


def _write_frame(value: Any) -> str:
    from evalstore.report.notebook import write_frame

    return write_frame(value)


def _write_text(value: Any) -> str:
    # A part of a result that no command prints by itself is shown as Python shows it.
    has_text = find_renderer(value, "text") is not None
    return render(value, "text").rstrip("\n") if has_text else repr(value)


register_views(document=make_document, text=_write_text, page=_write_frame)
