"""Compares two documents: what can move a score, and the bump that it needs."""

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

# A hundred modules, for a store in which nothing may have changed.
__getattr__ = import_lazily(__name__, {".comparison": ("compare",)})
