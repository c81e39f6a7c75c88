"""Writes results as HTML pages: each is one file that loads nothing, runs no script but ours, and reads on paper."""
