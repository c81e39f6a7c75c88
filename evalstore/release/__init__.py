"""What a release is made of, a room for each part.

`changes` says what changed and which version that needs, `publishing` releases it by the locks and
the journal of `transactions`, `records` reads what is on record of it, `integrity` holds that
against the content, `history` tells where a part comes from, and `dependencies` what refers to
what.
"""
