"""The command line, a module for each command; the only package that imports click."""
