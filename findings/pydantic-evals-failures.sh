#!/bin/sh
# pydantic-evals 2.62.0 (PyPI), the averages of a report
#
# Expected: a model that answers one question of four, and fails on the others, does not reach 100
#   %.
# Seen: the average of the assertions is 1.0, and the table prints 100.0%. A case whose task raises
#   is in a table of failures and leaves the denominator; so do a case whose evaluator raises, and
#   one without expected_output.
# Tried on 2026-11-29 with Python 3.11.7.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check pydantic-evals==2.62.0

cat >ask.py <<'END'
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import EqualsExpected

def answer(question):
    if question != "capital of France":
        raise TimeoutError("no answer")
    return "Paris"

questions = {"France": "Paris", "Spain": "Madrid", "Italy": "Rome", "Greece": "Athens"}
cases = [Case(name=land, inputs=f"capital of {land}", expected_output=city) for land, city in questions.items()]
report = Dataset(name="capitals", cases=cases, evaluators=[EqualsExpected()]).evaluate_sync(answer, progress=False)
table = report.render(width=120).splitlines()
averages = next(line for line in table if "Averages" in line)
print(report.averages().assertions, len(report.failures), "100.0%" in averages)
END

seen=$(venv/bin/python ask.py)
if [ "$seen" != "1.0 3 True" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "confirmed: three of four cases fail, and the average of the assertions is 1.0"
