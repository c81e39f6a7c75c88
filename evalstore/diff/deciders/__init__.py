"""Proofs that a change moves nothing; each decider answers None where it does not know, and the rule's level stays."""
