"""The options of a migration, one value from the command line to the job."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from evalstore.migration.merging.artifact_merge import ConflictSide
from evalstore.migration.shared_rubrics import Share
from evalstore.migration.sources import LegacyFile
from evalstore.progress import Watch


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationOptions:
    """What decides how sources are read and merged; each field is an option of `evalstore migrate`.

    `source_format` is the format of all sources (None: detected for each), `dialect` that of every
    file whose format has it. In a conflict `force` takes the source's side, `keep` the store's,
    `merge` both if they touch different places. `share` says which cases share a rubric (None: as
    in the store, else all suites if it is the same for all of them). The judges take their prompts
    from the folder `judges_from`. `watch` wraps the iteration over the sources (a progress bar),
    `watch_survey` the earlier one, which finds the names of the suites.
    """

    source_format: str | None = None
    dialect: str | None = None
    dry_run: bool = False
    force: bool = False
    keep: bool = False
    merge: bool = False
    share: Share | str | None = None
    judges_from: Path | str | None = None
    watch: Watch[LegacyFile] = iter
    watch_survey: Watch[LegacyFile] = iter

    @property
    def side(self) -> ConflictSide:
        """Whose side wins in a conflict."""
        asked = {
            ConflictSide.SOURCE: self.force,
            ConflictSide.STORE: self.keep,
            ConflictSide.BOTH: self.merge,
        }
        return next((side for side, is_asked in asked.items() if is_asked), ConflictSide.NONE)
