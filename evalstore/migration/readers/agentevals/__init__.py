"""Reads AgentEvals suites: the dialects of EVAL.yaml and raw case files, graded as AgentV's runner grades them."""

from __future__ import annotations

from evalstore.migration.readers.agentevals.suite import read

__all__ = ["COMPANIONS", "read"]

COMPANIONS = True  # suites name files of raw cases
