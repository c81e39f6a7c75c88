"""What changed since the last release, and which version it needs."""
