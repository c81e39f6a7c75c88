"""Three-way merges of what was last migrated, the source now, and the file, whole or by parts."""
