"""Releases: versions, commits and tags written, all or nothing; and accepted changes."""
