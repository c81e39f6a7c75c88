"""The words of an audit: its sentence, its answer, and what both are made of; pure."""
