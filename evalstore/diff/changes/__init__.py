"""Finds the changes between two documents of one kind, as edits applied one by one."""
