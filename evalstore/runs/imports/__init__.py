"""Reads outputs as other tools store them, with one module for each tool."""
