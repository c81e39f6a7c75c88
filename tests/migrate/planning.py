"""Plans one source by itself, for a store that has nothing."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from evalstore.documents import Document
from evalstore.migration.artifact_names import ArtifactNames
from evalstore.migration.dataset_draft import SourceContext
from evalstore.migration.extraction import Extraction, LegacySource
from evalstore.migration.merging.artifact_merge import ConflictSide
from evalstore.migration.merging.stored_artifacts import StoredArtifacts
from evalstore.migration.plan import SourcePlan, plan_source
from evalstore.migration.suites.suite_artifacts import StoreTarget
from evalstore.migration.suites.suite_places import SuiteIdentity
from evalstore.migration.table import FormatTable


def plan_alone(
    extraction: Extraction, legacy: LegacySource, table: FormatTable, companions: Mapping[str, Document] | None = None
) -> SourcePlan:
    """Return the plan of a source, whose suite is called x."""
    stored = StoredArtifacts(Path("/nowhere"))
    target = StoreTarget(stored, ArtifactNames(), ConflictSide.NONE, lambda *_: None, lambda *_: None)
    return plan_source(SourceContext(extraction, legacy, table, companions or {}), SuiteIdentity("x", "x"), target)


def copy_legacy(case: str, folder: Path) -> Path:
    """Copy the legacy files of a case out of this repository, from whose top they would be named."""
    cases = Path(__file__).resolve().parents[1] / "cases/migrations"
    return Path(shutil.copytree(cases / case / "legacy", folder / "source/legacy"))
