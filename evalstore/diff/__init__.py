"""Two documents into findings: what can move a score, which way, and the bump it needs; sole user of deepdiff."""

from evalstore.diff.compare import compare
from evalstore.diff.findings import Certainty, Diff, DiffFinding, Direction, Side, Witness

__all__ = ["Certainty", "Diff", "DiffFinding", "Direction", "Side", "Witness", "compare"]
