#!/bin/sh
# semantic-version 2.10.0 (PyPI), class NpmSpec, next to npm's own semver 7.8.6
#
# Expected: NpmSpec reads a range as npm does; its documentation claims all of npm's range syntax,
#   without exceptions.
# Seen: a pinned prerelease also accepts the final release, and "<2.0.0" accepts the candidates of
#   2.0.0, which npm leaves out. A range with an older candidate as its floor does not accept that
#   candidate. A report of the upper bound has been open since 2020.
# Tried on 2026-11-29 with Python 3.11.7 and Node.js 20.20.2.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check semantic-version==2.10.0
npm install --silent --no-audit --no-fund --prefix . semver@7.8.6 >/dev/null

cat >pairs.json <<'END'
[["1.2.3-beta.2", "1.2.3"], ["<2.0.0", "2.0.0-rc.1"], [">=1.2.3-rc.1 <2.0.0-rc.2", "1.2.3-rc.1"], ["^1.2.0", "1.3.0"]]
END
cat >ask.py <<'END'
import json
from semantic_version import NpmSpec, Version
print(*(int(NpmSpec(wanted).match(Version(version))) for wanted, version in json.load(open("pairs.json"))))
END
cat >ask.js <<'END'
const { satisfies } = require("semver");
console.log(require("./pairs.json").map(([wanted, version]) => Number(satisfies(version, wanted))).join(" "));
END

seen="NpmSpec $(venv/bin/python ask.py), npm $(node ask.js)"
if [ "$seen" != "NpmSpec 1 1 0 1, npm 0 0 1 1" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "confirmed: NpmSpec accepts 1.2.3 for the pin 1.2.3-beta.2; npm and it differ on three of four ranges"
