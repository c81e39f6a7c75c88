"""What checks can answer together to one output: by its text, by its traits, or freely."""
