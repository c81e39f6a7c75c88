#!/bin/sh
# promptfoo 0.121.20 (npm), is-json with a schema that has an $id
#
# Expected: an output that fits a schema passes is-json, however many tests ask for that; a schema
#   may be in a file that they share
#   (https://www.promptfoo.dev/docs/configuration/expected-outputs/deterministic/).
# Seen: of three equal tests the first passes, and each later one is an error: "schema with key or
#   id … already exists". One validator serves all tests, and gets the file's schema anew for each;
#   without the $id all of them pass.
# Tried on 2026-11-30 with Node.js 20.20.2.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-audit --no-fund --prefix . promptfoo@0.121.20 >/dev/null

cat >config.yaml <<'END'
prompts: ['{"number": {{number}}}']
providers: [echo]
tests:
  - {vars: {number: 1}, assert: [{type: is-json, value: file://answer.json}]}
  - {vars: {number: 2}, assert: [{type: is-json, value: file://answer.json}]}
  - {vars: {number: 3}, assert: [{type: is-json, value: file://answer.json}]}
END

export PROMPTFOO_CONFIG_DIR="$work/home" PROMPTFOO_DISABLE_TELEMETRY=1 PROMPTFOO_DISABLE_UPDATE=1
ask() {
  echo "{$1\"type\": \"object\", \"required\": [\"number\"]}" >answer.json
  node_modules/.bin/promptfoo eval -c config.yaml -o out.json -j 1 --no-cache --no-write >log 2>&1 ||
    test $? = 100
  node -p "const { successes, errors } = require('./out.json').results.stats;
    successes + ' pass, ' + errors + ' errors'"
}

seen="with \$id $(ask '"$id": "https://example.org/answer.json", '); without $(ask '')"
if [ "$seen" != 'with $id 1 pass, 2 errors; without 3 pass, 0 errors' ]; then
  echo "changed: $seen"
  exit 1
fi
echo "confirmed: one schema with an \$id passes the first of three equal tests, and errs in the others"
