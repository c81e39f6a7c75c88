"""Compares two documents: what can move a score, in which direction, and the bump it needs; sole user of deepdiff."""

from evalstore.diff.compare import compare
from evalstore.diff.findings import (
    AcceptedLevel,
    Certainty,
    Diff,
    DiffFinding,
    Direction,
    MovedOutput,
    Profile,
    RunMeasurement,
    Side,
    Witness,
)
from evalstore.diff.settings import LEVELS, ComparisonSettings, read_comparison_settings

__all__ = [
    "LEVELS",
    "AcceptedLevel",
    "Certainty",
    "ComparisonSettings",
    "Diff",
    "DiffFinding",
    "Direction",
    "MovedOutput",
    "Profile",
    "RunMeasurement",
    "Side",
    "Witness",
    "compare",
    "read_comparison_settings",
]
