"""Three-way merges of what was migrated last, the source now, and the file, whole or by parts."""
