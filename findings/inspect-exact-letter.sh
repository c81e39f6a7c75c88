#!/bin/sh
# inspect-ai 0.3.285 (PyPI), the scorers exact() and f1()
#
# Expected: an answer that is the target, letter for letter, is correct. The documentation says of
#   exact() that it "will return CORRECT when the answer is an exact match to one or more targets".
# Seen: "A" does not match "A". Both scorers remove the article a and skip a target of which nothing
#   is left, so every multiple-choice question whose right answer is A is lost, while B, C and D are
#   correct. They remove punctuation, too: -5 is an exact match for 5, 2/3 for 23, 10:30 for 1030,
#   and C++ for C.
# Tried on 2026-11-30 with Python 3.11.7.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check inspect-ai==0.3.285

cat >ask.py <<'END'
import asyncio
from inspect_ai.model import ModelName, ModelOutput
from inspect_ai.scorer import Target, exact, f1
from inspect_ai.solver import TaskState

def grade(scorer, answer, target):
    output = ModelOutput.from_content("none", answer)
    state = TaskState(ModelName("none/none"), 1, 1, "", [], output=output)
    return asyncio.run(scorer(state, Target(target))).value

print(*(grade(exact(), letter, letter) for letter in "ABCD"), grade(f1(), "A", "A"), end=" ")
odd = [("-5", "5"), ("2/3", "23"), ("10:30", "1030"), ("C++", "C")]
print(*(grade(exact(), *pair) for pair in odd))
END

seen=$(venv/bin/python ask.py)
if [ "$seen" != "I C C C 0.0 C C C C" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "confirmed: the answer A to a question whose target is A is incorrect, and -5 is exactly 5"
