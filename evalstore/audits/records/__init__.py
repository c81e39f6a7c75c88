"""Compares what two files recorded, as a whole and pair by pair, without grading anything."""
