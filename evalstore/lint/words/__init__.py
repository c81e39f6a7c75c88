"""Examines texts that people write: for judges, and to look for in outputs."""
