#!/bin/sh
# agentevals 0.0.9 (PyPI), the trajectory match evaluator
#
# Expected: tool_args_match_mode="superset" means one thing. Its documentation says: a call counts
#   as equal if it has at least the arguments of the reference call; trajectory_match_mode says how
#   the lists of calls are compared.
# Seen: "superset" accepts a call with an argument more than the reference in the modes strict and
#   superset, refuses it in subset, where it accepts a call with an argument less, and refuses both
#   in unordered, as "exact" does.
# Tried on 2026-11-29 with Python 3.11.7.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check agentevals==0.0.9 openevals==0.2.2

cat >ask.py <<'END'
import json
from agentevals.trajectory.match import create_trajectory_match_evaluator

def call(**arguments):
    asked = {"function": {"name": "search", "arguments": json.dumps(arguments)}}
    return [
        {"role": "user", "content": "Find it."},
        {"role": "assistant", "content": "", "tool_calls": [asked]},
        {"role": "tool", "content": "found"},
    ]

few, many = call(query="x"), call(query="x", limit=5)
for mode in ("strict", "superset", "subset", "unordered"):
    evaluate = create_trajectory_match_evaluator(trajectory_match_mode=mode, tool_args_match_mode="superset")
    more = evaluate(outputs=many, reference_outputs=few)["score"]
    less = evaluate(outputs=few, reference_outputs=many)["score"]
    print(f"{mode}: more {int(more)} less {int(less)}", end="; ")
END

seen=$(venv/bin/python ask.py)
wanted="strict: more 1 less 0; superset: more 1 less 0; subset: more 0 less 1; unordered: more 0 less 0; "
if [ "$seen" != "$wanted" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "confirmed: tool_args_match_mode=superset allows more arguments, fewer, or neither, by the trajectory's mode"
