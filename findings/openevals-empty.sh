#!/bin/sh
# openevals 0.2.2 (PyPI), the evaluator of JSON
#
# Expected: an answer that equals its reference scores 1, and if all keys match, their average is 1,
#   too.
# Seen: an empty object that equals its reference scores 1 with the aggregator "all" and 0 with
#   "average", so an answer that rightly holds nothing gets the worst mark. With no aggregator it
#   has no result, and leaves every mean.
# Tried on 2026-11-29 with Python 3.11.7.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check openevals==0.2.2

cat >ask.py <<'END'
from openevals.json import create_json_match_evaluator

for found in ({"name": "x"}, {}):
    for aggregator in ("all", "average", None):
        evaluate = create_json_match_evaluator(aggregator=aggregator)
        print([result["score"] for result in evaluate(outputs=found, reference_outputs=found)], end=" ")
END

seen=$(venv/bin/python ask.py)
if [ "$seen" != "[1] [1.0] [1] [1] [0] [] " ]; then
  echo "changed: $seen"
  exit 1
fi
echo "confirmed: an empty answer that equals its reference scores 1 with \"all\", 0 with \"average\""
