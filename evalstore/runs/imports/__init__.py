"""Reads outputs as other tools store them, a module a tool; and tells what contains them, and what a file may be."""
