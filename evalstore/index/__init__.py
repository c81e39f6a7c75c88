"""Many stores as one table: artifacts, releases, pins, findings and runs."""
