"""Git as the database of artifacts: the one door to git, tags as versions, references resolved by exact name."""
