"""What checks can answer together about one output: by its text, by its traits, or freely."""
