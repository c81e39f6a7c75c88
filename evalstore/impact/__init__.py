"""Impact: what depends on an artifact, through any number of references."""

from evalstore.impact.impact import impact
from evalstore.impact.values import Dependent, Held, Impact

__all__ = ["Dependent", "Held", "Impact", "impact"]
