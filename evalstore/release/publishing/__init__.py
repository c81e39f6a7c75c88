"""Releases: the plan, the commit with its tags, the push; and once more upon others' releases."""
