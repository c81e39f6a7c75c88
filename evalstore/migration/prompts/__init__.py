"""The prompts of legacy programs, and the judges they become."""
