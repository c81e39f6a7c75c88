#!/bin/sh
# promptfoo 0.121.20 (npm), the assertion contains-json
#
# Expected: it passes an output that "contains valid json"
#   (https://www.promptfoo.dev/docs/configuration/expected-outputs/deterministic/).
# Seen: it passes "Use {curly} braces" and "function f() { return 1; }", and fails {"a": "}"} and
#   [1, 2]. It takes any text from a brace to the one that closes it, counting braces within texts
#   too, and reads that as YAML, in which {curly} is a mapping; a list alone is not looked for.
#   is-json of the last two passes.
# Tried on 2026-11-30 with Node.js 20.20.2.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-audit --no-fund --prefix . promptfoo@0.121.20 >/dev/null

cat >config.yaml <<'END'
prompts: ["{{text | safe}}"]
providers: [echo]
tests:
  - {vars: {text: "Use {curly} braces"}, assert: [{type: contains-json}]}
  - {vars: {text: "function f() { return 1; }"}, assert: [{type: contains-json}]}
  - {vars: {text: '{"a": "}"}'}, assert: [{type: contains-json}]}
  - {vars: {text: "[1, 2]"}, assert: [{type: contains-json}]}
  - {vars: {text: '{"a": "}"}'}, assert: [{type: is-json}]}
  - {vars: {text: "[1, 2]"}, assert: [{type: is-json}]}
END

export PROMPTFOO_CONFIG_DIR="$work/home" PROMPTFOO_DISABLE_TELEMETRY=1 PROMPTFOO_DISABLE_UPDATE=1
node_modules/.bin/promptfoo eval -c config.yaml -o out.json --no-cache --no-write >log 2>&1 ||
  test $? = 100
seen=$(node -p "const rows = require('./out.json').results.results;
  rows.sort((one, two) => one.testIdx - two.testIdx).map((row) => row.success).join(' ')")
if [ "$seen" != "true true false false true true" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "confirmed: contains-json passes prose and code in braces, and fails two texts that are JSON"
