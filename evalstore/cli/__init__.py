"""The command line: one file a command; click lives here and nowhere else."""
