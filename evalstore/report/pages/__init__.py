"""Writes results as HTML pages: printable files that load nothing and run only our script."""
