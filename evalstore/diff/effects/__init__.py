"""Finds what the edits of a rubric do, each alone and all together: one search for the texts of all their checks."""
