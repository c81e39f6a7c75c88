"""The edits between the rubrics of two runs: who made each, and checks with some of them made."""
