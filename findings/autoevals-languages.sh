#!/bin/sh
# autoevals 0.4.1 (PyPI) and 0.3.0 (npm), one library in two languages, under the same names
#
# Expected: the scorers of one name give one score, whichever language runs them.
# Seen: ExactMatch finds the text "True" equal to true in Python only, and the text "null" equal to
#   null in JavaScript only, since each writes values as its own language does. JSONDiff gives true
#   against 1 a full score in Python, and none in JavaScript. The documentation is one page for both
#   languages.
# Tried on 2026-11-29 with Python 3.11.7 and Node.js 20.20.2.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check autoevals==0.4.1
npm install --silent --no-audit --no-fund --prefix . autoevals@0.3.0 >/dev/null

cat >cases.json <<'END'
[
  ["ExactMatch", "True", true],
  ["ExactMatch", "null", null],
  ["JSONDiff", true, 1],
  ["ExactMatch", {"a": 1}, "{\"a\":1}"]
]
END
cat >ask.py <<'END'
import json
from autoevals import ExactMatch
from autoevals.json import JSONDiff

scorers = {"ExactMatch": ExactMatch(), "JSONDiff": JSONDiff()}
for name, output, expected in json.load(open("cases.json")):
    print(round(scorers[name].eval(output=output, expected=expected).score), end=" ")
END
cat >ask.js <<'END'
const scorers = require("autoevals");
(async () => {
  for (const [name, output, expected] of require("./cases.json"))
    process.stdout.write(`${(await scorers[name]({ output, expected })).score} `);
})();
END

seen="Python $(venv/bin/python ask.py)JavaScript $(node ask.js)"
if [ "$seen" != "Python 1 0 1 1 JavaScript 0 1 0 1 " ]; then
  echo "changed: $seen"
  exit 1
fi
echo "confirmed: three of four pairs of values are equal in one language only"
