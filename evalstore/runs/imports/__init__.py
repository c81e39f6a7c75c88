"""Reads outputs as other tools store them: a module a tool, which recognises its files and reads their entries."""
