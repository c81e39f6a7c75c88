"""The documented numbers of steps that a text may take, and the length of a text: the same on every machine."""

# Characters of an output; a longer one is not graded at all.
OUTPUT_LIMIT = 1 << 20

# Steps that the engine may take at most by `work_bound`; a longer text goes to a matcher that does not backtrack.
ENGINE_STEPS = 1 << 27
# Letters times positions of an automaton.
AUTOMATON_STEPS = 1 << 28
# Steps by `work_bound` where the automaton would take too many, or the pattern has too many positions for one.
LAST_ENGINE_STEPS = 1 << 30
# Instructions of the backtracking matcher, which takes what is left.
BACKTRACKER_STEPS = 1 << 19
