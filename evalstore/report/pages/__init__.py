"""Writes results as HTML pages: each is one file that loads nothing, runs nothing and reads well on paper."""
