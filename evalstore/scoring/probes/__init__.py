"""What a rubric gives to outputs that ought to fail, and which of its parts no stored output needs."""

from evalstore.scoring.probes.probe import probe
from evalstore.scoring.probes.texts import ProbedText, RubricMutant, RubricProbe

__all__ = ["ProbedText", "RubricMutant", "RubricProbe", "probe"]
