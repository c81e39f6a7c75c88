#!/bin/sh
# agentv 4.42.4 (npm), the aggregators of a composite grader
#
# Expected: a composite with the aggregator minimum scores as its worst member. The guide to writing
#   suites that the package ships lists weighted_average, all_or_nothing, minimum, maximum and
#   safety_gate.
# Seen: the validator calls the suite valid; the run leaves the composite out, with one line of
#   warning, and averages what remains. So the test scores 1, although a member fails. With
#   weighted_average the same composite counts, and the test scores 0.75.
# Tried on 2026-11-29 with Node.js 20.20.2.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-audit --no-fund --prefix . agentv@4.42.4 >/dev/null
git init --quiet .
export HOME="$work" NO_COLOR=1

mkdir .agentv
cat >.agentv/targets.yaml <<'END'
targets:
  - {name: echo, provider: cli, command: 'cp {PROMPT_FILE} {OUTPUT_FILE}'}
END
ask() {
  cat >greeting.eval.yaml <<END
name: greeting
execution: {target: echo}
tests:
  - id: ada
    criteria: greets Ada
    input: hello
    assertions:
      - {name: greets, type: contains, value: hello}
      - name: group
        type: composite
        aggregator: {type: $1}
        assertions:
          - {name: greets, type: contains, value: hello}
          - {name: named, type: contains, value: Ada}
END
  rm -rf .agentv/results
  node_modules/.bin/agentv validate greeting.eval.yaml | grep Invalid
  node_modules/.bin/agentv eval greeting.eval.yaml >log 2>&1
  cat .agentv/results/runs/default/*/index.jsonl >rows.jsonl
  node -p "const row = JSON.parse(require('fs').readFileSync('rows.jsonl')); [row.scores.length, row.score].join(' ')"
}

seen="minimum: $(ask minimum | tr '\n' ' ')weighted_average: $(ask weighted_average | tr '\n' ' ')"
if [ "$seen" != "minimum: Invalid: 0 1 1 weighted_average: Invalid: 0 2 0.75 " ]; then
  echo "changed: $seen"
  exit 1
fi
echo "confirmed: a composite with the aggregator minimum is left out, and its test scores 1"
