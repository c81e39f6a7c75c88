"""Writes all or nothing, even if the process is killed: locks, the journal, recovery."""
