"""Names the artifacts that no source needs any more; they stay until somebody deletes them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping

from evalstore.migration.outcome import FileState, PlannedFile
from evalstore.migration.source_results import SourceResult
from evalstore.migration.stored_artifacts import StoredArtifact, StoredArtifacts
from evalstore.migration.suite_identity import SuitePlace

_NO_CASE = "no case of {} needs it any more"
_NO_SUITE = "its source {} is gone"


def list_orphans(
    stored: StoredArtifacts,
    places: Mapping[str, SuitePlace],
    gone: Iterable[StoredArtifact],
    claimed: Container[str],
    results: Iterable[SourceResult],
) -> Iterator[PlannedFile]:
    """Yield the orphans: parts of a migrated suite that nothing claimed, and all artifacts of a suite that is gone.

    A source that was refused as a whole claims nothing, and has no orphans: it may be mended.
    """
    planned = {(result.source.format, result.source.file) for result in results if result.source.target}
    for file, place in places.items():
        if place.stored and (place.stored.origin.format, file) in planned:
            for artifact in _list_parts(stored, place.stored):
                if artifact.name not in claimed and not artifact.is_removed:
                    yield PlannedFile(artifact.path, FileState.ORPHAN, _NO_CASE.format(file))
    for suite in gone:
        reason = _NO_SUITE.format(suite.origin.file)
        for artifact in {item.name: item for item in (suite, *_list_parts(stored, suite))}.values():
            if artifact.name not in claimed and not artifact.is_removed:
                yield PlannedFile(artifact.path, FileState.ORPHAN, reason)


def _list_parts(stored: StoredArtifacts, suite: StoredArtifact) -> Iterator[StoredArtifact]:
    """Yield the parts of a suite; a run and its rows are one suite in two files, and each has its own parts."""
    parts = stored.list_parts(suite.origin.format, suite.origin.suite)
    return (artifact for artifact in parts if artifact.origin.run == suite.origin.run)
