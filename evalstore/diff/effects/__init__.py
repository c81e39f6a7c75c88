"""Finds what a rubric's edits do to its score, alone and together, with one search for texts."""
