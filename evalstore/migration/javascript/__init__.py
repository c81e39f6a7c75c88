"""What JavaScript makes of texts, numbers and patterns: the legacy programs that are written in it read files so."""
