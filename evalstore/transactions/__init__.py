"""All or nothing: the lock of a repository, the journal of a bump, and how a killed bump is finished or undone."""
