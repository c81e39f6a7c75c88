#!/bin/sh
# openai/evals 3.0.1.post1 (PyPI), whose class JsonMatch compares a model's JSON with ideal answers
#
# Expected: an answer that is the ideal, byte for byte, matches. The class says of itself that "the
#   decoded JSON objects are compared elementwise and must match exactly".
# Seen: not if a null is anywhere in it: {"middle_name": null} does not match {"middle_name": null},
#   so a question whose right answer has one can never be passed. A key that is null does not match
#   one that is absent, either, while true matches 1 and 1.0.
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
import json
from evals.elsuite.basic.json_match import json_match

answers = ['{"name": "Ada"}', '{"name": "Ada", "middle_name": null}', '[null]']
for answer in answers:
    print(json_match(json.loads(answer), json.loads(answer)), end=" ")
print(json_match({"a": None}, {}), json_match({"a": True}, {"a": 1.0}))
END

seen=$(OPENAI_API_KEY=none venv/bin/python ask.py)
if [ "$seen" != "True False False False True" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "confirmed: {name: Ada, middle_name: null} does not match itself, and true matches 1.0"
