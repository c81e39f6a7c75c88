"""Releases: the plan, the commit with its tags, the push; and again on top of others' releases."""
