#!/bin/sh
# judgy 0.1.0 (PyPI), which corrects a pass rate for a judge's errors and gives a 95 % interval
#
# Expected: an interval for a rate that was seen in 4 of 8 outputs, checked by 6 labels, is wide:
#   the plain binomial interval (Wilson) goes from 22 to 78 %. Its documentation calls it a
#   bootstrap interval for the true pass rate.
# Seen: if the judge agreed with all labels, the interval has no width: from 0.500 to 0.500, and
#   from 1 to 1 where all outputs passed. Only the labels are drawn again, so what a small sample of
#   outputs leaves open is not in it.
# Tried on 2026-11-29 with Python 3.11.7.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check judgy==0.1.0 numpy==2.3.5

cat >ask.py <<'END'
import numpy
from judgy import estimate_success_rate

labels = [1, 1, 1, 0, 0, 0]
for judged in ([1, 0] * 4, [1, 0] * 4000, [1] * 8):
    numpy.random.seed(1)
    print(*map(float, estimate_success_rate(labels, labels, judged)), end="; ")
END

seen=$(venv/bin/python ask.py)
if [ "$seen" != "0.5 0.5 0.5; 0.5 0.5 0.5; 1.0 1.0 1.0; " ]; then
  echo "changed: $seen"
  exit 1
fi
echo "confirmed: 4 of 8 outputs pass, and the 95 % interval goes from 0.5 to 0.5, as it does for 4000 of 8000"
