"""Translates JavaScript's texts, numbers, patterns and conditions, for tools written in it."""
