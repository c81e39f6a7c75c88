"""Two documents into findings: what can move a score, which way, and the bump it needs; sole user of deepdiff."""

from evalstore.diff.compare import compare
from evalstore.diff.findings import (
    Accepted,
    Certainty,
    Diff,
    DiffFinding,
    Direction,
    Measured,
    MovedOutput,
    Profile,
    Side,
    Witness,
)
from evalstore.diff.terms import LEVELS, Terms, terms_of

__all__ = [
    "LEVELS",
    "Accepted",
    "Certainty",
    "Diff",
    "DiffFinding",
    "Direction",
    "Measured",
    "MovedOutput",
    "Profile",
    "Side",
    "Terms",
    "Witness",
    "compare",
    "terms_of",
]
