#!/bin/sh
# openrubricrl 0.1.0 (PyPI), which grades by rubrics in JSON and makes rewards of them
#
# Expected: it is imported beside what its own metadata asks for, pydantic>=2.0.0.
# Seen: no such release imports it. Its class Scale still says Field(regex=…), which pydantic 2.0
#   took out, so that each of 2.0 and 2.14.4 raises while the package is imported; pydantic 1, which
#   knows the word, is what the metadata forbids.
# Tried on 2026-11-30 with Python 3.11.7.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check --no-deps openrubricrl==0.1.0
venv/bin/pip install --quiet --disable-pip-version-check jsonschema pyyaml 2>>log

seen=$(sed -n 's/^Requires-Dist: \(pydantic.*\)/\1/p' venv/lib/python3*/site-packages/openrubricrl-0.1.0.dist-info/METADATA)
for release in 2.0 2.14.4; do
  venv/bin/pip install --quiet --disable-pip-version-check "pydantic==$release" 2>>log
  answer=$(venv/bin/python -c 'import openrubricrl' 2>&1 | grep -m1 -o 'regex` is removed. use `pattern` instead' || :)
  seen="$seen, $release: ${answer:-imported, or another error}"
done
wanted='pydantic>=2.0.0, 2.0: regex` is removed. use `pattern` instead, 2.14.4: regex` is removed. use `pattern` instead'
if [ "$seen" != "$wanted" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "confirmed: it asks for pydantic 2, with which it cannot be imported"
