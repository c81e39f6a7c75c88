#!/bin/sh
# promptfoo 0.118.0 and 0.121.20 (npm), a rubricPrompt of one's own for the assertion factuality
#
# Expected: a rubricPrompt with {{input}}, {{ideal}} and {{completion}}, the names in the program's own
#   prompt for factuality, shows the judge the question, the reference and the answer.
# Seen: in 0.118.0 it does not. The prompt is filled with the variables of the test first, which know none
#   of the three, so that the judge sees none of them; its verdict counts like any other, and nothing warns.
#   0.121.20 fills them. One configuration, two graders.
# Tried on 2026-11-30 with Node.js 20.20.2.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

cat >ask.cjs <<'END'
const [release] = process.argv.slice(2);
const grader = {
  id: () => "grader",
  callApi: async (prompt) => {
    require("fs").writeFileSync(`${release}.txt`, prompt);
    return { output: '{"category": "C", "reason": "it agrees"}' };
  },
};
const tests = [{
  vars: { place: "noon" },
  options: { provider: grader, rubricPrompt: "Q {{input}} R {{ideal}} A {{completion}}" },
  assert: [{ type: "factuality", value: "Oslo" }],
}];
const providers = [async (prompt) => ({ output: prompt })];
import(`./${release}/node_modules/promptfoo/dist/src/index.js`)
  .then((found) => (found.evaluate || found.default.evaluate)(
    { prompts: ["Oslo at {{place}}"], providers, tests, writeLatestResults: false }, { cache: false }))
  .then(() => process.exit(0));
END
export PROMPTFOO_DISABLE_TELEMETRY=1 PROMPTFOO_DISABLE_UPDATE=1
ask() {
  npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$1" "promptfoo@$1" >/dev/null
  PROMPTFOO_CONFIG_DIR="$work/home-$1" node ask.cjs "$1" >log 2>&1
  cat "$1.txt"
}

seen="$(ask 0.118.0) | $(ask 0.121.20)"
if [ "$seen" != "Q  R  A  | Q Oslo at noon R Oslo A Oslo at noon" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "confirmed: 0.118.0 leaves the places of a factuality prompt empty, 0.121.20 fills them"
