"""Who gave each part of an artifact its meaning: the commit, its authors, and the release that brought it."""

from evalstore.provenance.artifact_parts import WHOLE, ArtifactPart, PartTable, read_parts
from evalstore.provenance.blame import Blame, BlamedPart, blame
from evalstore.provenance.origins import OriginFinder, PartOrigin

__all__ = [
    "WHOLE",
    "ArtifactPart",
    "Blame",
    "BlamedPart",
    "OriginFinder",
    "PartOrigin",
    "PartTable",
    "blame",
    "read_parts",
]
