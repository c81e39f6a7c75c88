"""What a release is made of, with one room for each part.

`changes` says what changed and which version that needs, `publishing` releases it by the locks and
the journal of `transactions`, `records` reads what is on record about it, `integrity` compares that
with the content, `history` tells where a part comes from, and `dependencies` what refers to what.
"""
