"""Stored outputs under the rubrics of a dataset: graded, summed up exactly, kept as a run."""

from evalstore.scoring.job import begun, score

__all__ = ["begun", "score"]
