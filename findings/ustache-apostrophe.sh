#!/bin/sh
# ustache 0.1.6 (PyPI), a renderer of Mustache, the language of many judges' prompts
#
# Expected: {{text}} escapes a value so that a reader of HTML gets it back.
# Seen: the apostrophe comes out as &#x60;, which is the grave accent: "it's" is read as "it`s", and
#   so is every quoted phrase of an output that a judge is shown. It is ustache's newest release,
#   and brings mstache 0.2.0 along, which does the same; mstache 0.4.0 writes the apostrophe.
# Tried on 2026-11-29 with Python 3.11.7.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

cat >ask.py <<'END'
import sys
from html import unescape
from importlib import import_module

written = import_module(sys.argv[1]).render("{{text}}", {"text": "it's"})
print(written, unescape(written), end="; ")
END
ask() {
  python3 -m venv "$1"
  "$1/bin/pip" install --quiet --disable-pip-version-check "$1"
  "$1/bin/python" ask.py "${1%%==*}"
}

seen=$(ask ustache==0.1.6; ask mstache==0.2.0; ask mstache==0.4.0)
if [ "$seen" != "it&#x60;s it\`s; it&#x60;s it\`s; it&#39;s it's; " ]; then
  echo "changed: $seen"
  exit 1
fi
echo "confirmed: ustache escapes the apostrophe as the grave accent"
