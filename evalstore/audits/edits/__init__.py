"""The edits between the rubrics of two runs.

It finds who made which, and what a check is with some of them.
"""
