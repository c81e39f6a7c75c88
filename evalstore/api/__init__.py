"""The door: the public names, and the use cases that only the commands need.

Each is imported on first use.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from evalstore.api.functions import (
    audit,
    check_conditions,
    compare,
    evaluate,
    open_kept_replies,
    score,
)
from evalstore.api.store import Store
from evalstore.errors import EvalstoreError
from evalstore.lazy_names import import_lazily
from evalstore.model.artifact import Artifact
from evalstore.store import ArtifactStore, Resolved

if TYPE_CHECKING:
    from evalstore.agreement import (
        LabelFile,
        MeasurementRequest,
        NoiseRequest,
        ReplacementRequest,
        WordingRequest,
        ask_examples,
        check_writable,
        draft_noise,
        draft_replacement,
        draft_validation,
        open_label_file,
        open_measurement,
        open_noise_measurement,
        open_replacement,
        open_wording_trial,
        order_for_labels,
    )
    from evalstore.agreement.ask_command import suggest_ask_command
    from evalstore.agreement.correction import plan_corrections
    from evalstore.audits import Audit, AuditOptions, ChangeSide, audit_runs, measure_change
    from evalstore.audits.bare_outputs import grade_bare_outputs
    from evalstore.audits.bisection import bisect_scores
    from evalstore.audits.comparability import (
        Comparability,
        ComparableAnswer,
        ComparedPart,
        compare_runs,
        judge_diff,
    )
    from evalstore.audits.conditions import (
        Answer,
        AuditReport,
        Condition,
        RecordReport,
        decide_conditions,
        decide_record_conditions,
        find_worst_answer,
        parse_condition,
    )
    from evalstore.audits.edits.edit_files import read_audit_files
    from evalstore.audits.question_view import view_question
    from evalstore.audits.records.comparison import (
        RecordComparison,
        compare_configurations,
        compare_records,
        find_record_reason,
    )
    from evalstore.audits.records.pairs import add_edits, keep_regressed, read_pairs
    from evalstore.audits.score_history import build_history, build_timelines, replay_run
    from evalstore.audits.slices import SliceKind, map_tags
    from evalstore.demo import (
        DATASET,
        OUTPUTS,
        CommandResult,
        ReplayedStory,
        StoryStep,
        read_story,
        replay_story,
        write_first_store,
    )
    from evalstore.diff import ComparisonSettings, Diff, Profile, RunMeasurement
    from evalstore.diff.normal_artifact import normalize_artifact
    from evalstore.migration import (
        LossKind,
        MigrationOptions,
        MigrationOutcome,
        MigrationReport,
        detect_file,
        export,
        migrate,
        migrate_paths,
    )
    from evalstore.migration.foreign_sources import name_foreign_sources
    from evalstore.migration.merging.merge_driver import MergeSides, merge_file
    from evalstore.migration.sources import LegacyFile
    from evalstore.migration.table import list_formats
    from evalstore.model import RubricResult
    from evalstore.release.changes.accept import AcceptOptions, accept
    from evalstore.release.changes.asked_changes import keep_asked
    from evalstore.release.changes.base_policy import judge_by_base
    from evalstore.release.changes.comparison import make_loader
    from evalstore.release.changes.source_store import (
        are_of_store,
        find_source_root,
        open_source_store,
    )
    from evalstore.release.changes.status import read_status
    from evalstore.release.changes.store_diff import StoreDiff, compare_all, name_side, resolve_side
    from evalstore.release.changes.validator import make_validator
    from evalstore.release.changes.values import Released
    from evalstore.release.history.blame import blame
    from evalstore.release.history.impact import find_impact
    from evalstore.release.history.release_log import COMPARED_LIMIT, read_release_log
    from evalstore.release.integrity.gate import GateOptions, check_change
    from evalstore.release.integrity.verify import check_lock, verify
    from evalstore.release.publishing.bump import bump
    from evalstore.release.publishing.rebase_releases import bump_again
    from evalstore.release.publishing.saved_examples import find_shown_output, save_example
    from evalstore.release.publishing.step import BumpOptions
    from evalstore.release.records.lock import lock
    from evalstore.release.transactions.checkout import VARIABLES
    from evalstore.runs import Run
    from evalstore.scoring import ScoringOptions, open_job
    from evalstore.scoring.judging import CallPlan, Endpoint, Judges, open_session
    from evalstore.scoring.run_record import UnmetSettingError
    from evalstore.scoring.workers import write_run_by_engine
    from evalstore.site import SiteAudit, SiteEntry, StoreSite, WrittenSite, summarize_artifact
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
    "check_conditions",
    "compare",
    "evaluate",
    "export",
    "migrate",
    "score",
]


# The module of each name that is imported late. Names missing from `__all__` are for the commands,
# and may change.
_NAMES: Mapping[str, tuple[str, ...]] = {
    "evalstore.audits": ("Audit", "AuditOptions", "ChangeSide", "audit_runs", "measure_change"),
    "evalstore.audits.bare_outputs": ("grade_bare_outputs",),
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
        "RecordReport",
        "decide_conditions",
        "decide_record_conditions",
        "find_worst_answer",
        "parse_condition",
    ),
    "evalstore.audits.question_view": ("view_question",),
    "evalstore.audits.edits.edit_files": ("read_audit_files",),
    "evalstore.audits.records.comparison": (
        "RecordComparison",
        "compare_configurations",
        "compare_records",
        "find_record_reason",
    ),
    "evalstore.audits.records.pairs": ("add_edits", "keep_regressed", "read_pairs"),
    "evalstore.audits.score_history": ("build_history", "build_timelines", "replay_run"),
    "evalstore.audits.slices": ("SliceKind", "map_tags"),
    "evalstore.demo": (
        "CommandResult",
        "DATASET",
        "OUTPUTS",
        "ReplayedStory",
        "StoryStep",
        "read_story",
        "replay_story",
        "write_first_store",
    ),
    "evalstore.diff": ("ComparisonSettings", "Diff", "Profile", "RunMeasurement"),
    "evalstore.diff.normal_artifact": ("normalize_artifact",),
    "evalstore.migration": (
        "LossKind",
        "MigrationOptions",
        "MigrationOutcome",
        "MigrationReport",
        "detect_file",
        "export",
        "migrate",
        "migrate_paths",
    ),
    "evalstore.migration.foreign_sources": ("name_foreign_sources",),
    "evalstore.migration.merging.merge_driver": ("MergeSides", "merge_file"),
    "evalstore.migration.sources": ("LegacyFile",),
    "evalstore.migration.table": ("list_formats",),
    "evalstore.model": ("RubricResult",),
    "evalstore.release.changes.accept": ("AcceptOptions", "accept"),
    "evalstore.release.changes.asked_changes": ("keep_asked",),
    "evalstore.release.changes.base_policy": ("judge_by_base",),
    "evalstore.release.history.blame": ("blame",),
    "evalstore.release.publishing.bump": ("bump",),
    "evalstore.release.transactions.checkout": ("VARIABLES",),
    "evalstore.release.publishing.rebase_releases": ("bump_again",),
    "evalstore.release.changes.comparison": ("make_loader",),
    "evalstore.release.integrity.gate": ("GateOptions", "check_change"),
    "evalstore.release.history.impact": ("find_impact",),
    "evalstore.release.records.lock": ("lock",),
    "evalstore.release.history.release_log": ("COMPARED_LIMIT", "read_release_log"),
    "evalstore.release.publishing.saved_examples": ("find_shown_output", "save_example"),
    "evalstore.release.changes.source_store": (
        "are_of_store",
        "find_source_root",
        "open_source_store",
    ),
    "evalstore.release.changes.status": ("read_status",),
    "evalstore.release.publishing.step": ("BumpOptions",),
    "evalstore.release.changes.store_diff": (
        "StoreDiff",
        "compare_all",
        "name_side",
        "resolve_side",
    ),
    "evalstore.release.changes.validator": ("make_validator",),
    "evalstore.release.changes.values": ("Released",),
    "evalstore.release.integrity.verify": ("check_lock", "verify"),
    "evalstore.runs": ("Run",),
    "evalstore.scoring": ("ScoringOptions", "open_job"),
    "evalstore.agreement": (
        "LabelFile",
        "MeasurementRequest",
        "NoiseRequest",
        "ReplacementRequest",
        "WordingRequest",
        "ask_examples",
        "check_writable",
        "draft_noise",
        "draft_replacement",
        "draft_validation",
        "open_label_file",
        "open_measurement",
        "open_noise_measurement",
        "open_replacement",
        "open_wording_trial",
        "order_for_labels",
    ),
    "evalstore.agreement.ask_command": ("suggest_ask_command",),
    "evalstore.agreement.correction": ("plan_corrections",),
    "evalstore.scoring.judging": ("CallPlan", "Endpoint", "Judges", "open_session"),
    "evalstore.scoring.run_record": ("UnmetSettingError",),
    "evalstore.scoring.workers": ("write_run_by_engine",),
    "evalstore.site": ("SiteAudit", "SiteEntry", "StoreSite", "WrittenSite", "summarize_artifact"),
    "evalstore.versions": ("Bump",),
}

if not TYPE_CHECKING:  # a type checker would accept any name here
    __getattr__ = import_lazily(__name__, _NAMES)
