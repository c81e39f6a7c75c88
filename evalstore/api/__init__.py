"""The door: the public names, and the use cases that only commands need, imported when they are first used."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from evalstore.api.functions import Store, audit, compare, evaluate, export, migrate, score
from evalstore.errors import EvalstoreError
from evalstore.model.artifact import Artifact
from evalstore.store import Resolved

if TYPE_CHECKING:
    from evalstore.agreement import (
        MeasurementRequest,
        NoiseRequest,
        check_writable,
        draft_noise,
        draft_validation,
        open_measurement,
        open_noise_measurement,
    )
    from evalstore.audits import Audit, ChangeSide, measure_change
    from evalstore.audits.bisection import bisect_scores
    from evalstore.audits.comparability import Comparability, ComparableAnswer, ComparedPart, compare_runs, judge_diff
    from evalstore.audits.conditions import (
        Answer,
        AuditReport,
        Condition,
        StaticReport,
        decide_conditions,
        decide_static_conditions,
        find_worst_answer,
        parse_condition,
    )
    from evalstore.audits.inference import infer_rulers
    from evalstore.audits.question_view import view_question
    from evalstore.audits.replay import replay
    from evalstore.audits.score_history import build_history
    from evalstore.audits.slices import SliceKind
    from evalstore.audits.static_audit import audit_statically
    from evalstore.audits.timelines import build_timelines
    from evalstore.demo import CommandResult, ReplayedStory, StoryStep, read_story, replay_story
    from evalstore.demo.first_store import DATASET, OUTPUTS, RUBRIC, write_first_store
    from evalstore.diff import ComparisonSettings, Diff, Profile, RunMeasurement, Suggestion
    from evalstore.diff.normal_form import normalize_artifact
    from evalstore.diff.suggestions import find_suggestion
    from evalstore.index.written_index import find_store_folders, write_index
    from evalstore.integrity import check_lock, lock, verify
    from evalstore.judging import CallPlan, Endpoint, Judges, open_session
    from evalstore.migration import MigrationOutcome, MigrationReport, explain_format
    from evalstore.migration.sources import LegacyFile
    from evalstore.migration.table import list_formats
    from evalstore.model import RubricResult
    from evalstore.probes import probe
    from evalstore.provenance import blame
    from evalstore.references.impact import find_impact
    from evalstore.release import VARIABLES, Released, bump
    from evalstore.release.accept import AcceptOptions, accept
    from evalstore.runs import Run
    from evalstore.scoring import open_job
    from evalstore.scoring.workers import open_workers, write_run_by_workers
    from evalstore.site import SiteAudit, StoreSite
    from evalstore.site.values import WrittenSite
    from evalstore.status import read_status
    from evalstore.status.base_policy import judge_by_base
    from evalstore.status.comparison import make_loader
    from evalstore.status.release_log import COMPARED_LIMIT, read_release_log
    from evalstore.status.store_diff import compare_all, name_side, resolve_side
    from evalstore.status.store_validation import make_validator
    from evalstore.versions import Bump

__all__ = [
    "Artifact",
    "Audit",
    "Bump",
    "Diff",
    "Endpoint",
    "EvalstoreError",
    "Judges",
    "MigrationReport",
    "Released",
    "Resolved",
    "RubricResult",
    "Run",
    "Store",
    "audit",
    "compare",
    "evaluate",
    "export",
    "migrate",
    "score",
]


# Where the names are that are imported late. What `__all__` does not have is for the commands, and may change.
_NAMES: Mapping[str, tuple[str, ...]] = {
    "evalstore.agreement": (
        "MeasurementRequest",
        "NoiseRequest",
        "check_writable",
        "draft_noise",
        "draft_validation",
        "open_measurement",
        "open_noise_measurement",
    ),
    "evalstore.audits": ("Audit", "ChangeSide", "measure_change"),
    "evalstore.audits.bisection": ("bisect_scores",),
    "evalstore.audits.comparability": (
        "Comparability",
        "ComparableAnswer",
        "ComparedPart",
        "compare_runs",
        "judge_diff",
    ),
    "evalstore.audits.conditions": (
        "Answer",
        "AuditReport",
        "Condition",
        "StaticReport",
        "decide_conditions",
        "decide_static_conditions",
        "find_worst_answer",
        "parse_condition",
    ),
    "evalstore.audits.inference": ("infer_rulers",),
    "evalstore.audits.question_view": ("view_question",),
    "evalstore.audits.replay": ("replay",),
    "evalstore.audits.score_history": ("build_history",),
    "evalstore.audits.slices": ("SliceKind",),
    "evalstore.audits.static_audit": ("audit_statically",),
    "evalstore.audits.timelines": ("build_timelines",),
    "evalstore.demo": ("CommandResult", "ReplayedStory", "StoryStep", "read_story", "replay_story"),
    "evalstore.demo.first_store": ("DATASET", "OUTPUTS", "RUBRIC", "write_first_store"),
    "evalstore.diff": ("ComparisonSettings", "Diff", "Profile", "RunMeasurement", "Suggestion"),
    "evalstore.diff.normal_form": ("normalize_artifact",),
    "evalstore.diff.suggestions": ("find_suggestion",),
    "evalstore.index.written_index": ("find_store_folders", "write_index"),
    "evalstore.integrity": ("check_lock", "lock", "verify"),
    "evalstore.judging": ("CallPlan", "Endpoint", "Judges", "open_session"),
    "evalstore.migration": ("MigrationOutcome", "MigrationReport", "explain_format"),
    "evalstore.migration.sources": ("LegacyFile",),
    "evalstore.migration.table": ("list_formats",),
    "evalstore.model": ("RubricResult",),
    "evalstore.probes": ("probe",),
    "evalstore.provenance": ("blame",),
    "evalstore.references.impact": ("find_impact",),
    "evalstore.release": ("Released", "VARIABLES", "bump"),
    "evalstore.release.accept": ("AcceptOptions", "accept"),
    "evalstore.runs": ("Run",),
    "evalstore.scoring": ("open_job",),
    "evalstore.scoring.workers": ("open_workers", "write_run_by_workers"),
    "evalstore.site": ("SiteAudit", "StoreSite"),
    "evalstore.site.values": ("WrittenSite",),
    "evalstore.status": ("read_status",),
    "evalstore.status.base_policy": ("judge_by_base",),
    "evalstore.status.comparison": ("make_loader",),
    "evalstore.status.release_log": ("COMPARED_LIMIT", "read_release_log"),
    "evalstore.status.store_diff": ("compare_all", "name_side", "resolve_side"),
    "evalstore.status.store_validation": ("make_validator",),
    "evalstore.versions": ("Bump",),
}


if not TYPE_CHECKING:  # a checker would take any name for one that there is

    def __getattr__(name: str) -> Any:
        module = next((module for module, names in _NAMES.items() if name in names), None)
        if module is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(module), name)
        return value
