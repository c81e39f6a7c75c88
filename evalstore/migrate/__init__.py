"""Legacy grader files into rubrics and datasets, and back; what is lost on the way is nothing, or said."""

from evalstore.migrate.export import export
from evalstore.migrate.migration import migrate
from evalstore.migrate.outcome import Entry, Exported, Given, MigrationReport, Outcome, Planned, Source, State
from evalstore.migrate.table import formats

__all__ = [
    "Entry",
    "Exported",
    "Given",
    "MigrationReport",
    "Outcome",
    "Planned",
    "Source",
    "State",
    "export",
    "formats",
    "migrate",
]
