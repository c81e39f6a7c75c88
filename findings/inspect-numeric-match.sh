#!/bin/sh
# inspect-ai 0.3.114 and 0.3.285 (PyPI), the scorer match(numeric=True)
#
# Expected: two releases that write one version of the log format, and name the scorer and its
#   options alike in it, give one verdict on one answer.
# Seen: of eight answers six change sides. The older release takes -5 for 5, 10 for 0, and 1/2 for
#   2, and does not accept 1000 for 1,000, 1e3 for 1000, and **7** for 7. A log names the release it
#   was made with, so whoever compares the scores of two logs has to look there, not at the scorer.
# Tried on 2026-11-29 with Python 3.11.7.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

cat >ask.py <<'END'
import asyncio
from inspect_ai.model import ModelName, ModelOutput
from inspect_ai.scorer import Target, match
from inspect_ai.solver import TaskState

def grade(answer, target):
    output = ModelOutput.from_content("none", answer)
    state = TaskState(ModelName("none/none"), 1, 1, "", [], output=output)
    return asyncio.run(match(numeric=True)(state, Target(target))).value

right = [("It is 1000", "1,000"), ("1e3", "1000"), ("**7**", "7"), ("$5", "5")]
wrong = [("It is 10", "0"), ("-5", "5"), ("1/2", "2"), ("4 of 5", "4")]
print(*(grade(*pair) for pair in right + wrong))
END
ask() {
  python3 -m venv "$1"
  "$1/bin/pip" install --quiet --disable-pip-version-check "inspect-ai==$1"
  "$1/bin/python" ask.py
}

seen="$(ask 0.3.114), $(ask 0.3.285)"
if [ "$seen" != "I I I C C C C I, C C C C I I I I" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "confirmed: six of eight numeric answers have another verdict in 0.3.285 than in 0.3.114"
