"""Legacy grader files into rubrics and datasets, and back; what is lost on the way is nothing, or said."""

from evalstore.migration.export import export
from evalstore.migration.migration import migrate
from evalstore.migration.outcome import Entry, Exported, Given, Guess, MigrationReport, Outcome, Planned, Source, State
from evalstore.migration.table import formats

__all__ = [
    "Entry",
    "Exported",
    "Given",
    "Guess",
    "MigrationReport",
    "Outcome",
    "Planned",
    "Source",
    "State",
    "export",
    "formats",
    "migrate",
]
