"""Gives migrated artifacts back: what an export reads and returns, and the proof that nothing is lost."""
