"""What changed since its last release, and which version it needs; reads only."""
