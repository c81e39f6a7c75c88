"""AgentEvals suites: five dialects of EVAL.yaml and raw case files, graded as AgentV's runner graded them."""

from __future__ import annotations

from evalstore.migration.readers.agentevals.suite import read

__all__ = ["GATHERS", "read"]

GATHERS = True  # suites name files of raw cases
