"""Compares two documents: which changes can move a score, and which bump they need."""

from typing import TYPE_CHECKING

from evalstore.diff.findings import (
    AcceptedLevel,
    AskedChange,
    Certainty,
    Detail,
    Diff,
    DiffFinding,
    Direction,
    FlippedVerdict,
    MovedOutput,
    Profile,
    ReplyWitness,
    RunMeasurement,
    Side,
    TotalEffect,
    Witness,
)
from evalstore.diff.settings import LEVELS, ComparisonSettings, read_comparison_settings
from evalstore.lazy_names import import_lazily

if TYPE_CHECKING:
    from evalstore.diff.comparison import compare

__all__ = [
    "LEVELS",
    "AcceptedLevel",
    "AskedChange",
    "Certainty",
    "ComparisonSettings",
    "Detail",
    "Diff",
    "DiffFinding",
    "Direction",
    "FlippedVerdict",
    "MovedOutput",
    "Profile",
    "ReplyWitness",
    "RunMeasurement",
    "Side",
    "TotalEffect",
    "Witness",
    "compare",
    "read_comparison_settings",
]

# Imported late: it loads a hundred modules, and often nothing in a store has changed.
__getattr__ = import_lazily(__name__, {".comparison": ("compare",)})
