"""What refers to what: pins, mentions, renames, and whether each still resolves."""
