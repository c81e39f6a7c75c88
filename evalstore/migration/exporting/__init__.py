"""Gives migrated artifacts back.

It has what an export reads and returns, and the proof that nothing is lost.
"""
