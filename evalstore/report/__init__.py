"""Renders results: a table from a result's class and a format to the function that returns the text."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from evalstore.notebook import register_views
from evalstore.report.formats import FORMATS
from evalstore.report.formats import render as render_report
from evalstore.report.screen import PAPER, Screen

# A result's class name -> the module here that renders it, with at least `document(result)`. Names instead of classes,
# so that a command imports nothing but its own result and renderer; a test checks that each class exists.
RENDERERS = {
    "Agreement": "judge",
    "CreatedStore": "init",
    "Audit": "audit",
    "Bisection": "bisect",
    "Blame": "blame",
    "Inference": "infer",
    "JudgeNoise": "judge_noise",
    "QuestionView": "audit_question",
    "RuleCatalogue": "rules",
    "RunReplay": "replay",
    "ScoreHistory": "history",
    "Diff": "diff",
    "StoreDiff": "diff_all",
    "Explanation": "explain",
    "StartedFile": "new",
    "SchemaFile": "schema_file",
    "SchemaListing": "schema_list",
    "ExportResult": "export",
    "AuditReport": "audit_report",
    "Findings": "findings",
    "Impact": "impact",
    "StoreListing": "list",
    "LockResult": "lock",
    "FormatExplanation": "migrate_explain",
    "MigrationReport": "migrate",
    "CallPlan": "plan",
    "Comparability": "comparable",
    "RubricProbe": "probe",
    "Released": "bump",
    "Resolution": "resolve",
    "Resolved": "resolve",
    "RubricResult": "rubric_result",
    "Run": "score",
    "WrittenRun": "written_run",
    "ArtifactFile": "show",
    "RunView": "run_view",
    "StaticReport": "static_report",
    "Status": "status",
    "WrittenIndex": "index",
    "WrittenSite": "site",
    "WrittenAcceptance": "accept",
    "ReplayedStory": "demo",
    "ReleaseLog": "log",
    "Verification": "verify",
}
# The modules whose `text` takes a `Screen` as well.
FITTED_TO_SCREEN = frozenset(
    {
        "audit",
        "audit_question",
        "audit_report",
        "bisect",
        "blame",
        "bump",
        "comparable",
        "diff",
        "diff_all",
        "explain",
        "export",
        "findings",
        "history",
        "impact",
        "index",
        "infer",
        "lock",
        "log",
        "migrate",
        "migrate_explain",
        "probe",
        "replay",
        "run_view",
        "schema_list",
        "written_run",
        "static_report",
        "status",
        "verify",
    }
)


def make_document(result: Any) -> Any:
    """Return `result` as the plain data that its JSON document holds."""
    from evalstore.report.json_values import write_json_value

    module = import_module(f"evalstore.report.{RENDERERS[type(result).__name__]}")
    return getattr(module, "document", write_json_value)(result)


def render(
    result: Any,
    format: str,  # noqa: A002  # the word of the command line
    *,
    screen: Screen = PAPER,
    locate: Callable[[str], str] = str,
) -> str:
    """Return `result` as text in a format: `json`, one of its own module, or for its problems one of `FORMATS`.

    `locate` maps a file's name to its path from the root of the repository, by which CI systems know it.
    """
    name = RENDERERS[type(result).__name__]
    renderer_module = import_module(f"evalstore.report.{name}")
    if format in FORMATS and not hasattr(renderer_module, format):
        from evalstore.report.reports import report_problems

        return render_report(report_problems(result, locate), format)
    if format == "json":
        from evalstore.report.text_layout import dump_json

        return dump_json(make_document(result))
    renderer: Callable[..., str] = getattr(renderer_module, format)
    return renderer(result, screen) if format == "text" and name in FITTED_TO_SCREEN else renderer(result)


def _write_frame(value: Any) -> str:
    from evalstore.report.notebook import write_frame

    return write_frame(value)


register_views(document=make_document, page=_write_frame)
