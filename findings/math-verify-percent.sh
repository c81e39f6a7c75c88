#!/bin/sh
# math-verify 0.9.0 (PyPI), which decides whether two mathematical answers are equal
#
# Expected: answers that equal a third answer equal each other.
# Seen: "10%" equals 10, 0.1 and 1/10, as a percentage may be meant either way; 10 does not equal
#   0.1, and 1000% equals 10 but not "10%". So the verdict on a right answer depends on which of the
#   equal forms the data set has as its gold answer. The documentation does not mention percentages.
# Tried on 2026-11-29 with Python 3.11.7.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check \
  math-verify==0.9.0 latex2sympy2-extended==1.11.0 antlr4-python3-runtime==4.13.2

cat >ask.py <<'END'
from math_verify import parse, verify

answers = {text: parse(f"${text}$") for text in ("10", r"10\%", "0.1", "1/10", r"1000\%")}
for gold, meant in answers.items():
    print(gold, *(int(verify(meant, answer)) for answer in answers.values()))
END
cat >seen_before <<'END'
10 1 1 0 0 1
10\% 1 1 1 1 0
0.1 0 1 1 1 0
1/10 0 1 1 1 0
1000\% 1 0 0 0 1
END

venv/bin/python ask.py >seen_now
if ! diff seen_before seen_now >difference; then
  echo "changed: $(cat difference)"
  exit 1
fi
echo "confirmed: 10 = 10% = 0.1, but 10 is not 0.1"
