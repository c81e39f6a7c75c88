"""Reads outputs as other tools store them, a module a tool; tells what contains them in a file."""
