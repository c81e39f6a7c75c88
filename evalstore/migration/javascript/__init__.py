"""What JavaScript makes of texts, numbers and patterns.

It is for legacy programs that are written in JavaScript.
"""
