"""Finds what a rubric's edits do, alone and together, by one search for texts."""
