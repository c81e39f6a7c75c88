"""The questions of two runs: which are compared, how each cell is graded, and what moved it."""
