#!/bin/sh
# jsonsubschema 0.0.8 (PyPI), which decides whether every document of one JSON Schema fits another
#
# Expected: "yes" is a proof. Its documentation calls it useful to see that newer schemas stay
#   compatible; a keyword that it cannot reason about would have to be refused.
# Seen: `dependencies`, which draft-04 has, the draft that it checks its input by, is left out
#   without a word: any object is said to fit a schema that wants "unit" wherever there is a "size".
#   Not every keyword is: `required` is understood. jsonschema 4.26.0 shows a document that fits the
#   first schema and not the second.
# Tried on 2026-11-29 with Python 3.11.7.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check jsonsubschema==0.0.8 jsonschema==4.26.0

cat >ask.py <<'END'
from jsonschema import Draft4Validator
from jsonsubschema import isSubschema

anything = {"type": "object"}
pairs = {"type": "object", "dependencies": {"size": ["unit"]}}
sized = {"type": "object", "required": ["size"]}
Draft4Validator.check_schema(pairs)
document = {"size": 3}
print(
    isSubschema(anything, pairs),
    isSubschema(anything, sized),
    Draft4Validator(anything).is_valid(document),
    Draft4Validator(pairs).is_valid(document),
)
END

seen=$(venv/bin/python ask.py)
if [ "$seen" != "True False True False" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "confirmed: all objects are said to fit a schema that {\"size\": 3} does not fit"
