#!/bin/sh
# promptfoo 0.121.20 (npm), the assertion levenshtein in a table of tests and in YAML
#
# Expected: "levenshtein:hello" in the column __expected of a CSV file is the assertion that YAML
#   writes with the type levenshtein and the value hello, and which allows a distance of 5 where
#   nothing else is said.
# Seen: the output "hallo" fails in CSV and passes in YAML. The CSV reader adds a threshold of 0.75,
#   as for a likeness between 0 and 1; compared with a distance, it allows no difference at all.
# Tried on 2026-11-29 with Node.js 20.20.2.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-audit --no-fund --prefix . promptfoo@0.121.20 >/dev/null

cat >echo.js <<'END'
module.exports = class {
  id() { return "echo"; }
  async callApi(prompt) { return { output: prompt }; }
};
END
printf 'say,__expected\nhallo,levenshtein:hello\n' >tests.csv
printf '%s\n' '- vars: {say: hallo}' '  assert: [{type: levenshtein, value: hello}]' >tests.yaml

export PROMPTFOO_CONFIG_DIR="$work/home" PROMPTFOO_DISABLE_TELEMETRY=1 PROMPTFOO_DISABLE_UPDATE=1
ask() {
  printf '%s\n' 'prompts: ["{{say}}"]' 'providers: ["file://echo.js"]' "tests: tests.$1" >config.yaml
  node_modules/.bin/promptfoo eval -c config.yaml -o "$1.json" --no-cache --no-write >log 2>&1 || test $? = 100
  node -p "const [row] = require('./$1.json').results.results;
    [row.success, row.testCase.assert[0].threshold].join(' ')"
}

seen="CSV $(ask csv), YAML $(ask yaml)"
if [ "$seen" != "CSV false 0.75, YAML true " ]; then
  echo "changed: $seen"
  exit 1
fi
echo "confirmed: levenshtein:hello fails the output hallo in CSV, and passes it in YAML"
