"""Outputs as other tools leave them, one module each: what tells such a file, and how its entries are read."""
