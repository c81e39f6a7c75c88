"""Who refers to whom: the references of files and of releases, the graph of them, and what depends on an artifact."""

from evalstore.references.impact import Dependent, Impact, ReferencePin, find_impact

__all__ = ["Dependent", "Impact", "ReferencePin", "find_impact"]
