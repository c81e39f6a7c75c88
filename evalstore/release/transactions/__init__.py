"""Writes all or nothing, also where the process is killed: locks, the journal, recovery."""
