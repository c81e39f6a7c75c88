"""Who refers to whom: the references of files and of releases, the graph of them, and what depends on an artifact."""
