"""What is on record of each release: its line in the ledger, its tag, signature and lock."""
