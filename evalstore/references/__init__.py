"""Who refers to whom: references of files and of releases, the graph of them, and what depends on an artifact."""
