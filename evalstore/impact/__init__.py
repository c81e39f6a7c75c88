"""Impact: what depends on an artifact, through any number of references."""

from evalstore.impact.impact import find_impact
from evalstore.impact.values import Dependent, Impact, ReferencePin

__all__ = ["Dependent", "ReferencePin", "Impact", "find_impact"]
