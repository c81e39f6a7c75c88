"""The documented numbers of steps that a text may take, and the length of a text: the same on every machine."""

# Characters of an output; a longer one is not graded at all.
OUTPUT_LIMIT = 1 << 20

# Steps that the engine may take at most by `work_bound`, a second or two; a longer text goes to the automaton.
ENGINE_STEPS = 1 << 27
# Letters times positions of an automaton.
AUTOMATON_STEPS = 1 << 28
