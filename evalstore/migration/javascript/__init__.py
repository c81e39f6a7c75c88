"""What JavaScript makes of texts, numbers and patterns, for legacy programs that are written in it."""
