"""Stored outputs under the rubrics of a dataset: graded, summed up exactly, kept as a run."""

from evalstore.scoring.job import open_job, score

__all__ = ["open_job", "score"]
