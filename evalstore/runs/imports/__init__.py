"""Reads outputs as other tools store them, a module a tool, and tells what a file may be."""
