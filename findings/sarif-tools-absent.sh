#!/bin/sh
# sarif-tools 3.0.5 (PyPI), which counts and compares the results in SARIF files
#
# Expected: a result with the baselineState "absent" is gone: SARIF 2.1.0 (3.27.24) uses that state
#   for what an earlier run found and this one did not. A summary leaves it out, --check passes, and
#   diff says that it is resolved.
# Seen: it is counted like any other, as an error, so --check error exits with 1 on a file whose
#   only problem was solved, and diff between the file before and this one finds no change.
# Tried on 2026-11-29 with Python 3.11.7.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check sarif-tools==3.0.5

write() {
  cat >"$1.sarif" <<END
{"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "linter", "rules": [{"id": "R1"}]}}, "results": [
  {"ruleId": "R1", "level": "error", "message": {"text": "duplicate key"}, "baselineState": "$1", "locations": [
    {"physicalLocation": {"artifactLocation": {"uri": "tone.yaml"}, "region": {"startLine": 3}}}]}]}]}
END
}
write new
write absent

sarif="$work/venv/bin/sarif"
seen=$("$sarif" summary absent.sarif | grep '^error')
"$sarif" --check error summary absent.sarif >log 2>&1 || seen="$seen, exit $?"
seen="$seen, $("$sarif" diff new.sarif absent.sarif | grep '^error')"
if [ "$seen" != "error: 1, exit 1, error level: +0 -0 no changes" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "confirmed: a result that is gone is counted as an error, and is no difference to the file before"
