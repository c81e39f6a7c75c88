"""Writes results as HTML pages: one file each that loads nothing, runs only our script, and prints."""
