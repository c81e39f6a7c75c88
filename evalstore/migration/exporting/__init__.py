"""Exports migrated artifacts: what is read and returned, and the proof that nothing is lost."""
