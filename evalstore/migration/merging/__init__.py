"""What was migrated last, the source now, and the file: three-way merges of artifacts and of their parts."""
