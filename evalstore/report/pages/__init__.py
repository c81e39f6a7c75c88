"""Writes results as HTML pages.

Each is one file that loads nothing, runs only our script, and can be printed.
"""
