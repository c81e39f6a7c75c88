#!/bin/sh
# openai/evals 3.0.1.post1 (PyPI), how ModelBasedClassify reads the grade in a model's reply
#
# Expected: of the choices [correct, incorrect], a reply that is "incorrect" is read as incorrect.
#   The function says of itself that it cleans a reply "to one of choice_strings".
# Seen: it is read as correct, because the default match takes a line that begins or ends with a
#   choice, and the choice listed first wins. So are "invalid" after valid, and "unsafe" after safe:
#   such a grader gives every answer the highest score and counts no invalid reply. With the choices
#   in the other order it is right.
# Tried on 2026-11-30 with Python 3.11.7.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check \
  openai numpy==2.3.5 pyyaml blobfile tqdm backoff pydantic filelock zstandard lz4 tiktoken
# Without what it needs for other classes, among which are TensorFlow and browsers.
venv/bin/pip install --quiet --disable-pip-version-check --no-deps evals==3.0.1.post1

cat >ask.py <<'END'
from evals.elsuite.modelgraded.classify_utils import get_choice, get_choice_score

PAIRS = "correct incorrect", "valid invalid", "safe unsafe", "incorrect correct"
for choices in map(str.split, PAIRS):
    scores = {choice: float(choice in {"correct", "valid", "safe"}) for choice in choices}
    for kind in ("classify", "cot_classify"):
        reply = f"Thought through.\n\n{max(choices, key=len)}"  # the longer one says no
        choice = get_choice(reply, kind, "starts_or_endswith", choices)
        print(get_choice_score(choice, choices, scores), end=" ")
END

seen=$(OPENAI_API_KEY=none venv/bin/python ask.py)
if [ "${seen% }" != "1.0 1.0 1.0 1.0 1.0 1.0 0.0 0.0" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "confirmed: of the choices [correct, incorrect], \"incorrect\" is read as correct"
