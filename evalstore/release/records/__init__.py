"""What is on record about each release: its ledger line, tag, signature and lock."""
