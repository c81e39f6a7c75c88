#!/bin/sh
# ragas 0.4.3 (PyPI), the metric QuotedSpansAlignment
#
# Expected: an answer without a quotation scores 1. The metric "computes the fraction of quoted spans
#   appearing verbatim in any of the provided source passages".
# Seen: an apostrophe opens a quotation, and the next one closes it. "It's closed on Mondays, and
#   children don't pay." is read as quoting "s closed on Mondays, and children don", which no source
#   has, and scores 0. Written with "is" and "do not" it scores 1.
# Tried on 2026-11-30 with Python 3.11.7.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
# ragas imports a module that later releases of langchain-community do not have.
venv/bin/pip install --quiet --disable-pip-version-check ragas==0.4.3 langchain-community==0.3.31

cat >ask.py <<'END'
import asyncio
from ragas.metrics.collections import QuotedSpansAlignment

sources = ["The museum is closed on Mondays, and it is free for children."]
for answer in (
    "It is closed on Mondays, and children do not pay.",
    "It's closed on Mondays, and children don't pay.",
):
    score = asyncio.run(QuotedSpansAlignment().ascore(response=answer, retrieved_contexts=sources))
    print(score.value, end=" ")
END

seen=$(RAGAS_DO_NOT_TRACK=true venv/bin/python -W ignore ask.py)
if [ "${seen% }" != "1.0 0.0" ]; then
  echo "changed: $seen"
  exit 1
fi
echo "confirmed: an answer with \"It's\" and \"don't\", and no quotation, scores 0 for its quotations"
