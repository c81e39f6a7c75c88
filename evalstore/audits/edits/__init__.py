"""The edits between the rulers of two runs: who made which, and what a check is with some of them."""
