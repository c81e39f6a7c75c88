"""evalstore."""
