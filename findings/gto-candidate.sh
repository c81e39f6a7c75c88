#!/bin/sh
# gto 1.10.1 (PyPI), which keeps an artifact's versions as git tags
#
# Expected: after the candidate v2.0.0-rc.1, `gto register` without a version makes the release
#   v2.0.0, which `next_version` of the semver library under it gives, too. The page of the command
#   does not speak of candidates.
# Seen: it tags v2.0.1, so there is never a v2.0.0. Until then tone@latest is the candidate, not the
#   release v1.0.0, and the table of artifacts prints it without its last part, as "v2.0.0-".
# Tried on 2026-11-29 with Python 3.11.7 and git 2.39.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check gto==1.10.1
gto="$work/venv/bin/gto"

git init --quiet store
cd store
git config user.name Someone
git config user.email someone@example.org
printf 'tone:\n  type: rubric\n  path: tone.yaml\n' >artifacts.yaml
commit() {
  echo "$1" >>tone.yaml
  git add .
  git commit --quiet --message "$1"
}

commit first
"$gto" register tone --version v1.0.0 >/dev/null
commit second
"$gto" register tone --version v2.0.0-rc.1 >/dev/null
latest=$("$gto" show tone@latest --ref)
table=$("$gto" show | grep -o 'v2[^ ]*')
commit third
"$gto" register tone >/dev/null
seen="$latest, $table, $(git tag | tr '\n' ' ')"

if [ "$seen" != "tone@v2.0.0-rc.1, v2.0.0-, tone@v1.0.0 tone@v2.0.0-rc.1 tone@v2.0.1 " ]; then
  echo "changed: $seen"
  exit 1
fi
echo "confirmed: after v2.0.0-rc.1 gto register makes v2.0.1"
