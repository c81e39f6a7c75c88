"""Finds the changes between two documents of one kind: edits applied one after another to the old document."""
