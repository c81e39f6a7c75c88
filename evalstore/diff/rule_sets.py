"""The numbers of the published rule sets."""

# A published set never judges otherwise: tests/cases/rule_sets keeps its verdicts. What is new is a set of the next
# number: a row has `since` (and `replaces`, where another rule judged such edits), a decider of an old row is a
# `LaterDecider`, a proof that the facts state has `since`. The last number judges where evalstore.yaml pins none.
RULE_SETS = (1,)
