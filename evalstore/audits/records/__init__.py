"""Compares what two files recorded, and grades nothing: as a whole, and pair by pair."""
