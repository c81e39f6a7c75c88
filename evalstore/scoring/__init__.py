"""Grades stored outputs by the rubrics of a dataset, sums them exactly, and writes a run."""

from typing import TYPE_CHECKING

from evalstore.lazy_names import import_lazily

if TYPE_CHECKING:
    from evalstore.scoring.job import open_job
    from evalstore.scoring.options import ScoringOptions

__all__ = ["ScoringOptions", "open_job"]

# An audit asks judges without a scoring job.
__getattr__ = import_lazily(__name__, {".job": ("open_job",), ".options": ("ScoringOptions",)})
